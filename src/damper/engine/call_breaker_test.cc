#include <gtest/gtest.h>

#include "damper/engine/crowd_testing.h"
#include "damper/engine/policy.h"

namespace damper::engine {
namespace {

// The breaker under calls: probes that hang, and probes that are slow.

using namespace std::chrono_literals;
using admit::BreakerState;
using decide::Outcome;

Crowd::Answer hangs(std::uint64_t /*call*/, const Attempt& /*attempt*/) { return Crowd::kHangs; }
Crowd::Service answers_after(Duration latency) {
  return [latency](std::uint64_t, const Attempt&) {
    return Crowd::Answer{Outcome::success, latency};
  };
}

Policy with_breaker(Duration timeout) {
  Policy policy;
  policy.call.timeout = timeout;
  policy.breaker.emplace();
  return policy;
}

// Trips it with failures that take no time.
void trip(Crowd& crowd, Dependency& dependency) {
  crowd.run(100, 2s,
            [](std::uint64_t, const Attempt&) { return Crowd::Answer{Outcome::transient}; });
  ASSERT_EQ(dependency.breaker().state(crowd.now()), BreakerState::open);
  crowd.forget();
}

TEST(CallBreaker, TrapC7_AnHourThatHangsIsProbedAtTheOpenTimeThatGrows) {
  for (const Duration timeout : {1s, 5s, 10s, 60s}) {
    Dependency dependency("d", with_breaker(timeout));
    Crowd crowd(dependency);
    crowd.run(20, 1h, hangs);
    // The calls until the first timeout and some more, and then up to `probes` in each open time,
    // of 15 s at least.
    const std::int64_t most = 20 * (timeout / 1s + 1) + 3 * 3600 / 15;
    EXPECT_LE(crowd.attempts(), std::min<std::int64_t>(most, timeout <= 5s ? 525 : most));
    EXPECT_NE(dependency.breaker().state(crowd.now()), BreakerState::closed);
    crowd.forget();
    crowd.run(20, 10min, hangs);
    EXPECT_LE(crowd.attempts(), 10 * 60 / 15 * 3) << timeout / 1s;
  }
}

TEST(CallBreaker, TrapC7_AHealthyDependencyThatTakesSixSecondsClosesIt) {
  for (const Duration timeout : {7s, 10s, 60s}) {
    Dependency dependency("d", with_breaker(timeout));
    Crowd crowd(dependency);
    trip(crowd, dependency);
    crowd.run(20, 40s, answers_after(6s));
    EXPECT_EQ(dependency.breaker().state(crowd.now()), BreakerState::closed) << timeout / 1s;
    crowd.forget();
    crowd.run(20, 60s, answers_after(6s));
    EXPECT_EQ(crowd.attempts(), crowd.calls());
  }
}

TEST(CallBreaker, AHealthyDependencyThatIsSlowerThanTheLeaseClosesItToo) {
  Policy policy = with_breaker(10s);
  policy.breaker->probe_lease = 5s;
  Dependency dependency("d", policy);
  Crowd crowd(dependency);
  trip(crowd, dependency);
  crowd.run(20, 60s, answers_after(6s));
  EXPECT_EQ(dependency.breaker().state(crowd.now()), BreakerState::closed);
}

TEST(CallBreaker, ALeaseUnderTheTimeoutDoesNotKeepItHalfOpenInAHang) {
  Policy policy = with_breaker(10s);
  policy.breaker->probe_lease = 5s;
  Dependency dependency("d", policy);
  Crowd crowd(dependency);
  crowd.run(20, 10min, hangs);
  crowd.forget();
  crowd.run(20, 50min, hangs);
  EXPECT_LE(crowd.attempts(), 50 * 60 / 15 * 3);
  EXPECT_NE(dependency.breaker().state(crowd.now()), BreakerState::closed);
}

TEST(CallBreaker, TheLeaseFollowsFromTheTimeoutOfAnAttempt) {
  CallPolicy call;
  EXPECT_EQ(derived_lease(call), 7500ms);
  call.reserve = 1s;
  EXPECT_EQ(derived_lease(call), 6s);
  call.per_try_timeout = 100ms;
  EXPECT_EQ(derived_lease(call), 150ms);
  call.per_try_timeout = 10s;  // Over the call's.
  EXPECT_EQ(derived_lease(call), 6s);
  call = {};
  call.timeout = Duration{1};
  EXPECT_EQ(derived_lease(call), 1ms);
  call.timeout = kLongest;
  EXPECT_EQ(derived_lease(call), 1h);
}

TEST(CallBreaker, AReloadDerivesTheLeaseAnew) {
  Dependency dependency("d", with_breaker(100ms));
  dependency.reload(with_breaker(10s), Crowd::kStart);
  Crowd crowd(dependency);
  trip(crowd, dependency);
  crowd.run(20, 40s, answers_after(6s));
  EXPECT_EQ(dependency.breaker().state(crowd.now()), BreakerState::closed);
}

}  // namespace
}  // namespace damper::engine
