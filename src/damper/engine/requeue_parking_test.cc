// Which keys are parked, and which ones the budget prefers.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "damper/engine/requeue.h"
#include "damper/engine/requeue_testing.h"

namespace damper::engine {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using decide::Report;
using What = Requeue::What;

TEST(Requeue, TrapQ11_AKeyIsParkedAfterExactlySoManyFailedRuns) {
  for (const std::int32_t most : {1, 2, 20}) {
    RequeuePolicy policy = plain();
    policy.max_attempts = most;
    Requeue requeue(policy);
    KeyRecord key;
    Instant now = kStart;
    for (std::int32_t attempt = 1; attempt < most; ++attempt) {
      const auto next = run(requeue, key, Outcome::timeout, now);
      ASSERT_EQ(next.what, What::wait) << attempt;
      now = next.due;
      another_succeeds(requeue, now);
    }
    EXPECT_TRUE(requeue.start(key, now, 0.5).goes());
    another_succeeds(requeue, now);  // For the key that fails once and is parked.
    const auto last = requeue.on_outcome(key, {.outcome = Outcome::timeout}, now, 0.5);
    EXPECT_EQ(last.what, What::park);
    EXPECT_EQ(last.verdict, Verdict::attempts_spent);
    EXPECT_EQ(last.event, EventKind::parked);
    EXPECT_EQ(last.failures, most);
  }
}

TEST(Requeue, TrapQ13_AKeyIsNotParkedWhileNoOtherKeySucceeds) {  // Invariant (3).
  for (const std::int32_t most : {1, 2, 20}) {
    RequeuePolicy policy = plain();
    policy.max_attempts = most;
    Requeue requeue(policy);
    another_succeeds(requeue);  // Before its first run: it shows nothing.
    std::vector<KeyRecord> keys(3);
    for (int i = 0; i < 1000; ++i) {
      for (KeyRecord& key : keys) {
        const auto next = run(requeue, key, Outcome::transient, kStart + i * 1s);
        ASSERT_EQ(next.what, What::wait) << most << ", run " << i;
        ASSERT_LE(next.due, kStart + i * 1s + 1s);  // The cap.
      }
    }
  }
}

TEST(Requeue, TrapQ13_HalfOfTheAttemptsHaveToSingleTheKeyOut) {  // Invariant (3).
  for (const std::int32_t most : {1, 2, 3, 4, 5, 20, 21}) {
    RequeuePolicy policy = plain();
    policy.max_attempts = most;
    Requeue requeue(policy);
    KeyRecord key;
    for (int i = 0; i < 100; ++i) (void)run(requeue, key, Outcome::unavailable);  // An outage.
    const int half = (most + 1) / 2;
    for (int i = 1; i < half; ++i) {  // It is over for the others.
      another_succeeds(requeue);
      ASSERT_EQ(run(requeue, key, Outcome::unavailable).what, What::wait) << most << ", " << i;
      ASSERT_EQ(run(requeue, key, Outcome::unavailable).what, What::wait);  // No success since.
    }
    another_succeeds(requeue);
    EXPECT_EQ(run(requeue, key, Outcome::unavailable).verdict, Verdict::attempts_spent) << most;
    key = {};
    EXPECT_EQ(run(requeue, key, Outcome::unavailable).what, What::wait);  // It starts anew.
  }
}

TEST(Requeue, TrapQ11_ASuccessInBetweenStartsTheCountAnew) {
  RequeuePolicy policy = plain();
  policy.max_attempts = 3;
  Requeue requeue(policy);
  KeyRecord key;
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(run(requeue, key, Outcome::transient).what, What::wait);
    another_succeeds(requeue);
    EXPECT_EQ(run(requeue, key, Outcome::transient).what, What::wait);
    another_succeeds(requeue);
    EXPECT_EQ(run(requeue, key, Outcome::success).what, What::forget);
  }
}

TEST(Requeue, WithoutACapAKeyIsNeverGivenUp) {
  RequeuePolicy policy = plain();
  policy.max_attempts = 0;
  Requeue requeue(policy);
  KeyRecord key;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(run(requeue, key, Outcome::transient, kStart + i * 1s).what, What::wait);
  }
  key.failures = std::numeric_limits<std::uint32_t>::max();  // It stays there: 0 would be healthy.
  EXPECT_EQ(run(requeue, key, Outcome::transient, kStart + 20'000s).what, What::wait);
  EXPECT_EQ(key.failures, std::numeric_limits<std::uint32_t>::max());
}

TEST(Requeue, WhatIsFinalIsParkedAtOnceAndAConflictIsNot) {
  Requeue requeue(plain());
  const auto first = [&](const Report& report) {
    KeyRecord key;
    return run(requeue, key, report);
  };
  EXPECT_EQ(first({.outcome = Outcome::permanent}).verdict, Verdict::permanent);
  EXPECT_EQ(first({.outcome = Outcome::permanent}).what, What::park);
  EXPECT_EQ(first({.outcome = Outcome::transient, .do_not_retry = true}).verdict,
            Verdict::pushed_back);
  EXPECT_EQ(first({.outcome = Outcome::transient, .retry_on_excluded = true}).verdict,
            Verdict::not_retryable);
  for (const Outcome outcome : {Outcome::transient, Outcome::timeout, Outcome::unavailable,
                                Outcome::conflict, Outcome::overload}) {
    EXPECT_EQ(first({.outcome = outcome}).what, What::wait) << decide::name(outcome);
    EXPECT_EQ(first({.outcome = outcome}).verdict, Verdict::none) << decide::name(outcome);
  }
}

TEST(Requeue, TrapQ14_NoEarlyRetryWhileTheBudgetHoldsAKeyWhoseBackoffIsOver) {  // Invariant (6).
  RequeuePolicy policy = plain();
  policy.backoff = {.jitter = schedule::Jitter::none, .base = 60s, .cap = 60s};
  policy.budget = {.percent = Percent(0), .window = 1s, .reserve = 0, .min_per_second = 1};
  Requeue requeue(policy);
  KeyRecord due;
  KeyRecord hot;
  (void)run(requeue, due, Outcome::transient, kStart);
  (void)run(requeue, hot, Outcome::transient, kStart + 50s);
  (void)run(requeue, hot, Outcome::transient, kStart + 60s);  // Early: the budget allows it.
  EXPECT_EQ(requeue.start(due, kStart + 60s, 0.5).held_for, Verdict::budget_spent);
  // The budget would allow one again, and it is not for the key that has an event.
  EXPECT_EQ(requeue.start(hot, kStart + 62s, 0.5).held_for, Verdict::budget_spent);
  EXPECT_EQ(requeue.start(hot, kStart + 65s - 1ns, 0.5).until, kStart + 120s);
  EXPECT_TRUE(requeue.start(due, kStart + 65s - 1ns, 0.5).goes());
  EXPECT_EQ(requeue.counts().held_by_budget, 3u);
  EXPECT_TRUE(requeue.start(hot, kStart + 70s, 0.5).goes());  // No key waits for the budget.
}

}  // namespace
}  // namespace damper::engine
