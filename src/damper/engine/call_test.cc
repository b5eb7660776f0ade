#include "damper/engine/call.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/random.h"
#include "damper/engine/call_script.h"

namespace damper::engine {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

constexpr Instant kStart{1000s};
constexpr CallOptions kRepeatable = {.idempotent = true};

// Plays a script in virtual time and writes down what the call wanted done.
class Player {
 public:
  explicit Player(Dependency& dependency, CallOptions options = kRepeatable, double draw = 0.5)
      : call_(dependency, options), draw_(draw) {}

  std::string play(std::string_view text, Instant start = kStart) {
    script_ = parse_script(text);
    now_ = start;
    apply(call_.start(now_, draw_));
    for (int i = 0; i < 1'000 && !over_; ++i) next();
    EXPECT_TRUE(over_) << "the call does not end: " << trace_.text();
    return trace_.text();
  }

  [[nodiscard]] Call& call() { return call_; }
  [[nodiscard]] Instant now() const { return now_; }

 private:
  struct Pending {
    Instant due{};
    decide::Report report;
  };

  void next() {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i] && (!first || lanes_[i]->due < lanes_[*first]->due)) first = i;
    }
    if (first && lanes_[*first]->due <= wake_) {
      const Pending pending = *lanes_[*first];
      lanes_[*first].reset();
      now_ = std::max(now_, pending.due);
      apply(call_.on_outcome(static_cast<int>(*first), pending.report, now_, draw_));
    } else {
      if (!first) trace_.waited(between(now_, wake_));
      now_ = wake_;
      apply(call_.on_timer(now_, draw_));
    }
  }

  void apply(const Step& step) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if ((step.cancels >> lane & 1) == 0) continue;
      trace_.cancelled(lane);
      lanes_[static_cast<std::size_t>(lane)].reset();
    }
    wake_ = step.wake;
    if (step.over()) {
      trace_.ended(name(step.verdict));
      over_ = true;
      return;
    }
    if (!step.sends) return;
    trace_.sent(step.attempt.hedge);
    ASSERT_LE(step.attempt.number, script_.size());
    const ScriptedAttempt& scripted = script_[step.attempt.number - 1];
    lanes_[step.attempt.lane] = Pending{now_ + scripted.takes, scripted.report};
  }

  Call call_;
  double draw_;
  std::vector<ScriptedAttempt> script_;
  std::array<std::optional<Pending>, kLanes> lanes_;
  Instant now_{};
  Instant wake_ = kNever;
  bool over_ = false;
  Trace trace_;
};

// Backoff of 25 and 50 ms, so that a draw of 0.5 waits 12 and 25; a budget that never runs out.
Policy policy() {
  Policy policy;
  policy.call.timeout = 1s;
  policy.call.backoff = {.base = 25ms, .cap = 250ms};
  policy.budget = {.percent = Percent(1000), .reserve = 100};
  return policy;
}

std::string play(const Policy& policy, std::string_view script, CallOptions options = kRepeatable) {
  Dependency dependency("test", policy);
  return Player(dependency, options).play(script);
}

TEST(Call, ASuccessIsOneAttempt) { EXPECT_EQ(play(policy(), "."), "send success"); }

TEST(Call, TransientFailuresAreRetriedWithBackoff) {
  EXPECT_EQ(play(policy(), "tt."), "send wait12 send wait25 send success");
  EXPECT_EQ(play(policy(), "u."), "send wait12 send success");
  EXPECT_EQ(play(policy(), "T."), "send wait12 send success");
}

TEST(Call, AttemptsAreCapped) {
  EXPECT_EQ(play(policy(), "ttt"), "send wait12 send wait25 send attempts_spent");
  Policy once = policy();
  once.call.max_attempts = 1;
  EXPECT_EQ(play(once, "t"), "send attempts_spent");
}

TEST(Call, WhatCannotChangeIsNotRetried) {
  EXPECT_EQ(play(policy(), "p"), "send permanent");
  EXPECT_EQ(play(policy(), "c"), "send conflict");
  EXPECT_EQ(play(policy(), "tp"), "send wait12 send permanent");
}

TEST(Call, AConflictIsRetriedOnlyByWhoReadsAgain) {
  EXPECT_EQ(play(policy(), "cc.", {.rereads = true}), "send wait12 send wait25 send success");
  EXPECT_EQ(play(policy(), "t.", {.rereads = true}), "send not_idempotent");
}

TEST(Call, AnUnsafeRequestIsRepeatedOnlyIfItNeverLeft) {
  EXPECT_EQ(play(policy(), "t.", {}), "send not_idempotent");
  EXPECT_EQ(play(policy(), "T.", {}), "send not_idempotent");
  EXPECT_EQ(play(policy(), "u.", {}), "send wait12 send success");
}

TEST(Call, OneLayerRetries) {
  Dependency dependency("test", policy());
  Player player(dependency, {.idempotent = true, .owned_above = true});
  EXPECT_EQ(player.play("t."), "send layered");
  EXPECT_EQ(dependency.tally().of(Verdict::layered), 1u);
  EXPECT_FALSE(player.call().owns_retries());
  EXPECT_TRUE(Call(dependency, kRepeatable).owns_retries());
  EXPECT_FALSE(Call(dependency, {}).owns_retries());
}

TEST(Call, OverloadIsNotRetriedUnlessTheServerSaysWhen) {
  EXPECT_EQ(play(policy(), "o."), "send overload");
  EXPECT_EQ(play(policy(), "o+100."), "send wait112 send success");
}

TEST(Call, APushbackThatSaysNotAgainIsObeyed) {
  EXPECT_EQ(play(policy(), "t!."), "send pushed_back");
}

// Invariant (2). The configured cap (250 ms) does not shorten what the server asked for.
TEST(Call, TrapA1_NeverEarlierThanTheServerSaid) {
  EXPECT_EQ(play(policy(), "t+600."), "send wait612 send success");
  for (const double draw : {0.0, 0.5, kLargestDraw}) {
    Dependency dependency("test", policy());
    Player player(dependency, kRepeatable, draw);
    (void)player.play("o+300.");
    EXPECT_GE(player.now(), kStart + 300ms);  // Trap A4: jitter is added, never subtracted.
  }
}

TEST(Call, TrapA4_JitterIsOnlyEverAddedToWhatTheServerSaid) {
  Dependency dependency("test", policy());
  Player player(dependency, kRepeatable, 0.0);
  EXPECT_EQ(player.play("o+300."), "send wait300 send success");
}

TEST(Call, TrapA2_ARetryAfterPastTheDeadlineEndsTheCallNow) {
  Dependency dependency("test", policy());
  Player player(dependency);
  EXPECT_EQ(player.play("t5+1000."), "send deadline_too_close");
  EXPECT_EQ(player.now(), kStart + 5ms);  // Not waited out.
  EXPECT_EQ(play(policy(), "o+99999999999."), "send deadline_too_close");
}

TEST(Call, TrapA5_ABackoffLongerThanTheRemainingTimeEndsTheCall) {
  Policy slow = policy();
  slow.call.backoff = {.jitter = schedule::Jitter::none, .base = 2s, .cap = 2s};
  EXPECT_EQ(play(slow, "t."), "send deadline_too_close");
}

TEST(Call, AnAttemptThatCannotFinishIsNotStarted) {
  Policy needs = policy();
  needs.call.needed = 30ms;
  EXPECT_EQ(play(needs, ".", {.deadline = schedule::Deadline(kStart + 30ms)}), "send success");
  EXPECT_EQ(play(needs, ".", {.deadline = schedule::Deadline(kStart + 30ms - 1ns)}),
            "deadline_too_close");
}

TEST(Call, TrapD3_ADeadlineThatHasPassedReachesNoBackendAndIsCounted) {
  Dependency dependency("test", policy());
  Player player(dependency, {.deadline = schedule::Deadline(kStart)});
  EXPECT_EQ(player.play("."), "deadline_passed");
  EXPECT_EQ(dependency.tally().of(Verdict::deadline_passed), 1u);
  EXPECT_EQ(dependency.tally().attempts, 0u);
  EXPECT_EQ(dependency.budget().balance(kStart), 100.0);  // Not sent: nothing was deposited.
}

TEST(Call, TrapD1_TheTimeoutCountsFromTheFirstByte) {
  EXPECT_EQ(play(policy(), ".", {.arrived = kStart - 1s}), "deadline_passed");
  Dependency dependency("test", policy());
  Call call(dependency, {.arrived = kStart - 900ms});
  EXPECT_EQ(call.start(kStart, 0.5).attempt.deadline, kStart + 100ms);
}

TEST(Call, TrapD2_EachAttemptIsGivenWhatIsLeftLessTheReserve) {
  Policy reserving = policy();
  reserving.call.reserve = 100ms;
  Dependency dependency("test", reserving);
  Call call(dependency, kRepeatable);
  Step step = call.start(kStart, 0.5);
  EXPECT_EQ(step.attempt.deadline - step.attempt.sent, 900ms);
  step = call.on_outcome(0, {.outcome = Outcome::transient}, kStart + 300ms, 0.0);
  EXPECT_EQ(step.wake, kStart + 300ms);
  step = call.on_timer(kStart + 300ms, 0.5);
  EXPECT_EQ(step.attempt.number, 2u);
  EXPECT_EQ(step.attempt.deadline - step.attempt.sent, 600ms);
}

TEST(Call, AnAttemptHasItsOwnTimeoutAndIsRetriedAfterIt) {
  Policy tries = policy();
  tries.call.per_try_timeout = 100ms;
  EXPECT_EQ(play(tries, ".300.20"), "send cancel0 wait12 send success");
  EXPECT_EQ(play(tries, ".300.300.300"),
            "send cancel0 wait12 send cancel0 wait25 send cancel0 attempts_spent");
  EXPECT_EQ(play(tries, ".300", {}), "send cancel0 not_idempotent");
}

TEST(Call, TheDeadlineEndsTheCallInMidAttempt) {  // Invariant (1).
  Dependency dependency("test", policy());
  Player player(dependency);
  EXPECT_EQ(player.play(".2000"), "send cancel0 deadline_passed");
  EXPECT_EQ(player.now(), kStart + 1s);
}

TEST(Call, ATimeoutReportedAtTheDeadlineIsTheSameVerdict) {
  EXPECT_EQ(play(policy(), "T1000"), "send deadline_passed");
}

TEST(Call, TheBudgetIsAskedLastAndARefusalCostsNothing) {
  Policy poor = policy();
  poor.budget = {.percent = Percent(0), .reserve = 1};
  Dependency dependency("test", poor);
  EXPECT_EQ(Player(dependency).play("tt."), "send wait12 send budget_spent");
  EXPECT_EQ(Player(dependency).play("t."), "send budget_spent");
  EXPECT_EQ(dependency.tally().budget_refusals, 2u);
  EXPECT_EQ(Player(dependency).play("p"), "send permanent");  // Not even asked.
  EXPECT_EQ(dependency.tally().budget_refusals, 2u);
}

TEST(Call, TrapK1_TheSwitchIsReadAtEveryDecision) {
  Dependency dependency("test", policy());
  dependency.switches().set(admit::Switch::retries, {.off = true});
  EXPECT_EQ(Player(dependency).play("t."), "send switched_off");
  EXPECT_EQ(Player(dependency).play("."), "send success");  // First attempts go.
  EXPECT_EQ(dependency.tally().of(Verdict::switched_off), 1u);
}

TEST(Call, TrapK1_TheSwitchReachesCallsThatWaitInABackoff) {  // Invariants (2) and (3).
  Policy one = policy();
  one.budget = {.percent = Percent(0), .reserve = 1};
  Dependency dependency("test", one);
  Call call(dependency, kRepeatable);
  (void)call.start(kStart, 0.5);
  const Step waiting = call.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5);
  EXPECT_EQ(dependency.budget().balance(kStart), 0.0);
  EXPECT_EQ(call.on_timer(kStart + 1ms, 0.5).wake, waiting.wake);  // Woken for nothing: waits on.

  dependency.switches().set(admit::Switch::retries, {.off = true});
  const Step step = call.on_timer(kStart + 2ms, 0.5);
  EXPECT_EQ(step.verdict, Verdict::switched_off);
  EXPECT_EQ(dependency.budget().balance(kStart), 1.0);  // What it had paid came back.
}

TEST(Call, ACancelledWaitGivesItsPaymentBack) {  // Invariant (3).
  Policy one = policy();
  one.budget = {.percent = Percent(0), .reserve = 1};
  Dependency dependency("test", one);
  Call call(dependency, kRepeatable);
  (void)call.start(kStart, 0.5);
  (void)call.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5);
  EXPECT_EQ(call.on_cancel(kStart + 1ms).verdict, Verdict::cancelled);
  EXPECT_EQ(dependency.budget().balance(kStart), 1.0);
  EXPECT_EQ(dependency.tally().in_flight(), 0u);
}

Policy with_breaker() {
  Policy p = policy();
  p.breaker.emplace().consecutive_failures = 3;
  return p;
}

TEST(Call, AnOpenBreakerRefusesTheFirstAttemptAndTheRetry) {
  Dependency dependency("test", with_breaker());
  EXPECT_EQ(Player(dependency).play("ttt"), "send wait12 send wait25 send attempts_spent");
  EXPECT_EQ(dependency.breaker().state(kStart + 40ms), admit::BreakerState::open);
  EXPECT_EQ(Player(dependency).play(".", kStart + 50ms), "breaker_open");
  EXPECT_EQ(dependency.tally().attempts, 3u);
}

TEST(Call, ABreakerThatOpensMeanwhileEndsTheRetryAndItsPaymentComesBack) {
  Policy p = with_breaker();
  p.budget = {.percent = Percent(0), .reserve = 1};
  Dependency dependency("test", p);
  Call call(dependency, kRepeatable);
  (void)call.start(kStart, 0.5);
  const Step waiting = call.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5);
  for (int i = 0; i < 2; ++i) (void)Player(dependency, {}).play("t");
  EXPECT_EQ(call.on_timer(waiting.wake, 0.5).verdict, Verdict::breaker_open);
  EXPECT_EQ(dependency.budget().balance(kStart), 1.0);
}

TEST(Call, AnAttemptCancelledByItsCallerIsNoVerdictForTheBreaker) {
  Dependency dependency("test", with_breaker());
  for (int i = 0; i < 20; ++i) {
    Call call(dependency, {});
    (void)call.start(kStart, 0.5);
    EXPECT_EQ(call.on_cancel(kStart).cancels, 1);
  }
  EXPECT_EQ(dependency.breaker().state(kStart), admit::BreakerState::closed);
}

TEST(Call, AHungDependencyTripsTheBreakerThroughTheDeadline) {
  Dependency dependency("test", with_breaker());
  for (int i = 0; i < 3; ++i) (void)Player(dependency, {}).play(".5000");
  EXPECT_EQ(dependency.breaker().state(kStart + 1s), admit::BreakerState::open);
}

TEST(Call, TheConcurrencyLimitBoundsAttemptsAndIsReleasedByEachOfThem) {
  Policy limited = policy();
  limited.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  Dependency dependency("test", limited);
  Call first(dependency, kRepeatable);
  (void)first.start(kStart, 0.5);
  EXPECT_EQ(Player(dependency).play("."), "limited");
  (void)first.on_cancel(kStart);
  for (const char* script : {".", "tt.", "p", "o", ".2000", "ttt"}) {  // Invariant (4).
    (void)Player(dependency).play(script);
    EXPECT_EQ(dependency.limit().in_flight(), 0) << script;
  }
}

TEST(Call, ThrottleRefusesWhenTheDependencyRejectsTooMuch) {
  Policy throttled = policy();
  throttled.throttle.emplace();
  Dependency dependency("test", throttled);
  int refused = 0;
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    Player player(dependency, {}, random.draw());
    refused += player.play("t") == "throttled" ? 1 : 0;
  }
  EXPECT_GT(refused, 150);
}

// Hedging: a hundred answers of 10 ms are known; a hedge goes after the 95th percentile of them.
Policy hedging() {
  Policy p = policy();
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

TEST(Call, AFailureWaitsForTheHedgeBesideItAndIsRetriedWhenBothFail) {
  Dependency dependency("test", hedging());
  warm(dependency);
  EXPECT_EQ(Player(dependency).play("t20.30"), "send hedge success");
  EXPECT_EQ(Player(dependency).play("t20t20."), "send hedge wait12 send success");
  EXPECT_EQ(Player(dependency).play("p20.30"), "send hedge cancel1 permanent");
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
  EXPECT_EQ(Player(dependency, {.idempotent = true, .owned_above = true}).play(".100"),
            "send success");
}

TEST(Call, TrapH2_ASpentBudgetSuppressesTheNewHedgeNotThoseUnderWay) {
  Policy p = hedging();
  p.budget = {.percent = Percent(0), .reserve = 1};
  Dependency dependency("test", p);
  warm(dependency);
  Call call(dependency, kRepeatable);
  Step step = call.start(kStart, 0.5);
  step = call.on_timer(step.wake, 0.5);  // The hedge that spends the budget.
  EXPECT_TRUE(step.attempt.hedge);
  EXPECT_EQ(Player(dependency).play(".100"), "send success");
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1u);
  step = call.on_outcome(1, {.outcome = Outcome::success}, kStart + 20ms, 0.5);
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

TEST(Call, AReloadReachesTheNextDecisionOfACallThatHasStartedButNotItsDeadline) {
  Dependency dependency("test", policy());
  Call one(dependency, kRepeatable);
  Call two(dependency, kRepeatable);
  (void)one.start(kStart, 0.5);
  (void)two.start(kStart, 0.5);
  EXPECT_EQ(one.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5).verdict, Verdict::none);
  Policy once = policy();
  once.call.max_attempts = 1;
  once.call.timeout = 1ms;
  dependency.reload(once, kStart);
  EXPECT_EQ(two.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5).verdict,
            Verdict::attempts_spent);
  EXPECT_TRUE(one.on_timer(kStart + 13ms, 0.5).sends);  // It was admitted before.
  EXPECT_EQ(one.deadline().at(), kStart + 1s);
  (void)one.on_cancel(kStart);
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
    Call call(dependency, {.idempotent = random.draw() < 0.8});
    Instant now = kStart;
    unsigned running = 0;
    Step step = call.start(now, random.draw());
    for (int i = 0; i < 200; ++i) {
      ASSERT_EQ(step.cancels & ~running, 0U) << "seed " << seed;
      running &= ~static_cast<unsigned>(step.cancels);
      if (step.over()) break;
      if (step.sends) running |= 1U << step.attempt.lane;
      const double choice = random.draw();
      const int lane = static_cast<int>(random.draw() * kLanes);
      if (choice < 0.02) {
        step = call.on_cancel(now);
      } else if (choice < 0.5 && (running >> lane & 1) != 0) {
        now += Duration{static_cast<std::int64_t>(random.draw() * 1e6)};
        running &= ~(1U << lane);
        const auto outcome = static_cast<Outcome>(random.draw() * 8);
        step = call.on_outcome(lane, {.outcome = outcome}, now, random.draw());
      } else {
        ASSERT_NE(step.wake, kNever) << "seed " << seed;
        now = std::max(now, step.wake);
        step = call.on_timer(now, random.draw());
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

TEST(Call, IsSmall) { EXPECT_LE(sizeof(Call), 512u); }

}  // namespace
}  // namespace damper::engine
