#include <gtest/gtest.h>

#include "damper/engine/call_player_testing.h"

namespace damper::engine {
namespace {

// What a call reports to the shared parts, and what it gives back: one test for each line of Call
// that only the golden traces of the lab noticed.

using namespace std::chrono_literals;
using decide::Outcome;

constexpr Instant kStart = Player::kStart;

// From now on nearly all are refused.
void close_throttle(Dependency& dependency, Instant now) {
  for (int i = 0; i < 999; ++i) dependency.throttle().on_reject(now);
}

Policy throttled() {
  Policy p = scripted_policy();
  p.throttle = {.minimum_volume = 1, .max_rejected = Percent(100)};
  return p;
}

TEST(Call, ARefusalOfTheThrottleGivesThePlaceOfTheLimitAndTheProbeBack) {
  Policy p = throttled();
  p.limit = {.kind = admit::LimitKind::fixed, .initial = 5};
  p.breaker = {.consecutive_failures = 1, .open_base = 1s, .probes = 1};
  Dependency dependency("test", p);
  (void)Player(dependency, {}, 0.0).play("t", kStart - 2s);
  close_throttle(dependency, kStart);
  EXPECT_EQ(Player(dependency, {}, 0.0).play(""), "throttled");
  EXPECT_EQ(dependency.limit().in_flight(), 0);
  EXPECT_TRUE(dependency.breaker().try_admit(kStart, 0).admitted);  // The one probe.
}

TEST(Call, ARefusalOfTheLimitGivesTheProbeBack) {
  Policy p = scripted_policy();
  p.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  p.breaker = {.consecutive_failures = 1, .open_base = 1s, .probes = 1};
  Dependency dependency("test", p);
  (void)Player(dependency, {}, 0.0).play("t", kStart - 2s);
  ASSERT_TRUE(dependency.limit().try_acquire());
  EXPECT_EQ(Player(dependency, {}, 0.0).play(""), "limited");
  EXPECT_TRUE(dependency.breaker().try_admit(kStart, 0).admitted);
}

TEST(Call, ARetryThatTheThrottleRefusesIsNotWaitedForAndCostsNothing) {
  Dependency dependency("test", throttled());
  Call call(dependency, kRead);
  call.start(kStart, 0.0);
  close_throttle(dependency, kStart);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.0);
  EXPECT_EQ(call.step().verdict, Verdict::throttled);
  EXPECT_EQ(dependency.budget().balance(kStart), 110.0);  // The reserve, and the request's own.
}

TEST(Call, ARetryThatIsWokenTooLateIsNotSentAndIsRefunded) {
  Dependency dependency("test", scripted_policy());
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5);
  EXPECT_EQ(dependency.budget().balance(kStart), 109.0);
  call.on_timer(kStart + 999'500us, 0.5);
  EXPECT_EQ(call.step().verdict, Verdict::deadline_too_close);
  EXPECT_EQ(dependency.budget().balance(kStart + 999'500us), 110.0);
  EXPECT_EQ(dependency.tally().all_retries(), 0u);
}

TEST(Call, NoHedgeIsSentWithLessTimeThanAnAttemptNeeds) {
  Policy p = hedging();
  p.call.needed = 995ms;  // Of 1 s; a hedge is due after 10 ms and a bit.
  Dependency dependency("test", p);
  warm(dependency);
  EXPECT_EQ(Player(dependency).play(".900"), "send success");
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1u);
  p.call.needed = 980ms;
  dependency.reload(p, kStart);
  EXPECT_EQ(Player(dependency).play(".900.1"), "send hedge cancel0 success");
}

TEST(Call, NoHedgeIsSentEarlierThanTheServerSaid) {
  Policy p = hedging(2);
  p.call.max_attempts = 4;
  Dependency dependency("test", p);
  warm(dependency);
  pay_for_hedges(dependency);
  EXPECT_EQ(Player(dependency).play(".100t5+500"), "send hedge success");
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1u);

  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  const Instant first = call.step().wake;
  call.on_timer(first, 0.5);
  const Instant second = call.step().wake;
  call.on_outcome(1, {.outcome = Outcome::transient, .retry_after = second - first}, first, 0.5);
  call.on_timer(second, 0.5);  // The instant that the server named.
  EXPECT_TRUE(call.step().sends);
  call.on_cancel(second);
}

TEST(Call, AHedgeGivesItsPlaceUnderTheConcurrencyBoundBack) {
  Policy p = hedging();
  p.budget.min_retry_concurrency = 1;
  p.budget.percent = Percent(1);
  Dependency dependency("test", p);
  warm(dependency);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Player(dependency).play(".100.5"), "send hedge cancel0 success") << i;
    EXPECT_EQ(Player(dependency).play(".30.50"), "send hedge cancel1 success") << i;
  }
}

TEST(Call, ATimeoutIsALatencyAndAQuickFailureIsNone) {
  Dependency dependency("test", scripted_policy());
  for (int i = 0; i < 10; ++i) (void)Player(dependency, {}).play(".10");
  for (int i = 0; i < 10; ++i) (void)Player(dependency, {}).play("t500");
  EXPECT_LT(*dependency.latencies().quantile(Percent(99), kStart + 1s), 20ms);
  for (int i = 0; i < 10; ++i) (void)Player(dependency, {}).play("T500");
  EXPECT_GT(*dependency.latencies().quantile(Percent(99), kStart + 1s), 400ms);
}

TEST(Call, OnlyATimeoutOrAnOverloadIsADropForTheLimit) {
  Policy p = scripted_policy();
  p.call.max_attempts = 1;
  p.limit = {.kind = admit::LimitKind::aimd, .initial = 20};
  Dependency dependency("test", p);
  const auto play_ten = [&](const char* script) {
    for (int i = 0; i < 10; ++i) (void)Player(dependency, {}).play(script);
    return dependency.limit().limit();
  };
  EXPECT_EQ(play_ten("t"), 20);  // Of a failure that is no drop nothing is known.
  EXPECT_EQ(play_ten("u"), 20);
  EXPECT_EQ(play_ten("p"), 20);  // An answer, with little of the limit in use.
  EXPECT_EQ(play_ten("o"), 14);
  EXPECT_EQ(play_ten("T"), 9);
  EXPECT_EQ(dependency.limit().in_flight(), 0);
}

}  // namespace
}  // namespace damper::engine
