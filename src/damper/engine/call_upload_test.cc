#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <deque>

#include "damper/engine/call.h"

// An incomplete request holds nothing that others need: see docs/design/0035 and 0038.

namespace damper::engine {
namespace {

using admit::BreakerState;
using decide::Outcome;
using namespace std::chrono_literals;

constexpr Instant kNow{std::chrono::hours(1)};

Policy with_limit(std::int32_t limit) {
  Policy policy;
  policy.call.max_attempts = 1;
  policy.limit = {.kind = admit::LimitKind::fixed, .initial = limit};
  return policy;
}

// A breaker that is half-open at kNow, with room for one probe.
Policy with_breaker() {
  Policy policy;
  policy.call.max_attempts = 1;
  policy.breaker = {.consecutive_failures = 1,
                    .open_base = 100ms,
                    .open_cap = 100ms,
                    .probes = 1,
                    .probe_lease = 1s,
                    .ramp = 0ms};
  return policy;
}
void open_breaker(Dependency& dependency) {
  Call call(dependency, {});
  call.start(kNow - 1s, 0.5);
  call.on_outcome(0, {.outcome = Outcome::transient}, kNow - 1s, 0.5);
  ASSERT_EQ(dependency.breaker().state(kNow), BreakerState::half_open);
}

Call& begin_upload(std::deque<Call>& calls, Dependency& dependency, Instant now = kNow) {
  Call& call = calls.emplace_back(dependency, CallOptions{});
  call.on_upload_awaited(now);
  call.start(now, 0.5);
  return call;
}
Verdict honest(Dependency& dependency, Instant now = kNow) {
  Call call(dependency, {});
  call.start(now, 0.5);
  if (!call.step().over()) call.on_success(0, now + 1ms);
  return call.step().verdict;
}

TEST(Call, TrapS3_UploadsThatStallFillNoLimit) {
  Dependency dependency("d", with_limit(1));
  std::deque<Call> stalled;
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(begin_upload(stalled, dependency).step().sends) << i;
    ASSERT_EQ(dependency.limit().in_flight(), 0);
    ASSERT_EQ(honest(dependency), Verdict::success) << i;
  }
  for (Call& call : stalled) call.on_timer(call.step().wake, 0.5);
  EXPECT_EQ(dependency.limit().in_flight(), 0);
}

TEST(Call, ACompleteUploadTakesItsSlot) {
  Dependency dependency("d", with_limit(1));
  std::deque<Call> calls;
  Call& first = begin_upload(calls, dependency);
  Call& second = begin_upload(calls, dependency);
  first.on_upload_complete(kNow + 1s, 0.5);
  EXPECT_FALSE(first.step().over());
  EXPECT_EQ(dependency.limit().in_flight(), 1);
  EXPECT_EQ(honest(dependency, kNow + 1s), Verdict::limited);
  second.on_upload_complete(kNow + 1s, 0.5);
  EXPECT_EQ(second.step().verdict, Verdict::limited);
  EXPECT_EQ(second.step().cancels, 1);
  EXPECT_EQ(dependency.limit().in_flight(), 1);
  first.on_success(0, kNow + 2s);
  EXPECT_EQ(dependency.limit().in_flight(), 0);
}

TEST(Call, AFullLimitRefusesAnUploadAtItsStart) {
  Dependency dependency("d", with_limit(1));
  Call running(dependency, {});
  running.start(kNow, 0.5);
  std::deque<Call> calls;
  EXPECT_EQ(begin_upload(calls, dependency).step().verdict, Verdict::limited);
  EXPECT_EQ(dependency.limit().in_flight(), 1);
  running.on_cancel(kNow);
}

// It waits while the attempt is in flight, or in a backoff, or before it started.
TEST(Call, AnUploadMayBeginAndEndAtAnyTime) {
  Policy policy = with_limit(1);
  policy.call.max_attempts = 2;
  Dependency dependency("d", policy);
  Call call(dependency, {.request = {.idempotent = true}});
  call.start(kNow, 0.5);
  EXPECT_EQ(dependency.limit().in_flight(), 1);
  call.on_upload_awaited(kNow);
  call.on_upload_awaited(kNow);
  EXPECT_EQ(dependency.limit().in_flight(), 0);
  call.on_upload_blocked(kNow);  // The dependency's time, and still no complete request.
  EXPECT_EQ(dependency.limit().in_flight(), 0);
  call.on_outcome(0, {.outcome = Outcome::transient}, kNow + 1ms, 0.5);
  EXPECT_EQ(dependency.limit().in_flight(), 0);
  call.on_upload_complete(kNow + 2ms, 0.5);
  ASSERT_FALSE(call.step().over());
  call.on_timer(call.step().wake, 0.5);
  ASSERT_TRUE(call.step().sends);
  EXPECT_EQ(dependency.limit().in_flight(), 1);
  call.on_upload_complete(call.step().attempt.sent, 0.5);  // Again: no effect.
  EXPECT_EQ(dependency.limit().in_flight(), 1);
  call.on_success(call.step().attempt.lane, kNow + 1s);
  EXPECT_EQ(dependency.limit().in_flight(), 0);
}

TEST(Call, TrapS3_UploadsThatStallAreNoProbes) {
  Dependency dependency("d", with_breaker());
  open_breaker(dependency);
  std::deque<Call> stalled;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(begin_upload(stalled, dependency).step().sends) << i;
  EXPECT_EQ(dependency.breaker().state(kNow + 2s), BreakerState::half_open);  // No lease expired.
  EXPECT_EQ(honest(dependency, kNow + 2s), Verdict::success);
  EXPECT_EQ(dependency.breaker().state(kNow + 2s), BreakerState::closed);
}

TEST(Call, ACompleteUploadIsAProbe) {
  Dependency dependency("d", with_breaker());
  open_breaker(dependency);
  std::deque<Call> calls;
  Call& first = begin_upload(calls, dependency);
  Call& second = begin_upload(calls, dependency);
  first.on_upload_complete(kNow + 1s, 0.5);
  EXPECT_FALSE(first.step().over());
  second.on_upload_complete(kNow + 1s, 0.5);
  EXPECT_EQ(second.step().verdict, Verdict::breaker_open);  // The one lease is out.
  first.on_success(0, kNow + 1s);
  EXPECT_EQ(dependency.breaker().state(kNow + 1s), BreakerState::closed);
}

TEST(Call, ARefusedLimitReturnsTheLeaseOfAProbe) {
  Policy policy = with_breaker();
  policy.limit = with_limit(1).limit;
  Dependency dependency("d", policy);
  open_breaker(dependency);
  std::deque<Call> calls;
  Call& upload = begin_upload(calls, dependency);
  ASSERT_TRUE(dependency.limit().try_acquire());  // A neighbour.
  upload.on_upload_complete(kNow, 0.5);
  EXPECT_EQ(upload.step().verdict, Verdict::limited);
  dependency.limit().release_ignored();
  EXPECT_EQ(honest(dependency), Verdict::success);  // With the lease.
}

// Two attempts, of which the second is refused: the first returns its slot.
TEST(Call, AllAttemptsInFlightReturnOrNone) {
  Policy policy = with_limit(3);
  policy.call.hedge = {.max_hedges = 1, .floor = 10ms, .min_samples = 1, .ratio = Percent(100)};
  policy.call.max_attempts = 2;
  Dependency dependency("d", policy);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(honest(dependency, kNow - 1s), Verdict::success);
  Call call(dependency, {.request = {.idempotent = true, .safe = true}});
  call.start(kNow, 0.5);
  call.on_timer(call.step().wake, 0.5);
  ASSERT_TRUE(call.step().sends && call.step().attempt.hedge);
  call.on_upload_awaited(kNow + 20ms);
  ASSERT_TRUE(dependency.limit().try_acquire() && dependency.limit().try_acquire());
  call.on_upload_complete(kNow + 1s, 0.5);
  EXPECT_EQ(call.step().verdict, Verdict::limited);
  EXPECT_EQ(call.step().cancels, 3);
  EXPECT_EQ(dependency.limit().in_flight(), 2);  // The neighbours.
}

// It is the caller that is late. Else stalled uploads spend the budget of honest hedges.
TEST(Call, AnIncompleteRequestIsHedgedOnceItIsComplete) {
  Policy policy;
  policy.call.hedge = {.max_hedges = 1, .floor = 10ms, .min_samples = 1, .ratio = Percent(100)};
  Dependency dependency("d", policy);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(honest(dependency, kNow - 1s), Verdict::success);
  Call call(dependency, {.request = {.idempotent = true, .safe = true}});
  call.on_upload_awaited(kNow);
  call.start(kNow, 0.5);
  const Instant due = call.step().wake;
  ASSERT_LT(due, kNow + 1s);
  call.on_timer(due, 0.5);
  EXPECT_FALSE(call.step().sends);
  call.on_upload_complete(kNow + 3s, 0.5);
  EXPECT_GT(call.step().wake, kNow + 3s);
  EXPECT_LT(call.step().wake, kNow + 4s);
  call.on_timer(call.step().wake, 0.5);
  ASSERT_TRUE(call.step().sends && call.step().attempt.hedge);
  // The hedge wins: the other attempt has at least the latency since the end of the upload.
  call.on_success(1, kNow + 3500ms);
  EXPECT_LT(dependency.latencies().quantile(Percent(100), kNow + 4s).value_or(0ms), 600ms);
  EXPECT_GT(dependency.latencies().quantile(Percent(100), kNow + 4s).value_or(0ms), 400ms);
}

// (8): many uploads that began before the breaker opened must not all end in a dependency that is
// down.
TEST(Call, AnUploadThatBeganBeforeTheBreakerOpenedIsRefusedAtItsEnd) {
  Policy policy = with_breaker();
  policy.breaker->open_base = policy.breaker->open_cap = 1min;
  Dependency dependency("d", policy);
  std::deque<Call> calls;
  Call& upload = begin_upload(calls, dependency);
  Call failing(dependency, {});
  failing.start(kNow, 0.5);
  failing.on_outcome(0, {.outcome = Outcome::transient}, kNow, 0.5);
  ASSERT_EQ(dependency.breaker().state(kNow), BreakerState::open);
  upload.on_upload_complete(kNow + 1s, 0.5);
  EXPECT_EQ(upload.step().verdict, Verdict::breaker_open);
}

TEST(Call, AFailureDuringTheUploadCounts) {
  Dependency dependency("d", with_breaker());
  std::deque<Call> calls;
  begin_upload(calls, dependency).on_outcome(0, {.outcome = Outcome::transient}, kNow, 0.5);
  EXPECT_EQ(dependency.breaker().state(kNow), BreakerState::open);
}

}  // namespace
}  // namespace damper::engine
