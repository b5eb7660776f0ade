#include "damper/run/blocking.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace damper {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

// A budget that never runs out, no jitter, the shortest of waits.
engine::Policy quick() {
  engine::Policy policy;
  policy.call.timeout = 1h;
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 1us, .cap = 1us};
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  return policy;
}

constexpr auto kSucceed = [](const Attempt&) { return Outcome::success; };

TEST(Blocking, AValueComesBack) {
  Dependency dependency("test", quick());
  const auto result = call(dependency, {}, [](const Attempt& attempt) -> Result<std::string> {
    return "attempt " + std::to_string(attempt.number());
  });
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, "attempt 1");
  EXPECT_EQ(result.verdict(), Verdict::success);
  EXPECT_EQ(result.attempts(), 1u);
  EXPECT_EQ(result.failure(), nullptr);
  EXPECT_EQ(dependency.tally().of(Verdict::success), 1u);
}

TEST(Blocking, AValueThatCanOnlyBeMovedComesBack) {
  Dependency dependency("test", quick());
  auto result = call(dependency, {}, [](const Attempt&) -> Result<std::unique_ptr<int>> {
    return std::make_unique<int>(7);
  });
  const std::unique_ptr<int> taken = std::move(*result);
  EXPECT_EQ(*taken, 7);
}

// A first attempt that waits for its token is sent all the same, with and without hedging.
TEST(Blocking, AttemptsWaitForTheirTokens) {
  engine::Policy policy = quick();
  policy.attempt_rate = {.bucket = {.rate_per_second = 1000, .burst = 1}, .max_wait = 1h};
  for (const int hedges : {0, 1}) {
    policy.call.hedge.max_hedges = hedges;
    Dependency dependency("test", policy);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(call(dependency, {.safe = true}, kSucceed));
    EXPECT_EQ(dependency.tally().attempts, 20u);
  }
}

TEST(Blocking, AnAttemptWithoutATokenIsRefusedBeforeTheOperationRuns) {
  engine::Policy policy = quick();
  policy.attempt_rate = {.bucket = {.rate_per_second = 0.001, .burst = 1}};
  Dependency dependency("test", policy);
  EXPECT_TRUE(call(dependency, {}, kSucceed));
  const auto result = call(dependency, {}, kSucceed);
  EXPECT_EQ(result.verdict(), Verdict::rate_limited);
  EXPECT_EQ(result.attempts(), 0u);
}

TEST(Blocking, AnOperationMaySayOnlyHowItWent) {
  Dependency dependency("test", quick());
  EXPECT_TRUE(call(dependency, {}, kSucceed));
  const auto result = call(dependency, {}, [](const Attempt&) { return Outcome::permanent; });
  EXPECT_FALSE(result);
  EXPECT_EQ(result.verdict(), Verdict::permanent);
  EXPECT_EQ(result.failure()->report.outcome, Outcome::permanent);
}

TEST(Blocking, AFailureIsTriedAgainAfterItsBackoff) {
  engine::Policy policy = quick();
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 20ms, .cap = 1s};
  Dependency dependency("test", policy);
  std::vector<Instant> started;
  const auto result = call(dependency, {.idempotent = true}, [&](const Attempt& attempt) {
    started.push_back(run::now());
    EXPECT_EQ(attempt.number(), started.size());
    EXPECT_FALSE(attempt.hedge());
    return started.size() < 3 ? Outcome::transient : Outcome::success;
  });
  EXPECT_TRUE(result);
  EXPECT_EQ(result.attempts(), 3u);
  ASSERT_EQ(started.size(), 3u);
  EXPECT_GE(started[1] - started[0], 20ms);
  EXPECT_GE(started[2] - started[1], 40ms);
  EXPECT_EQ(dependency.tally().retries_for(Outcome::transient), 2u);
}

TEST(Blocking, TheLastFailureIsKept) {
  Dependency dependency("test", quick());
  int status = 500;
  const auto result = call(dependency, {.idempotent = true},
                           [&](const Attempt&) -> Result<int> { return failed_http(status++); });
  EXPECT_EQ(result.verdict(), Verdict::permanent);  // 500 is transient, 501 is not.
  EXPECT_EQ(result.attempts(), 2u);
  EXPECT_EQ(result.failure()->status, 501);
}

TEST(Blocking, ASystemErrorIsClassifiedByItsCode) {
  Dependency dependency("test", quick());
  int times = 0;
  // Not idempotent: but what was refused never left.
  const auto result = call(dependency, {}, [&](const Attempt&) -> Result<int> {
    if (++times == 1) throw std::system_error(ECONNREFUSED, std::generic_category());
    return 5;
  });
  EXPECT_EQ(*result, 5);
  EXPECT_EQ(result.attempts(), 2u);
  EXPECT_EQ(dependency.tally().retries_for(Outcome::unavailable), 1u);
}

TEST(Blocking, ASystemErrorWithoutAnErrorIsStillAFailure) {
  Dependency dependency("test", quick());
  auto result = call(dependency, {.idempotent = true}, [](const Attempt&) -> Result<int> {
    throw std::system_error(std::error_code{});
  });
  EXPECT_FALSE(result);
  EXPECT_EQ(result.verdict(), Verdict::permanent);
  EXPECT_THROW((void)result.value(), std::system_error);
}

TEST(Blocking, AnyOtherExceptionIsPermanentAndComesBackItself) {
  Dependency dependency("test", quick());
  const std::runtime_error* thrown = nullptr;
  auto result = call(dependency, {.idempotent = true}, [&](const Attempt&) -> Result<int> {
    try {
      throw std::runtime_error("out of cheese");
    } catch (const std::runtime_error& error) {
      thrown = &error;
      throw;
    }
  });
  EXPECT_EQ(result.verdict(), Verdict::permanent);
  EXPECT_EQ(result.attempts(), 1u);
  try {
    (void)result.value();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(&error, thrown);  // The very object, not one like it.
  }
}

TEST(Blocking, AnExceptionOfARetryIsAFailureLikeTheFirst) {
  Dependency dependency("test", quick());
  int times = 0;
  const auto result =
      call(dependency, {.idempotent = true}, [&](const Attempt&) -> Result<std::string> {
        ++times;
        if (times == 1) return failed(Outcome::transient);
        if (times == 2) throw std::system_error(std::make_error_code(std::errc::timed_out));
        return std::string("third");
      });
  EXPECT_EQ(*result, "third");
  EXPECT_EQ(dependency.tally().retries_for(Outcome::timeout), 1u);
}

TEST(Blocking, TheAttemptIsToldItsTimeAndTheCallersDeadlineClipsIt) {
  engine::Policy policy = quick();
  policy.call.per_try_timeout = 30s;
  Dependency dependency("test", policy);
  const Instant before = run::now();
  (void)call(dependency, {}, [&](const Attempt& attempt) {
    EXPECT_EQ(attempt.timeout(), 30s);
    EXPECT_GE(attempt.deadline(), before + 30s);
    EXPECT_LE(attempt.deadline(), run::now() + 30s);
    return Outcome::success;
  });
  const Instant deadline = in(10s);
  (void)call(dependency, {.deadline = deadline}, [&](const Attempt& attempt) {
    EXPECT_EQ(attempt.deadline(), deadline);
    EXPECT_GT(attempt.timeout(), 0s);
    EXPECT_LE(attempt.timeout(), 10s);
    return Outcome::success;
  });
}

TEST(Blocking, TrapD3_AfterItsDeadlineACallNeverRunsItsOperation) {
  Dependency dependency("test", quick());
  int times = 0;
  auto result = call(dependency, {.deadline = run::now()},
                     [&](const Attempt&) -> Result<int> { return ++times; });
  EXPECT_EQ(times, 0);
  EXPECT_EQ(result.verdict(), Verdict::deadline_passed);
  EXPECT_EQ(result.attempts(), 0u);
  EXPECT_EQ(result.failure(), nullptr);
  EXPECT_THROW((void)result.value(), Refused);
}

TEST(Blocking, TrapA5_ABackoffPastTheDeadlineIsNotWaitedOut) {
  engine::Policy policy = quick();
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 2h, .cap = 2h};
  Dependency dependency("test", policy);
  const Instant before = run::now();
  const auto result =
      call(dependency, {.idempotent = true}, [](const Attempt&) { return Outcome::transient; });
  EXPECT_EQ(result.verdict(), Verdict::deadline_too_close);
  EXPECT_LT(run::now() - before, 60s);
}

TEST(Blocking, ARefusalIsNamedAndCostsNoAttempt) {
  engine::Policy policy = quick();
  policy.breaker.emplace().consecutive_failures = 1;
  policy.breaker->open_base = policy.breaker->open_cap = 1h;
  Dependency dependency("test", policy);
  (void)call(dependency, {}, [](const Attempt&) { return Outcome::transient; });
  const auto result = call(dependency, {}, kSucceed);
  EXPECT_EQ(result.verdict(), Verdict::breaker_open);
  EXPECT_EQ(result.attempts(), 0u);
  EXPECT_EQ(result.failure(), nullptr);
}

TEST(Blocking, ASpentBudgetKeepsTheFailureThatItWouldHaveMended) {
  engine::Policy policy = quick();
  policy.budget = {.percent = Percent(0), .reserve = 0};
  Dependency dependency("test", policy);
  const auto result = call(dependency, {.idempotent = true},
                           [](const Attempt&) -> Result<int> { return failed_http(503); });
  EXPECT_EQ(result.verdict(), Verdict::budget_spent);
  EXPECT_EQ(result.attempts(), 1u);
  EXPECT_EQ(result.failure()->status, 503);
}

TEST(Blocking, WhatNeverLeftIsRetriedByTheOutermostCallOnlyThoughNoneIsIdempotent) {
  Dependency dependency("test", quick());
  int times = 0;
  (void)call(dependency, {}, [&](const Attempt&) {
    return call(dependency, {},
                [&](const Attempt&) {
                  return call(dependency, {},
                              [&](const Attempt&) {
                                ++times;
                                return Outcome::unavailable;
                              })
                      .failure()
                      ->report.outcome;
                })
        .failure()
        ->report.outcome;
  });
  EXPECT_EQ(times, 3);  // Not 27.
}

TEST(Blocking, OnlyTheOutermostOfNestedCallsRetries) {
  Dependency edge("edge", quick());
  Dependency store("store", quick());
  int times = 0;
  const auto result = call(edge, {.idempotent = true}, [&](const Attempt&) {
    const auto inner = call(store, {.idempotent = true}, [&](const Attempt&) {
      ++times;
      EXPECT_EQ(run::Scope::retry_owner(), "edge");  // As the next process is told.
      EXPECT_EQ(run::Scope::retry_attempt(), static_cast<std::uint32_t>(times));
      return Outcome::transient;
    });
    EXPECT_EQ(inner.verdict(), Verdict::layered);
    EXPECT_EQ(inner.attempts(), 1u);
    return inner.failure()->report.outcome;
  });
  EXPECT_EQ(result.verdict(), Verdict::attempts_spent);
  EXPECT_EQ(times, 3);  // Not nine.
  EXPECT_EQ(store.tally().of(Verdict::layered), 3u);
  EXPECT_EQ(store.tally().all_retries(), 0u);
  EXPECT_EQ(edge.tally().all_retries(), 2u);
}

TEST(Blocking, AnInnerCallRetriesWhereTheOuterDoesNot) {
  Dependency edge("edge", quick());
  Dependency store("store", quick());
  const auto result = call(edge, {}, [&](const Attempt&) {
    const auto inner = call(store, {.idempotent = true}, [](const Attempt& attempt) {
      return attempt.number() < 3 ? Outcome::transient : Outcome::success;
    });
    EXPECT_EQ(inner.attempts(), 3u);
    return Outcome::success;
  });
  EXPECT_TRUE(result);
  // And after it everything is as before.
  EXPECT_EQ(call(store, {.idempotent = true},
                 [](const Attempt& attempt) {
                   return attempt.number() < 3 ? Outcome::transient : Outcome::success;
                 })
                .attempts(),
            3u);
}

TEST(Blocking, AnInnerCallIsUnderTheDeadlineOfTheOuterAttempt) {
  engine::Policy policy = quick();
  policy.call.per_try_timeout = 20s;
  Dependency edge("edge", policy);
  Dependency store("store", quick());
  (void)call(edge, {}, [&](const Attempt& outer) {
    (void)call(store, {.deadline = in(50s)}, [&](const Attempt& inner) {
      EXPECT_EQ(inner.deadline(), outer.deadline());
      return Outcome::success;
    });
    (void)call(store, {.deadline = outer.deadline() - 5s}, [&](const Attempt& inner) {
      EXPECT_EQ(inner.deadline(), outer.deadline() - 5s);
      return Outcome::success;
    });
    return Outcome::success;
  });
}

TEST(Blocking, WhoeverRetriesAboveInAnotherProcessIsRespected) {
  Dependency dependency("test", quick());
  const auto result = call(dependency, {.idempotent = true, .owned_above = true},
                           [](const Attempt&) { return Outcome::transient; });
  EXPECT_EQ(result.verdict(), Verdict::layered);
}

}  // namespace
}  // namespace damper
