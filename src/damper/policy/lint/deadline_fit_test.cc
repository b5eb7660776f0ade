#include "damper/policy/lint/deadline_fit.h"

#include <gtest/gtest.h>

namespace damper::policy {
namespace {

using namespace std::chrono_literals;
using schedule::Jitter;

engine::CallPolicy call(Duration timeout, Duration per_try, int attempts, Jitter jitter) {
  engine::CallPolicy call;
  call.timeout = timeout;
  call.per_try_timeout = per_try;
  call.max_attempts = attempts;
  call.backoff = {.jitter = jitter, .base = 100ms, .cap = 2s};
  call.needed = 0ms;
  return call;
}

// Attempts start at 0, 900 and 1900 ms at worst.
TEST(DeadlineFit, AtWorstAnAttemptCountsThatHasAllOfItsTime) {
  engine::CallPolicy policy = call(2700ms, 800ms, 3, Jitter::full);
  EXPECT_EQ(deadline_fit(policy).worst, 3);  // Just so.
  policy.reserve = 1ms;
  EXPECT_EQ(deadline_fit(policy).worst, 2);
  policy.timeout = 1700ms;
  EXPECT_EQ(deadline_fit(policy).worst, 1);
  EXPECT_EQ(deadline_fit(policy).best, 3);
  policy.timeout = 2700ms;
  policy.reserve = 0ms;
  policy.needed = 801ms;
  EXPECT_EQ(deadline_fit(policy).worst, 2);
}

// Waits of 100 and 200 ms.
TEST(DeadlineFit, AtBestAnAttemptCountsThatTheEngineWouldStart) {
  engine::CallPolicy policy = call(400ms, 0s, 3, Jitter::none);
  policy.needed = 100ms;
  EXPECT_EQ(deadline_fit(policy).best, 3);  // Just so.
  policy.needed = 101ms;
  EXPECT_EQ(deadline_fit(policy).best, 2);
  policy.needed = 100ms;
  policy.reserve = 1ms;
  EXPECT_EQ(deadline_fit(policy).best, 2);
}

TEST(DeadlineFit, KnowsWhetherATimeoutLeavesTimeForARetry) {
  engine::CallPolicy policy = call(1s, 800ms, 3, Jitter::equal);  // A wait of at least 50 ms.
  policy.needed = 150ms;
  EXPECT_TRUE(deadline_fit(policy).retries_timeouts);
  EXPECT_EQ(deadline_fit(policy).worst, 1);
  policy.needed = 151ms;
  EXPECT_FALSE(deadline_fit(policy).retries_timeouts);
  policy.needed = 150ms;
  policy.reserve = 1ms;
  EXPECT_FALSE(deadline_fit(policy).retries_timeouts);
}

TEST(DeadlineFit, SaysWhichTimeoutWouldDo) {
  engine::CallPolicy policy = call(2s, 800ms, 3, Jitter::full);
  EXPECT_EQ(deadline_fit(policy).wanted, 2700ms);  // 3 * 800 + 100 + 200
  policy.reserve = 50ms;
  EXPECT_EQ(deadline_fit(policy).wanted, 2750ms);
  policy.timeout = 2750ms;
  EXPECT_EQ(deadline_fit(policy).worst, 3);
}

// Waits of at least 100, 200, 400, 800 ms.
TEST(DeadlineFit, WithoutJitterTheWaitsAreTheSameAtBest) {
  EXPECT_EQ(deadline_fit(call(1500ms, 0s, 10, Jitter::none)).best, 5);
  EXPECT_EQ(deadline_fit(call(1499ms, 0s, 10, Jitter::none)).best, 4);
  EXPECT_EQ(deadline_fit(call(750ms, 0s, 10, Jitter::equal)).best, 5);  // Half of them.
  EXPECT_EQ(deadline_fit(call(749ms, 0s, 10, Jitter::equal)).best, 4);
  EXPECT_EQ(deadline_fit(call(400ms, 0s, 10, Jitter::decorrelated)).best, 5);  // 100 each.
  EXPECT_EQ(deadline_fit(call(399ms, 0s, 10, Jitter::decorrelated)).best, 4);
  EXPECT_EQ(deadline_fit(call(1ms, 0s, 10, Jitter::full)).best, 10);
}

TEST(DeadlineFit, WithoutATimeoutOfItsOwnOneAttemptMayTakeItAll) {
  EXPECT_EQ(deadline_fit(call(5s, 0s, 3, Jitter::full)).worst, 1);
  EXPECT_FALSE(has_attempt_timeout(call(5s, 0s, 3, Jitter::full)));
  EXPECT_TRUE(has_attempt_timeout(call(5s, 1s, 3, Jitter::full)));
  EXPECT_EQ(longest_attempt(call(5s, 0s, 3, Jitter::full)), 5s);
  EXPECT_EQ(longest_attempt(call(5s, 1s, 3, Jitter::full)), 1s);
  EXPECT_EQ(longest_attempt(call(5s, 6s, 3, Jitter::full)), 5s);
}

TEST(DeadlineFit, AnAdaptiveTimeoutIsAtMostItsUpperBoundAndThePerTryTimeout) {
  engine::CallPolicy policy = call(5s, 3s, 3, Jitter::full);
  policy.adaptive_timeout.on = true;
  policy.adaptive_timeout.upper = 2s;
  EXPECT_EQ(longest_attempt(policy), 2s);
  policy.adaptive_timeout.upper = 20s;
  EXPECT_EQ(longest_attempt(policy), 3s);
  policy.per_try_timeout = 0s;
  EXPECT_EQ(longest_attempt(policy), 5s);
  policy.reserve = 1s;
  EXPECT_EQ(longest_attempt(policy), 4s);
  EXPECT_TRUE(has_attempt_timeout(policy));
}

TEST(DeadlineFit, WaitsHaveTheEndsOfTheirIntervals) {
  schedule::BackoffOptions backoff{.jitter = Jitter::decorrelated, .base = 100ms, .cap = 2s};
  EXPECT_EQ(longest_wait(backoff, 0), 300ms);
  EXPECT_EQ(longest_wait(backoff, 1), 900ms);
  EXPECT_EQ(longest_wait(backoff, 2), 2s);
  EXPECT_EQ(shortest_wait(backoff, 5), 100ms);
  for (const Jitter jitter : {Jitter::none, Jitter::full, Jitter::equal}) {
    backoff.jitter = jitter;
    EXPECT_EQ(longest_wait(backoff, 2), 400ms);
    EXPECT_EQ(longest_wait(backoff, 50), 2s);
  }
  EXPECT_EQ(shortest_wait(backoff, 2), 200ms);  // equal
}

TEST(DeadlineFit, TheLongestOfEverythingDoesNotOverflow) {
  engine::CallPolicy policy = call(kLongest, kLongest, 100, Jitter::none);
  policy.backoff = {.jitter = Jitter::none, .base = kLongest, .cap = kLongest};
  EXPECT_EQ(deadline_fit(policy).wanted, kLongest * 199);
  EXPECT_EQ(deadline_fit(policy).worst, 1);
}

}  // namespace
}  // namespace damper::policy
