#include "damper/engine/call.h"

#include <gtest/gtest.h>

#include "damper/base/random.h"
#include "damper/engine/call_player_testing.h"

namespace damper::engine {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

constexpr Instant kStart = Player::kStart;

TEST(Call, AHedgeJoinsALateAttemptAndTheFirstSuccessWins) {
  Dependency dependency("test", hedging());
  warm(dependency);
  EXPECT_EQ(Player(dependency).play(".100.5"), "send hedge cancel0 success");
  EXPECT_EQ(Player(dependency).play(".12.50"), "send hedge cancel1 success");
  EXPECT_EQ(Player(dependency).play(".9"), "send success");
  EXPECT_EQ(dependency.tally().hedges, 2u);
  EXPECT_EQ(dependency.tally().hedges_won, 1u);
}

TEST(Call, HedgesAreAttemptsAndAreCappedAsThese) {
  Policy p = hedging(3);
  p.call.max_attempts = 2;
  Dependency dependency("test", p);
  warm(dependency);
  pay_for_hedges(dependency);
  EXPECT_EQ(Player(dependency).play(".300.300"), "send hedge cancel1 success");
}

TEST(Call, AHedgeWinsAlsoAfterItsOriginalHasFailed) {
  Dependency dependency("test", hedging());
  warm(dependency);
  EXPECT_EQ(Player(dependency).play("t20.15"), "send hedge success");
  EXPECT_EQ(dependency.tally().hedges_won, 1u);
}

// See docs/design/0010. The attempt that was overtaken has at least the latency of the race.
TEST(Call, TheLatencyOfAnOvertakenAttemptIsRecordedAndThatOfALoserIsNot) {
  Dependency dependency("test", hedging());
  warm(dependency);
  const std::int64_t before = dependency.latencies().samples(kStart + 1s);
  EXPECT_EQ(Player(dependency).play(".100.5"), "send hedge cancel0 success");
  EXPECT_EQ(dependency.latencies().samples(kStart + 1s), before + 2);
  EXPECT_EQ(Player(dependency).play(".12.50"), "send hedge cancel1 success");
  EXPECT_EQ(dependency.latencies().samples(kStart + 1s), before + 3);
}

// The choice of a replica is the driver's; the engine says which attempts run beside each other.
TEST(Call, TrapH4_AHedgeIsMarkedSoThatItGoesToAnotherReplica) {
  Dependency dependency("test", hedging());
  warm(dependency);
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  const Step first = call.step();
  EXPECT_FALSE(first.attempt.hedge);
  call.on_timer(first.wake, 0.5);
  const Step second = call.step();
  EXPECT_TRUE(second.attempt.hedge);
  EXPECT_NE(second.attempt.lane, first.attempt.lane);
  EXPECT_EQ(second.attempt.number, 2u);
  call.on_cancel(kStart + 20ms);
  EXPECT_EQ(call.step().cancels, 0b11);
}

TEST(Call, WhatCannotBeSentAgainIsNeitherHedgedNorRetried) {
  Dependency dependency("test", hedging());
  warm(dependency);
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  const Step first = call.step();
  call.on_unrepeatable();
  EXPECT_FALSE(call.may_hedge());
  call.on_timer(first.wake, 0.5);
  const Step later = call.step();
  EXPECT_FALSE(later.sends);
  EXPECT_EQ(dependency.tally().hedges, 0u);
  call.on_outcome(0, {.outcome = Outcome::unavailable}, kStart + 50ms, 0.5);
  const Step over = call.step();
  EXPECT_EQ(over.verdict, Verdict::unrepeatable);
}

// The exploration found it: the retry was planned before the request became unrepeatable.
TEST(Call, ARetryThatWaitsBesideAHedgeIsNotSentOnceTheRequestIsUnrepeatable) {
  Dependency dependency("test", hedging());
  warm(dependency);
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  call.on_timer(call.step().wake, 0.5);
  ASSERT_TRUE(call.step().attempt.hedge);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart + 20ms, 0.5);
  const double unsent = dependency.budget().balance(kStart + 20ms);
  call.on_unrepeatable();
  call.on_timer(call.step().wake, 0.5);
  EXPECT_FALSE(call.step().sends || call.step().over());  // The hedge may still succeed.
  EXPECT_EQ(dependency.budget().balance(kStart + 40ms), unsent + 1);
  call.on_outcome(1, {.outcome = Outcome::transient}, kStart + 50ms, 0.5);
  EXPECT_EQ(call.step().verdict, Verdict::unrepeatable);
}

TEST(Call, AHedgeMayWinWhileTheRetryOfItsOriginalWaits) {
  Dependency dependency("test", hedging());
  warm(dependency);
  EXPECT_EQ(Player(dependency).play("t20.15"), "send hedge success");
  // The retry is due 12 ms after the first failure, whatever becomes of the hedge until then.
  EXPECT_EQ(Player(dependency).play("t20t20."), "send hedge wait2 send success");
  EXPECT_EQ(Player(dependency).play("p20.30"), "send hedge cancel1 permanent");
}

TEST(Call, ARefusedHedgeDoesNotEndTheAttemptBesideIt) {
  Dependency dependency("test", hedging());
  warm(dependency);
  EXPECT_EQ(Player(dependency).play(".40o5"), "send hedge success");
  EXPECT_EQ(Player(dependency).play(".40t5!"), "send hedge success");
  EXPECT_EQ(Player(dependency).play("t40o5"), "send hedge overload");  // And none is retried.
  EXPECT_EQ(Player(dependency).play("o40.50"), "send hedge success");
}

TEST(Call, NoHedgeFollowsARefusal) {
  Policy p = hedging(3);
  p.call.max_attempts = 4;
  Dependency dependency("test", p);
  warm(dependency);
  pay_for_hedges(dependency);
  EXPECT_EQ(Player(dependency).play(".100o5"), "send hedge success");
  EXPECT_EQ(Player(dependency).play(".100t5.5"), "send hedge hedge cancel0 success");
}

TEST(Call, TrapH6_AFinalAnswerToAHedgeDoesNotEndACallWhoseOriginalIsInFlight) {
  for (const std::string hedge : {"p5", "c5"}) {
    Dependency dependency("test", hedging());
    warm(dependency);
    EXPECT_EQ(Player(dependency).play(".100" + hedge), "send hedge success");
    // The original decides: its own final answer, its refusal, or its retry.
    EXPECT_EQ(Player(dependency).play("p100" + hedge), "send hedge permanent");
    EXPECT_EQ(Player(dependency).play("o100" + hedge), "send hedge overload");
    EXPECT_EQ(Player(dependency).play("t100" + hedge + "."), "send hedge wait12 send success");
    EXPECT_EQ(Player(dependency).play(".2000" + hedge), "send hedge cancel0 deadline_passed");
    Policy more = hedging(3);  // No further hedge asks again.
    more.call.max_attempts = 4;
    dependency.reload(more, kStart);
    pay_for_hedges(dependency);
    EXPECT_EQ(Player(dependency).play(".100" + hedge), "send hedge success");
  }
}

TEST(Call, AFinalAnswerToAHedgeWithoutAnOriginalEndsTheCall) {
  Dependency dependency("test", hedging());
  warm(dependency);
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  call.on_timer(call.step().wake, 0.5);
  ASSERT_TRUE(call.step().attempt.hedge);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart + 20ms, 0.5);  // A retry waits.
  call.on_outcome(1, {.outcome = Outcome::permanent}, kStart + 21ms, 0.5);
  EXPECT_EQ(call.step().verdict, Verdict::permanent);
  EXPECT_EQ(dependency.tally().all_retries(), 0u);

  Policy more = hedging(2);  // Another hedge in flight is no original.
  more.call.max_attempts = 4;
  dependency.reload(more, kStart);
  pay_for_hedges(dependency);
  EXPECT_EQ(Player(dependency).play("t30p24.100"), "send hedge hedge cancel2 permanent");
}

// 310 ms and not the deadline of 5 s: the review's case.
TEST(Call, TrapH7_AFailedAttemptIsRetriedBesideAHedgeThatHangs) {
  Policy p = hedging();
  p.call.timeout = 5s;
  p.call.backoff = {.base = 500ms, .cap = 500ms};
  Dependency dependency("test", p);
  warm(dependency);
  const std::int64_t before = dependency.latencies().samples(kStart + 1s);
  Player player(dependency);
  EXPECT_EQ(player.play("t50.60000.10"), "send hedge send cancel1 success");
  EXPECT_EQ(player.now() - kStart, 310ms);  // 50 + 250 + 10, as without a hedge.
  EXPECT_EQ(dependency.tally().all_retries(), 1u);
  // The latency of the retry, and that of the hedge that it has overtaken.
  EXPECT_EQ(dependency.latencies().samples(kStart + 1s), before + 2);
}

TEST(Call, ATimedOutAttemptIsRetriedBesideItsHedgeToo) {
  Policy p = hedging();
  p.call.per_try_timeout = 50ms;
  Dependency dependency("test", p);
  warm(dependency);
  Player player(dependency);
  // The first times out at 50 ms, the retry is sent at 62 ms, where its hedge has timed out.
  EXPECT_EQ(player.play(".900.900.5"), "send hedge cancel0 cancel1 wait2 send success");
  EXPECT_LT(player.now() - kStart, 70ms);
}

TEST(Call, AnOriginalThatTimesOutTogetherWithAHedgeIsRetriedBesideAnotherHedge) {
  Policy p = hedging(2);
  p.call.max_attempts = 4;
  p.call.per_try_timeout = 50ms;
  Dependency dependency("test", p);
  warm(dependency);
  pay_for_hedges(dependency);
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  call.on_timer(call.step().wake, 0.5);
  call.on_timer(call.step().wake, 0.5);
  ASSERT_EQ(call.step().attempt.number, 3u);
  call.on_timer(kStart + 65ms, 0.0);  // Late: those of 50 and 61 ms. A draw of 0 waits for nothing.
  EXPECT_EQ(call.step().cancels, 0b011);
  EXPECT_EQ(call.step().wake, kStart + 65ms);
  call.on_cancel(kStart + 65ms);
}

TEST(Call, ARetryBesideAHedgePaysAndCountsAsAnyOther) {  // Invariants (3) and (4).
  Policy p = hedging();
  p.call.max_attempts = 2;
  Dependency spent("test", p);
  warm(spent);
  EXPECT_EQ(Player(spent).play("t20.500"), "send hedge success");  // The cap holds; the hedge wins.
  EXPECT_EQ(Player(spent).play("t20t500"), "send hedge attempts_spent");

  p = hedging();
  p.budget = {.percent = Percent(0), .reserve = 1};  // The hedge takes it.
  Dependency poor("test", p);
  warm(poor);
  EXPECT_EQ(Player(poor).play("t20t500"), "send hedge budget_spent");

  p.budget.reserve = 2;
  Dependency dependency("test", p);
  warm(dependency);
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  call.on_timer(call.step().wake, 0.5);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart + 20ms, 0.5);
  EXPECT_EQ(dependency.budget().balance(kStart + 20ms), 0.0);  // The hedge's, and the waiting one.
  call.on_outcome(1, {.outcome = Outcome::success}, kStart + 25ms, 0.5);
  EXPECT_EQ(call.step().verdict, Verdict::success);
  EXPECT_GE(dependency.budget().balance(kStart + 25ms), 1.0);  // Unsent: given back.
  EXPECT_EQ(dependency.tally().all_retries(), 0u);
}

TEST(Call, ASwitchThatTurnsRetriesOffEndsTheRetryBesideAHedgeNotTheHedge) {  // Invariant (2).
  Dependency dependency("test", hedging());
  warm(dependency);
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  call.on_timer(call.step().wake, 0.5);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart + 20ms, 0.5);
  const Instant due = call.step().wake;
  EXPECT_EQ(due, kStart + 32'500us);
  dependency.switches().set(admit::Switch::retries, {.off = true});
  call.on_timer(due, 0.5);
  EXPECT_FALSE(call.step().sends || call.step().over());
  call.on_outcome(1, {.outcome = Outcome::transient}, kStart + 100ms, 0.5);
  EXPECT_EQ(call.step().verdict, Verdict::switched_off);
}

TEST(Call, TrapA1_AHedgeThatIsToldWhenPostponesTheRetryBesideIt) {  // Invariant (2).
  Dependency dependency("test", hedging());
  warm(dependency);
  // The first fails at 20 ms; its hedge, sent at 11 ms, is told at 26 ms to come back in 200 ms.
  EXPECT_EQ(Player(dependency).play("t20t15+200."), "send hedge wait212 send success");
  EXPECT_EQ(Player(dependency).play("t20t15+2000."), "send hedge deadline_too_close");
  EXPECT_EQ(Player(dependency).play("t20t15!."), "send hedge pushed_back");
}

TEST(Call, TrapA1_WhatTheServerSaidToOneAttemptHoldsForTheCall) {
  Dependency dependency("test", hedging());
  warm(dependency);
  EXPECT_EQ(Player(dependency).play("t20+500t30."), "send hedge wait492 send success");
}

TEST(Call, AHedgeIsAnAttemptUnderTheCap) {
  Policy two = hedging();
  two.call.max_attempts = 2;
  Dependency dependency("test", two);
  warm(dependency);
  EXPECT_EQ(Player(dependency).play("t20t20"), "send hedge attempts_spent");
}

TEST(Call, TheQuantileSeesTheSlowAttemptsThatHedgesOvertook) {
  Dependency dependency("test", hedging());
  warm(dependency);
  for (int i = 0; i < 100; ++i) (void)Player(dependency).play(".500.30");
  // Half of what is known now took 10 ms, the rest 40 ms (overtaken) or 30 ms (the hedges).
  EXPECT_GT(*dependency.latencies().quantile(Percent(95), kStart), 35ms);
}

// Whatever happens in whatever order, a call ends once, its books balance, and it is on time.
TEST(Call, EveryRandomHistoryEndsOnceAndSettlesEverything) {  // Invariants (1), (3), (4).
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    Random random(seed);
    Policy p = hedging();
    p.call.hedge.max_hedges = static_cast<std::int32_t>(random.draw() * 4);
    p.call.max_attempts = 1 + static_cast<std::int32_t>(random.draw() * 6);
    p.call.per_try_timeout = random.draw() < 0.5 ? 0ms : 50ms;
    const bool rich = seed % 2 == 0;
    p.budget = {.percent = Percent(100), .reserve = rich ? 1000 : 5, .min_retry_concurrency = 2};
    p.limit = {.kind = admit::LimitKind::fixed, .initial = 3};
    p.breaker.emplace().consecutive_failures = 5;
    Dependency dependency("test", p);
    warm(dependency);
    const bool repeatable = random.draw() < 0.8;
    Call call(dependency, {.request = {.idempotent = repeatable, .safe = repeatable}});
    Instant now = kStart;
    unsigned running = 0;
    call.start(now, random.draw());
    Step step = call.step();
    for (int i = 0; i < 200; ++i) {
      ASSERT_EQ(step.cancels & ~running, 0U) << "seed " << seed;
      running &= ~static_cast<unsigned>(step.cancels);
      if (step.over()) break;
      if (step.sends) running |= 1U << step.attempt.lane;
      const double choice = random.draw();
      const int lane = static_cast<int>(random.draw() * kLanes);
      if (choice < 0.02) {
        call.on_cancel(now);
        step = call.step();
      } else if (choice < 0.5 && (running >> lane & 1) != 0) {
        now += Duration{static_cast<std::int64_t>(random.draw() * 1e6)};
        running &= ~(1U << lane);
        const auto outcome = static_cast<Outcome>(random.draw() * 8);
        call.on_outcome(lane, {.outcome = outcome}, now, random.draw());
        step = call.step();
      } else {
        ASSERT_NE(step.wake, kNever) << "seed " << seed;
        now = std::max(now, step.wake);
        call.on_timer(now, random.draw());
        step = call.step();
      }
      ASSERT_LE(now, kStart + 1s) << "seed " << seed;
    }
    ASSERT_TRUE(step.over()) << "seed " << seed;
    ASSERT_EQ(running, 0U) << "seed " << seed;
    ASSERT_EQ(dependency.limit().in_flight(), 0) << "seed " << seed;
    const Tally tally = dependency.tally();
    ASSERT_EQ(tally.in_flight(), 0u) << "seed " << seed;
    ASSERT_EQ(tally.attempts, 100 + call.attempts()) << "seed " << seed;
    // Every place under the concurrency bound is free again: two fit, a third does not.
    if (!rich) continue;
    EXPECT_TRUE(dependency.budget().try_withdraw(now + 60s, 0)) << "seed " << seed;
    EXPECT_TRUE(dependency.budget().try_withdraw(now + 60s, 0)) << "seed " << seed;
    ASSERT_FALSE(dependency.budget().try_withdraw(now + 60s, 0)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace damper::engine
