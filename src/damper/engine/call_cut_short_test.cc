#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "damper/engine/crowd_testing.h"
#include "damper/engine/policy.h"

namespace damper::engine {
namespace {

// Attempts that the caller's deadline cuts short: whose failure is a timeout?

using namespace std::chrono_literals;
using admit::BreakerState;
using decide::Outcome;

constexpr Instant kNow{1000s};

Crowd::Answer never(std::uint64_t /*call*/, const Attempt& /*attempt*/) { return Crowd::kHangs; }
Crowd::Service in_100ms(Outcome outcome = Outcome::success) {
  return [outcome](std::uint64_t, const Attempt&) { return Crowd::Answer{outcome, 100ms}; };
}
std::function<Duration(std::uint64_t)> always(Duration time) {
  return [time](std::uint64_t) { return time; };
}

Policy with_breaker() {
  Policy policy;
  policy.breaker.emplace();
  return policy;
}

TEST(Call, TrapL5_ACallersShortDeadlineIsNoFailureOfTheDependency) {
  Policy policy = with_breaker();
  policy.throttle.emplace();
  policy.limit = {.kind = admit::LimitKind::aimd, .initial = 100, .min = 1};
  Dependency dependency("d", policy);
  Crowd crowd(dependency);
  crowd.give([](std::uint64_t call) { return call % 10 < 6 ? Duration{10ms} : Duration{5s}; });
  for (int i = 0; i < 60; ++i) {
    crowd.run(100, 1s, in_100ms());
    ASSERT_EQ(dependency.breaker().state(crowd.now()), BreakerState::closed) << i;
    ASSERT_EQ(dependency.throttle().reject_probability(crowd.now()), 0) << i;
    ASSERT_GE(dependency.limit().limit(), 100) << i;
  }
  crowd.finish(in_100ms());
  EXPECT_EQ(crowd.count(Verdict::success), 2400);
  EXPECT_EQ(crowd.count(Verdict::deadline_passed), 3600);  // To the call it is a timeout.
  EXPECT_GE(*dependency.latencies().quantile(Percent(1), crowd.now()), 99ms);  // Rounded.
}

TEST(Call, TrapL5_AHangIsSeenThroughShortDeadlines) {
  Dependency dependency("d", with_breaker());
  Crowd crowd(dependency);
  crowd.give(always(1s));
  crowd.run(20, 1min, in_100ms());
  crowd.forget();
  // A second, a half of the policy's 5 s, and until the failures are half of the window of 10 s.
  crowd.run(20, 10s, never);
  EXPECT_LE(crowd.attempts(), 20 * 7);
  crowd.forget();
  crowd.run(20, 1h, never);
  EXPECT_LE(crowd.attempts(), 525);  // As with the policy's own timeout.
  EXPECT_NE(dependency.breaker().state(crowd.now()), BreakerState::closed);
  crowd.run(20, 1min, in_100ms());
  crowd.forget();
  crowd.run(20, 10s, in_100ms());
  crowd.finish(in_100ms());
  EXPECT_GE(crowd.count(Verdict::success), 200);
  EXPECT_EQ(crowd.count(Verdict::breaker_open), 0);
}

// Whether an hour of a hang opens the breaker for callers with this deadline, after answers in
// 100 ms.
bool is_seen(Duration deadline, bool warm = true, const Crowd::Service& trouble = never) {
  Dependency dependency("d", with_breaker());
  Crowd crowd(dependency);
  if (warm) crowd.run(20, 10s, in_100ms());
  crowd.give(always(deadline));
  for (int i = 0; i < 60; ++i) {
    crowd.run(20, 1min, trouble);
    if (dependency.breaker().state(crowd.now()) != BreakerState::closed) return true;
  }
  return false;
}

TEST(Call, TrapL5_ADeadlineUnderTheLatencyShowsNoHang) {
  EXPECT_FALSE(is_seen(10ms));
  EXPECT_FALSE(is_seen(99ms));
  EXPECT_TRUE(is_seen(110ms));  // The histogram rounds up.
}

// Else those who send short deadlines to a slow dependency that nobody else calls open its breaker.
TEST(Call, TrapL5_BeforeAnyLatencyIsKnownNoShortDeadlineIsAmple) {
  EXPECT_FALSE(is_seen(4s, false));
  EXPECT_TRUE(is_seen(5s, false));  // The policy's own.
}

TEST(Call, TrapL5_AnyAnswerShowsThatTheDependencyIsNotSilent) {
  for (const Outcome outcome : {Outcome::success, Outcome::permanent, Outcome::conflict}) {
    EXPECT_FALSE(is_seen(1s, true, [&](std::uint64_t call, const Attempt&) {
      return call % 20 == 0 ? Crowd::Answer{outcome, 100ms} : Crowd::kHangs;
    })) << name(outcome);
  }
  // One in 5 s is too few: half of the policy's time passes without any.
  EXPECT_TRUE(is_seen(1s, true, [&](std::uint64_t call, const Attempt&) {
    return call % 100 == 0 ? Crowd::Answer{Outcome::success, 100ms} : Crowd::kHangs;
  }));
}

// The state of a breaker that trips at the first failure, after one call that times out.
BreakerState after_a_timeout(Policy policy, const CallOptions& options) {
  policy.call.max_attempts = 1;
  policy.breaker = {.consecutive_failures = 1};
  Dependency dependency("d", policy);
  Call call(dependency, options);
  call.start(kNow, 0.5);
  EXPECT_TRUE(call.step().sends);
  const Instant end = call.step().wake;
  call.on_timer(end, 0.5);
  EXPECT_TRUE(call.step().over());
  EXPECT_NE(call.step().verdict, Verdict::cancelled);
  return dependency.breaker().state(end);
}

TEST(Call, TrapL5_NearlyAllOfThePolicysTimeIsEnoughToBeAFailure) {
  const auto within = [](Duration time) {
    return CallOptions{.deadline = schedule::Deadline::in(time, kNow)};
  };
  EXPECT_EQ(after_a_timeout({}, {}), BreakerState::open);
  EXPECT_EQ(after_a_timeout({}, within(4500ms)), BreakerState::open);
  EXPECT_EQ(after_a_timeout({}, within(4500ms - 1ns)), BreakerState::closed);
  Policy policy;
  policy.call.reserve = 1s;  // Of both deadlines.
  EXPECT_EQ(after_a_timeout(policy, within(4600ms)), BreakerState::open);
  EXPECT_EQ(after_a_timeout(policy, within(4600ms - 1ns)), BreakerState::closed);
}

TEST(Call, TrapL5_TheTimeoutOfAnAttemptIsThePolicys) {
  Policy policy;
  policy.call.per_try_timeout = 1s;
  const auto within = [](Duration time) {
    return CallOptions{.deadline = schedule::Deadline::in(time, kNow)};
  };
  EXPECT_EQ(after_a_timeout(policy, within(1500ms)), BreakerState::open);
  EXPECT_EQ(after_a_timeout(policy, within(1s)), BreakerState::open);
  EXPECT_EQ(after_a_timeout(policy, within(900ms)), BreakerState::open);
  EXPECT_EQ(after_a_timeout(policy, within(900ms - 1ns)), BreakerState::closed);
}

TEST(Call, TrapL5_ARequestThatArrivedSlowlyIsCutShortToo) {
  EXPECT_EQ(after_a_timeout({}, {.arrived = kNow - 500ms}), BreakerState::open);
  EXPECT_EQ(after_a_timeout({}, {.arrived = kNow - 501ms}), BreakerState::closed);
}

// A client that stalls its upload, and a dependency that waits for the rest.
BreakerState after_an_upload(std::optional<Duration> ended, Duration per_try_timeout = {}) {
  Policy policy;
  policy.call.max_attempts = 1;
  policy.call.per_try_timeout = per_try_timeout;
  policy.breaker = {.consecutive_failures = 1};
  Dependency dependency("d", policy);
  Call call(dependency, {});
  call.on_upload_awaited(kNow);
  call.start(kNow, 0.5);
  if (ended) call.on_upload_complete(kNow + *ended, 0.5);
  const Instant end = call.step().wake;
  call.on_timer(end, 0.5);
  EXPECT_TRUE(call.step().over());
  EXPECT_EQ(call.step().cancels, 1);
  const BreakerState state = dependency.breaker().state(end);
  EXPECT_EQ(call.step().timeouts, state == BreakerState::open ? 1 : 0);
  return state;
}

TEST(Call, TrapL5_ATimeoutDuringTheUploadIsNoFailureOfTheDependency) {
  EXPECT_EQ(after_an_upload({}), BreakerState::closed);
  EXPECT_EQ(after_an_upload(501ms), BreakerState::closed);  // Of 5 s.
  EXPECT_EQ(after_an_upload(500ms), BreakerState::open);
  EXPECT_EQ(after_an_upload({}, 1s), BreakerState::closed);
  EXPECT_EQ(after_an_upload(101ms, 1s), BreakerState::closed);
  EXPECT_EQ(after_an_upload(100ms, 1s), BreakerState::open);
}

// A dependency that reads no more of a request has all that it takes.
TEST(Call, TrapL5_ADependencyThatTakesNoMoreIsBilledUntilItDoes) {
  Policy policy;
  policy.breaker = {.consecutive_failures = 1};
  Dependency dependency("d", policy);
  Call call(dependency, {});
  call.on_upload_awaited(kNow);
  call.start(kNow, 0.5);
  call.on_upload_blocked(kNow + 1ms);
  call.on_upload_awaited(kNow);
  call.on_upload_blocked(kNow + 3s);
  call.on_upload_blocked(kNow + 4s);  // The first one counts.
  call.on_success(0, kNow + 4s);
  EXPECT_EQ(call.step().verdict, Verdict::success);
  const std::optional<Duration> latency = dependency.latencies().quantile(Percent(50), kNow + 4s);
  ASSERT_TRUE(latency);
  EXPECT_GE(*latency, 990ms);  // Rounded.
  EXPECT_LE(*latency, 1020ms);
}

TEST(Call, TrapL5_AnAnswerDuringTheUploadShowsNoLatency) {
  Dependency dependency("d", with_breaker());
  Call call(dependency, {});
  call.on_upload_awaited(kNow);
  call.start(kNow, 0.5);
  call.on_success(0, kNow + 4s);
  EXPECT_FALSE(dependency.latencies().quantile(Percent(50), kNow + 4s));
}

Policy with_throttle() {
  Policy policy;
  policy.call.max_attempts = 1;
  policy.throttle = {.multiplier = Percent(100), .minimum_volume = 1, .max_rejected = Percent(100)};
  return policy;
}

// 0, or the share of one request that was rejected: 1 of 1 + 1.
double rejected(Dependency& dependency, Instant now) {
  return dependency.throttle().reject_probability(now);
}

TEST(Call, TrapL5_TheBooksOfTheThrottleBalanceHoweverAnUploadEnds) {
  const auto after = [](bool uploaded, auto end) {
    Dependency dependency("d", with_throttle());
    Call call(dependency, {});
    call.on_upload_awaited(kNow);
    call.start(kNow, 0.5);
    if (uploaded) call.on_upload_complete(kNow + 1s, 0.5);
    end(call);
    EXPECT_TRUE(call.step().over());
    return rejected(dependency, kNow + 2s);
  };
  for (const bool uploaded : {false, true}) {
    EXPECT_EQ(after(uploaded, [](Call& call) { call.on_cancel(kNow + 2s); }), 0) << uploaded;
    EXPECT_EQ(after(uploaded, [](Call& call) { call.on_success(0, kNow + 2s); }), 0) << uploaded;
    EXPECT_EQ(after(uploaded,
                    [](Call& call) {
                      call.on_outcome(0, {.outcome = Outcome::overload}, kNow + 2s, 0.5);
                    }),
              0.5)
        << uploaded;
  }
}

// 30 uploads that never end beside honest calls.
TEST(Call, TrapL5_UploadsThatStallThrottleNobody) {
  Dependency dependency("d", with_throttle());
  std::deque<Call> stalled;
  for (int i = 0; i < 30; ++i) {
    Call& call = stalled.emplace_back(dependency, CallOptions{});
    call.on_upload_awaited(kNow);
    call.start(kNow, 0.5);
    ASSERT_TRUE(call.step().sends) << i;
    Call honest(dependency, {});
    honest.start(kNow, 0);
    ASSERT_TRUE(honest.step().sends) << i;
    honest.on_success(0, kNow);
  }
}

// An answer of a server that respects a short deadline, such as 504.
TEST(Call, TrapL5_ATimeoutThatTheDriverReportsIsCutShortToo) {
  Policy policy;
  policy.breaker = {.consecutive_failures = 1};
  for (const Duration time : {4500ms, 4499ms}) {
    Dependency dependency("d", policy);
    Call call(dependency, {.deadline = schedule::Deadline::in(time, kNow)});
    call.start(kNow, 0.5);
    call.on_outcome(0, {.outcome = Outcome::timeout}, kNow + 1ms, 0.5);
    EXPECT_EQ(dependency.breaker().state(kNow + 1ms),
              time == 4500ms ? BreakerState::open : BreakerState::closed);
  }
}

TEST(Call, TrapL5_ARetryIsComparedWithWhatThePolicyLeavesIt) {
  Policy policy;
  policy.call.backoff.base = policy.call.backoff.cap = 1ms;
  policy.budget.reserve = 100;
  policy.breaker = {.consecutive_failures = 2};
  for (const Duration deadline : {4850ms, 4950ms}) {  // The policy leaves 1 s from 4 s on.
    Dependency dependency("d", policy);
    Call call(dependency, {.request = {.idempotent = true},
                           .deadline = schedule::Deadline::in(deadline, kNow)});
    call.start(kNow, 0.5);
    call.on_outcome(0, {.outcome = Outcome::transient}, kNow + 4s, 0);
    call.on_timer(call.step().wake, 0.5);
    ASSERT_TRUE(call.step().sends);
    call.on_timer(kNow + deadline, 0.5);
    EXPECT_EQ(call.step().verdict, Verdict::deadline_passed);
    EXPECT_EQ(dependency.breaker().state(kNow + deadline),
              deadline == 4950ms ? BreakerState::open : BreakerState::closed);
  }
}

TEST(Call, TrapL5_HoldsForASmallDependency) {
  Policy policy = with_breaker();
  policy.breaker->probes = 1;
  SmallDependency dependency("d", policy);
  Instant now = kNow;
  const auto call_for = [&](Duration deadline, bool answers) {
    SmallCall call(dependency, {.deadline = schedule::Deadline::in(deadline, now)});
    call.start(now, 0.5);
    now += answers ? 100ms : deadline;
    if (call.step().over()) return;
    answers ? call.on_success(0, now) : call.on_timer(now, 0.5);
  };
  for (int i = 0; i < 100; ++i) call_for(5s, true);
  for (int i = 0; i < 1000; ++i) call_for(399ms, false);  // Under four times the mean.
  EXPECT_EQ(dependency.breaker().state(now), BreakerState::closed);
  call_for(5s, true);
  for (int i = 0; i < 100; ++i) call_for(400ms, false);
  EXPECT_NE(dependency.breaker().state(now), BreakerState::closed);
}

// One call that starts so long before `end`, and has no answer until then.
template <class Machine = Call, class AnyDependency>
void cut_short(AnyDependency& dependency, Duration had, Instant end) {
  const Instant begin = end - had;
  Machine call(dependency, {.deadline = schedule::Deadline::in(had, begin)});
  call.start(begin, 0.5);
  call.on_timer(end, 0.5);
}

TEST(Call, TrapL5_ASilenceOfHalfOfThePolicysTimeIsAHang) {
  constexpr Duration kTick{1 << 20};  // Of the silence's clock.
  constexpr Instant kFirst{1'000'000 * kTick};
  for (const std::int64_t ticks : {4095, 4096}) {
    Policy policy;
    policy.call.timeout = 8192 * kTick;  // 8.6 s
    policy.breaker = {.consecutive_failures = 1};
    Dependency dependency("d", policy);
    for (int i = 0; i < 100; ++i) {  // 2 s are ample.
      Call call(dependency, {});
      call.start(kFirst - 3s, 0.5);
      call.on_success(0, kFirst - 3s + 100ms);
    }
    cut_short(dependency, 2s, kFirst);
    EXPECT_EQ(dependency.breaker().state(kFirst), BreakerState::closed);
    cut_short(dependency, 2s, kFirst + ticks * kTick);
    EXPECT_EQ(dependency.breaker().state(kFirst + ticks * kTick),
              ticks == 4096 ? BreakerState::open : BreakerState::closed);
  }
}

TEST(Call, TrapL5_WhatIsAmpleIsLearnedWhenTheSilenceBegins) {
  Policy policy;
  policy.call.max_attempts = 1;
  policy.breaker = {.failure_rate = Percent(100), .consecutive_failures = 101};
  Dependency dependency("d", policy);
  for (int i = 0; i < 300; ++i) {  // Two slow ones are no reason to wait longer.
    const Duration latency = i % 150 == 0 ? 2s : 100ms;
    Call call(dependency, {});
    call.start(kNow - 3s, 0.5);
    call.on_success(0, kNow - 3s + latency);
  }
  cut_short(dependency, 200ms, kNow);
  for (int i = 0; i < 100; ++i) cut_short(dependency, 5s, kNow + 3s);  // Not cut.
  ASSERT_EQ(dependency.breaker().state(kNow + 3s), BreakerState::closed);
  cut_short(dependency, 200ms, kNow + 3s);
  EXPECT_EQ(dependency.breaker().state(kNow + 3s), BreakerState::open);
}

TEST(Call, TrapL5_BeforeASmallDependencyKnowsALatencyNoneIsAmpleEither) {
  for (const Duration had : {4s, 5s}) {
    Policy policy;
    policy.breaker = {.consecutive_failures = 1, .probes = 1};
    SmallDependency dependency("d", policy);
    for (const Duration later : {0s, 3s}) cut_short<SmallCall>(dependency, had, kNow + later);
    EXPECT_EQ(dependency.breaker().state(kNow + 3s) == BreakerState::closed, had == 4s);
  }
}

// A service that needs a little less than the policy's time would be reported as failed.
TEST(Call, TrapS1_AStrangersDeadlineIsNeverThePolicys) {
  const auto within = [](Duration time) {
    return CallOptions{.deadline = schedule::Deadline::in(time, kNow), .from_stranger = true};
  };
  EXPECT_EQ(after_a_timeout({}, within(5s - 1ns)), BreakerState::closed);
  EXPECT_EQ(after_a_timeout({}, within(5s)), BreakerState::open);
  EXPECT_EQ(after_a_timeout({}, {.arrived = kNow - 100ms, .from_stranger = true}),
            BreakerState::open);
  Policy policy;
  policy.call.per_try_timeout = 1s;  // The policy's as well, whatever the deadline is.
  EXPECT_EQ(after_a_timeout(policy, within(2s)), BreakerState::open);
  EXPECT_EQ(after_a_timeout(policy, within(1s - 1ns)), BreakerState::closed);
}

// A stranger who calls a slow path of a quiet dependency is the only one who calls it: its silence
// is the stranger's doing.
TEST(Call, TrapS1_AStrangersDeadlineShowsNoHang) {
  for (const bool stranger : {false, true}) {
    Policy policy;
    policy.breaker = {.consecutive_failures = 1};
    Dependency dependency("d", policy);
    Crowd crowd(dependency);
    crowd.run(20, 10s, in_100ms());
    crowd.finish(in_100ms());
    Instant now = crowd.now();
    for (int i = 0; i < 10; ++i) {
      Call call(dependency,
                {.deadline = schedule::Deadline::in(1s, now), .from_stranger = stranger});
      call.start(now, 0.5);
      now += 1s;
      if (!call.step().over()) call.on_timer(now, 0.5);
    }
    EXPECT_EQ(dependency.breaker().state(now),
              stranger ? BreakerState::closed : BreakerState::open);
  }
}

TEST(Call, TrapL5_AnAdaptiveTimeoutIsThePolicysHoweverShort) {
  Policy policy;
  policy.call.adaptive_timeout.on = true;
  policy.breaker = {.consecutive_failures = 1};
  Dependency dependency("d", policy);
  Crowd crowd(dependency);
  crowd.run(100, 20s, in_100ms());
  crowd.finish(in_100ms());
  Call call(dependency, {});
  call.start(crowd.now(), 0.5);
  const Instant end = call.step().wake;
  ASSERT_LT(end - crowd.now(), 1s);
  call.on_timer(end, 0.5);
  EXPECT_EQ(dependency.breaker().state(end), BreakerState::open);
}

}  // namespace
}  // namespace damper::engine
