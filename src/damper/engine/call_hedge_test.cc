#include "damper/engine/call.h"

#include <gtest/gtest.h>

#include "damper/base/random.h"
#include "damper/engine/call_player_testing.h"

namespace damper::engine {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

constexpr Instant kStart = Player::kStart;
constexpr CallOptions kRepeatable = {.request = {.idempotent = true}};

// Hedging: a hundred answers of 10 ms are known; a hedge goes after the 95th percentile of them.
Policy hedging() {
  Policy p = scripted_policy();
  p.call.hedge = {.max_hedges = 1, .min_samples = 100, .ratio = Percent(100)};
  return p;
}

void warm(Dependency& dependency) {
  for (int i = 0; i < 100; ++i) (void)Player(dependency, {}).play(".10", kStart - 10s);
}

TEST(Call, AHedgeJoinsALateAttemptAndTheFirstSuccessWins) {
  Dependency dependency("test", hedging());
  warm(dependency);
  EXPECT_EQ(Player(dependency).play(".100.5"), "send hedge cancel0 success");
  EXPECT_EQ(Player(dependency).play(".12.50"), "send hedge cancel1 success");
  EXPECT_EQ(Player(dependency).play(".9"), "send success");
  EXPECT_EQ(dependency.tally().hedges, 2u);
  EXPECT_EQ(dependency.tally().hedges_won, 1u);
}

TEST(Call, TrapH1_NoHedgeBeforeEnoughIsKnown) {
  Dependency dependency("test", hedging());
  EXPECT_EQ(Player(dependency).play(".500"), "send success");
}

// The choice of a replica is the driver's; the engine says which attempts run beside each other.
TEST(Call, TrapH4_AHedgeIsMarkedSoThatItGoesToAnotherReplica) {
  Dependency dependency("test", hedging());
  warm(dependency);
  Call call(dependency, kRepeatable);
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
  Call call(dependency, kRepeatable);
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

TEST(Call, AFailureWaitsForTheHedgeBesideItAndIsRetriedWhenBothFail) {
  Dependency dependency("test", hedging());
  warm(dependency);
  EXPECT_EQ(Player(dependency).play("t20.30"), "send hedge success");
  EXPECT_EQ(Player(dependency).play("t20t20."), "send hedge wait12 send success");
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

TEST(Call, AnUnsafeOrOwnedRequestIsNeverHedged) {
  Dependency dependency("test", hedging());
  warm(dependency);
  EXPECT_EQ(Player(dependency, {}).play(".100"), "send success");
  EXPECT_EQ(Player(dependency, {.request = {.idempotent = true, .owned_above = true}}).play(".100"),
            "send success");
}

TEST(Call, TrapH2_ASpentBudgetSuppressesTheNewHedgeNotThoseUnderWay) {
  Policy p = hedging();
  p.budget = {.percent = Percent(0), .reserve = 1};
  Dependency dependency("test", p);
  warm(dependency);
  Call call(dependency, kRepeatable);
  call.start(kStart, 0.5);
  Step step = call.step();
  call.on_timer(step.wake, 0.5);
  step = call.step();  // The hedge that spends the budget.
  EXPECT_TRUE(step.attempt.hedge);
  EXPECT_EQ(Player(dependency).play(".100"), "send success");
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1u);
  call.on_outcome(1, {.outcome = Outcome::success}, kStart + 20ms, 0.5);
  step = call.step();
  EXPECT_EQ(step.verdict, Verdict::success);  // The one under way went on and won.
  EXPECT_EQ(dependency.tally().hedges_won, 1u);
}

TEST(Call, TrapH3_HedgesHaveARatioOfTheirOwn) {
  Policy p = hedging();
  p.call.hedge.ratio = Percent(5);
  Dependency dependency("test", p);
  warm(dependency);
  for (int i = 0; i < 100; ++i) (void)Player(dependency).play(".100.100");
  // 100 requests in the window, at 5 %.
  EXPECT_EQ(dependency.tally().hedges, 5u);
  EXPECT_EQ(dependency.tally().hedges_suppressed, 95u);
}

TEST(Call, TrapH3_NoHedgingWhileTheBreakerIsNotCalm) {
  Policy p = hedging();
  p.breaker = admit::CircuitBreakerOptions{
      .consecutive_failures = 1, .open_base = 1s, .probes = 1, .ramp = 60s};
  Dependency dependency("test", p);
  warm(dependency);
  (void)Player(dependency, {}).play("t", kStart - 5s);
  (void)Player(dependency, {}, 0.0).play(".", kStart - 2s);  // The probe closes it; it ramps.
  EXPECT_EQ(Player(dependency, kRepeatable, 0.0).play(".100"), "send success");
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1u);
}

TEST(Call, TrapH3_NoHedgingWhileTheThrottleIsActive) {
  Policy p = hedging();
  p.throttle.emplace();
  Dependency dependency("test", p);
  warm(dependency);
  EXPECT_EQ(Player(dependency).play(".100.5"), "send hedge cancel0 success");
  while (!dependency.throttle().active(kStart))
    (void)dependency.throttle().try_admit(kStart, 0.999);
  EXPECT_EQ(Player(dependency, kRepeatable, 0.9).play(".100"), "send success");
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1u);
}

TEST(Call, AHedgeThatTheLimitRefusesGetsItsPaymentBack) {  // Invariant (3).
  Policy p = hedging();
  p.budget = {.percent = Percent(0), .reserve = 1};
  p.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  Dependency dependency("test", p);
  warm(dependency);
  EXPECT_EQ(Player(dependency).play(".100"), "send success");
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1u);
  EXPECT_EQ(dependency.budget().balance(kStart), 1.0);
}

TEST(Call, HedgingCanBeSwitchedOffOnItsOwn) {
  Dependency dependency("test", hedging());
  warm(dependency);
  dependency.switches().set(admit::Switch::hedging, {.off = true});
  EXPECT_EQ(Player(dependency).play(".100"), "send success");
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1u);
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
    p.budget = {.percent = Percent(100), .reserve = 5, .min_retry_concurrency = 2};
    p.limit = {.kind = admit::LimitKind::fixed, .initial = 3};
    p.breaker.emplace().consecutive_failures = 5;
    Dependency dependency("test", p);
    warm(dependency);
    Call call(dependency, {.request = {.idempotent = random.draw() < 0.8}});
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
    const auto one = dependency.budget().try_withdraw(now + 60s, 0);
    (void)dependency.budget().try_withdraw(now + 60s, 0);
    ASSERT_TRUE(one || dependency.budget().balance(now + 60s) < 1) << "seed " << seed;
  }
}

}  // namespace
}  // namespace damper::engine
