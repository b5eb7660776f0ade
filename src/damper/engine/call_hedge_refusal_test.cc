#include <gtest/gtest.h>

#include "damper/engine/call_player_testing.h"

namespace damper::engine {
namespace {

// When a hedge is not sent: requests that are not hedged, and the parts that suppress a hedge.

using namespace std::chrono_literals;
using decide::Outcome;

constexpr Instant kStart = Player::kStart;

TEST(Call, TrapH1_NoHedgeBeforeEnoughIsKnown) {
  Dependency dependency("test", hedging());
  EXPECT_EQ(Player(dependency).play(".500"), "send success");
}

TEST(Call, AHedgeIsSentBesideABreakerThatIsCalm) {
  Policy p = hedging();
  p.breaker.emplace();
  Dependency dependency("test", p);
  warm(dependency);
  EXPECT_EQ(Player(dependency).play(".100.5"), "send hedge cancel0 success");
}

TEST(Call, ABreakerAndAThrottleThatAReloadRemovedSuppressNoHedge) {
  Policy p = hedging();
  p.breaker = {.consecutive_failures = 1, .open_base = 1h, .open_cap = 1h};
  p.throttle = {.minimum_volume = 1};
  Dependency dependency("test", p);
  warm(dependency);
  for (int i = 0; i < 300; ++i) {  // After them the throttle is active.
    (void)Player(dependency, {}, 0.999).play("t");
    (void)dependency.breaker().close(kStart);
  }
  (void)dependency.breaker().trip(kStart, 0);
  ASSERT_FALSE(dependency.breaker().calm(kStart));
  ASSERT_TRUE(dependency.throttle().active(kStart));
  dependency.reload(hedging(), kStart);
  EXPECT_EQ(Player(dependency).play(".100.5"), "send hedge cancel0 success");
}

TEST(Call, AHedgeThatTheLimitRefusesIsRefundedToTheBudgetOfHedges) {
  Policy p = hedging();
  p.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  Dependency dependency("test", p);
  warm(dependency);
  (void)Player(dependency).play(".5");
  const double hedges = dependency.hedge_budget().balance(kStart);
  const double retries = dependency.budget().balance(kStart);
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  const double earned = dependency.hedge_budget().balance(kStart) - hedges;
  call.on_timer(call.step().wake, 0.5);
  EXPECT_FALSE(call.step().sends);
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1u);
  EXPECT_EQ(dependency.hedge_budget().balance(kStart), hedges + earned);
  EXPECT_GE(dependency.budget().balance(kStart), retries);
  call.on_cancel(kStart);
}

TEST(Call, TrapH6_AWriteIsNotHedgedAlthoughItMayBeRepeated) {
  Dependency dependency("test", hedging());
  warm(dependency);
  const CallOptions write = {.request = {.idempotent = true}};
  EXPECT_EQ(Player(dependency, write).play(".100"), "send success");
  EXPECT_EQ(Player(dependency, write).play("t100."), "send wait12 send success");
  EXPECT_EQ(dependency.tally().hedges, 0u);
  EXPECT_FALSE(Call(dependency, write).may_hedge());
  EXPECT_FALSE(Call(dependency, {.request = {.safe = true}}).may_hedge());  // Forbidden by word.
  EXPECT_TRUE(Call(dependency, kRead).may_hedge());
}

TEST(Call, AnUnsafeOrOwnedRequestIsNeverHedged) {
  Dependency dependency("test", hedging());
  warm(dependency);
  EXPECT_EQ(Player(dependency, {}).play(".100"), "send success");
  CallOptions owned = kRead;
  owned.request.owned_above = true;
  EXPECT_EQ(Player(dependency, owned).play(".100"), "send success");
}

TEST(Call, TrapH2_ASpentBudgetSuppressesTheNewHedgeNotThoseUnderWay) {
  Policy p = hedging();
  p.budget = {.percent = Percent(0), .reserve = 1};
  Dependency dependency("test", p);
  warm(dependency);
  Call call(dependency, kRead);
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

TEST(Call, AHedgeWithoutBudgetAsksAgainWhenItHasWaitedAsLongAgain) {
  Policy p = hedging(3);
  p.call.max_attempts = 6;
  p.budget = {.percent = Percent(50), .reserve = 0};
  Dependency dependency("test", p);
  warm(dependency);
  const auto spend = [&] {
    while (dependency.budget().try_withdraw(kStart, 1)) {
    }
  };
  spend();
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  const auto wake = [&] {
    const Instant due = call.step().wake;
    call.on_timer(due, 0.5);
    return due;
  };
  const Instant due = wake();
  EXPECT_FALSE(call.step().sends);
  EXPECT_EQ(call.step().wake, due + (due - kStart));
  wake();
  EXPECT_FALSE(call.step().sends);
  EXPECT_EQ(call.step().wake, kStart + 4 * (due - kStart));
  pay_for_hedges(dependency);
  wake();
  EXPECT_TRUE(call.step().sends);
  EXPECT_TRUE(call.step().attempt.hedge);
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1u);

  // As long as the youngest in flight: the third hedge is sent in the first one's lane, and fails.
  const Instant second = wake();
  call.on_outcome(1, {.outcome = Outcome::transient}, second, 0.5);
  const Instant third = wake();
  ASSERT_EQ(call.step().attempt.lane, 1);
  call.on_outcome(1, {.outcome = Outcome::transient}, third, 0.5);
  spend();
  const Instant fourth = wake();
  EXPECT_FALSE(call.step().sends);
  EXPECT_EQ(call.step().wake, fourth + (fourth - second));
  EXPECT_EQ(dependency.tally().hedges_suppressed, 2u);
  call.on_cancel(kStart + 1s);
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
  EXPECT_EQ(Player(dependency, kRead, 0.0).play(".100"), "send success");
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1u);
}

TEST(Call, TrapH3_NoHedgingWhileTheThrottleIsActive) {
  Policy p = hedging();
  p.throttle.emplace();
  Dependency dependency("test", p);
  warm(dependency);
  EXPECT_EQ(Player(dependency).play(".100.5"), "send hedge cancel0 success");
  while (!dependency.throttle().active(kStart)) dependency.throttle().on_reject(kStart);
  EXPECT_EQ(Player(dependency, kRead, 0.9).play(".100"), "send success");
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
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  call.on_timer(call.step().wake, 0.5);
  EXPECT_FALSE(call.step().sends);
  EXPECT_EQ(call.step().wake, kStart + 1s);  // It does not ask again: only a budget fills.
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1u);
  call.on_cancel(kStart + 1s);
}

}  // namespace
}  // namespace damper::engine
