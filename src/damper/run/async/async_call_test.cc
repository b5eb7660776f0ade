#include "damper/run/async/async_call.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "damper/run/async/async_call_testing.h"
#include "damper/run/async/async_update.h"

namespace damper {
namespace {

using decide::Outcome;

TEST(AsyncCall, ReturnsTheValueOfTheAttemptThatSucceeded) {
  Dependency dependency("test", quick_policy());
  run_here([&]() -> asio::awaitable<void> {
    auto result = co_await async_call(dependency, {.idempotent = true},
                                      [](Attempt attempt) -> asio::awaitable<Result<int>> {
                                        co_await pause(1ms);
                                        if (attempt.number() < 3)
                                          co_return failed(Outcome::transient);
                                        co_return 40 + static_cast<int>(attempt.number());
                                      });
    EXPECT_EQ(result.verdict(), Verdict::success);
    EXPECT_EQ(*result, 43);
    EXPECT_EQ(result.attempts(), 3u);
  });
  EXPECT_EQ(dependency.tally().all_retries(), 2u);
}

TEST(AsyncCall, AnOutcomeIsEnough) {
  Dependency dependency("test", quick_policy());
  run_here([&]() -> asio::awaitable<void> {
    const auto done = co_await async_call(dependency, {}, ends(Outcome::success));
    EXPECT_TRUE(done);
    const auto failed = co_await async_call(dependency, {}, ends(Outcome::permanent));
    EXPECT_EQ(failed.verdict(), Verdict::permanent);
    EXPECT_EQ(failed.failure() != nullptr ? failed.failure()->report.outcome : Outcome::success,
              Outcome::permanent);
  });
}

TEST(AsyncCall, SoIsAPlainValueOrNothing) {
  Dependency dependency("test", quick_policy());
  run_here([&]() -> asio::awaitable<void> {
    const auto value = co_await async_call(
        dependency, {}, [](const Attempt&) -> asio::awaitable<int> { co_return 7; });
    EXPECT_EQ(*value, 7);
    const auto nothing = co_await async_call(
        dependency, {}, [](const Attempt&) -> asio::awaitable<void> { co_await pause(1us); });
    EXPECT_TRUE(nothing);
  });
}

TEST(AsyncCall, TheStopOfALoserIsRequested) {
  Dependency dependency("test", hedging_policy());
  warm(dependency);
  std::stop_token first;
  run_here([&]() -> asio::awaitable<void> {
    const auto result = co_await async_call(dependency, {.safe = true},
                                            [&](Attempt attempt) -> asio::awaitable<Result<int>> {
                                              if (attempt.hedge()) {
                                                EXPECT_FALSE(first.stop_requested());
                                                co_return 2;
                                              }
                                              first = attempt.stop();
                                              co_await pause(1h);
                                              co_return 1;
                                            });
    EXPECT_EQ(*result, 2);
  });
  EXPECT_TRUE(first.stop_requested());
}

TEST(AsyncCall, AnAbortThatNobodyAskedForIsATimeout) {
  Dependency dependency("test", quick_policy());
  run_here([&]() -> asio::awaitable<void> {
    const auto result = co_await async_call(
        dependency, {.idempotent = true}, [](const Attempt&) -> asio::awaitable<Outcome> {
          throw boost::system::system_error(asio::error::operation_aborted);
          co_return Outcome::success;
        });
    EXPECT_EQ(result.verdict(), Verdict::attempts_spent);
    EXPECT_EQ(result.failure()->report.outcome, Outcome::timeout);
  });
}

TEST(AsyncCall, AnAttemptIsToldWhatTheEngineDecided) {
  engine::Policy policy = quick_policy();
  policy.call.per_try_timeout = 50ms;
  Dependency dependency("test", policy);
  run_here([&]() -> asio::awaitable<void> {
    (void)co_await async_call(dependency, {}, [](Attempt attempt) -> asio::awaitable<Outcome> {
      co_await pause(1ms);  // It is still good after that.
      EXPECT_EQ(attempt.number(), 1u);
      EXPECT_FALSE(attempt.hedge());
      EXPECT_EQ(attempt.timeout(), 50ms);
      EXPECT_EQ(run::Scope::deadline().at(), attempt.deadline());
      co_return Outcome::success;
    });
  });
}

TEST(AsyncCall, WhatAnOperationThrowsIsItsFailure) {
  Dependency dependency("test", quick_policy());
  run_here([&]() -> asio::awaitable<void> {
    auto thrown = co_await async_call(dependency, {.idempotent = true},
                                      [](Attempt) -> asio::awaitable<Result<int>> {
                                        co_await pause(1ms);
                                        throw std::runtime_error("no");
                                      });
    EXPECT_EQ(thrown.verdict(), Verdict::permanent);
    EXPECT_THROW((void)thrown.value(), std::runtime_error);
    // Asio's own are known by their code; here nobody listens, so nothing was sent.
    const auto refused =
        co_await async_call(dependency, {}, [](Attempt) -> asio::awaitable<Result<int>> {
          throw boost::system::system_error(asio::error::connection_refused);
          co_return 1;
        });
    EXPECT_EQ(refused.verdict(), Verdict::attempts_spent);
    EXPECT_EQ(refused.failure()->error, std::errc::connection_refused);
    // And one that throws before it is a coroutine.
    const auto at_once = co_await async_call(
        dependency, {}, [](const Attempt&) -> asio::awaitable<Outcome> { throw 1; });
    EXPECT_EQ(at_once.verdict(), Verdict::permanent);
  });
}

// ---- Tokens ------------------------------------------------------------------------------------

// A dependency whose breaker is open.
struct Broken : Dependency {
  Broken() : Dependency("test", policy()) {
    (void)call(*this, {}, [](const Attempt&) { return Outcome::transient; });
  }
  static engine::Policy policy() {
    engine::Policy policy = quick_policy();
    policy.breaker.emplace().consecutive_failures = 1;
    policy.breaker->open_base = policy.breaker->open_cap = 1h;
    return policy;
  }
};

TEST(AsyncCall, ARefusalAtTheStartReachesACoroutine) {
  Broken dependency;
  run_here([&]() -> asio::awaitable<void> {
    const auto result = co_await async_call(dependency, {}, ends(Outcome::success));
    EXPECT_EQ(result.verdict(), Verdict::breaker_open);
    EXPECT_EQ(result.attempts(), 0u);
    EXPECT_EQ(result.failure(), nullptr);
  });
}

TEST(AsyncCall, AFunctionIsCalledOnTheExecutorAndNeverAtOnce) {
  asio::io_context context;
  Broken broken;
  Dependency healthy("test", quick_policy());
  std::vector<Verdict> verdicts;
  const auto told = [&](const CallResult<Done>& result) { verdicts.push_back(result.verdict()); };
  asio::post(context, [&] {
    async_call(context.get_executor(), broken, {}, ends(Outcome::success), told);
    async_call(healthy, {}, ends(Outcome::success), asio::bind_executor(context, told));
    EXPECT_TRUE(verdicts.empty());
  });
  context.run();
  EXPECT_EQ(verdicts, (std::vector{Verdict::breaker_open, Verdict::success}));
}

TEST(AsyncCall, AFutureIsFulfilled) {
  asio::io_context context;
  Broken broken;
  Dependency healthy("test", quick_policy());
  auto refused =
      async_call(context.get_executor(), broken, {}, ends(Outcome::success), asio::use_future);
  auto done =
      async_call(context.get_executor(), healthy, {}, ends(Outcome::success), asio::use_future);
  context.run();
  EXPECT_EQ(refused.get().verdict(), Verdict::breaker_open);
  EXPECT_TRUE(done.get());
}

TEST(AsyncCall, ADeferredCallStartsWhenItIsLaunched) {
  Dependency dependency("test", quick_policy());
  Broken broken;
  int attempts = 0;
  const auto operation = [&](Attempt) -> asio::awaitable<Outcome> {
    ++attempts;
    co_return Outcome::success;
  };
  run_here([&]() -> asio::awaitable<void> {
    auto later = async_call(dependency, {}, operation, asio::deferred);
    co_await pause(1ms);
    EXPECT_EQ(attempts, 0);
    const auto result = co_await std::move(later)(asio::use_awaitable);
    EXPECT_TRUE(result);
    EXPECT_EQ(attempts, 1);
    const auto refused =
        co_await async_call(broken, {}, operation, asio::deferred)(asio::use_awaitable);
    EXPECT_EQ(refused.verdict(), Verdict::breaker_open);
  });
}

// ---- Scopes ------------------------------------------------------------------------------------

TEST(AsyncCall, ACallInsideInheritsDeadlineAndOwner) {
  Dependency outer("outer", quick_policy());
  Dependency inner("inner", quick_policy());
  int tried = 0;
  run_here([&]() -> asio::awaitable<void> {
    const auto result =
        co_await async_call(outer, {.idempotent = true, .deadline = in(1h)},
                            [&](Attempt attempt) -> asio::awaitable<Outcome> {
                              const auto inside = co_await async_call(
                                  inner, {.idempotent = true, .deadline = in(5h)},
                                  [&](Attempt below) -> asio::awaitable<Outcome> {
                                    ++tried;
                                    co_await pause(1ms);
                                    EXPECT_EQ(below.deadline(), attempt.deadline());
                                    EXPECT_NE(run::Scope::context(), nullptr);
                                    EXPECT_EQ(run::Scope::context()->retry_owner, "outer");
                                    EXPECT_EQ(run::Scope::context()->attempt, attempt.number());
                                    co_return Outcome::transient;
                                  });
                              EXPECT_EQ(inside.verdict(), Verdict::layered);
                              EXPECT_EQ(run::Scope::deadline().at(), attempt.deadline());
                              co_return Outcome::transient;
                            });
    EXPECT_EQ(result.verdict(), Verdict::attempts_spent);
    EXPECT_EQ(run::Scope::context(), nullptr);  // Outside again.
  });
  EXPECT_EQ(tried, 3);
}

TEST(AsyncCall, WhoRetriesAroundABlockingAttemptIsKnownInside) {
  Dependency edge("edge", quick_policy());
  Dependency inner("inner", quick_policy());
  Dependency odd("not a name", quick_policy());
  const auto owner_inside = [&] {
    std::string owner;
    run_here([&]() -> asio::awaitable<void> {
      (void)co_await async_call(inner, {.idempotent = true},
                                [&](Attempt) -> asio::awaitable<Outcome> {
                                  owner = run::Scope::context()->retry_owner;
                                  co_return Outcome::success;
                                });
    });
    return owner;
  };
  const auto within = [&](Dependency& dependency) {
    std::string owner;
    (void)call(dependency, {.idempotent = true}, [&](const Attempt&) {
      owner = owner_inside();
      return Outcome::success;
    });
    return owner;
  };
  EXPECT_EQ(owner_inside(), "inner");
  EXPECT_EQ(within(edge), "edge");
  EXPECT_EQ(within(odd), "damper");
}

TEST(AsyncCall, ASpawnedCoroutineInheritsAsWell) {
  Dependency outer("outer", quick_policy());
  Dependency inner("inner", quick_policy());
  std::optional<Verdict> spawned;
  const auto child = [&]() -> asio::awaitable<void> {
    co_await pause(5ms);  // It outlives the attempt.
    const auto result = co_await async_call(inner, {.idempotent = true}, ends(Outcome::transient));
    spawned = result.verdict();
  };
  run_here([&]() -> asio::awaitable<void> {
    (void)co_await async_call(
        outer, {.idempotent = true}, [&](Attempt) -> asio::awaitable<Outcome> {
          asio::co_spawn(co_await asio::this_coro::executor, child, asio::detached);
          co_return Outcome::success;
        });
  });
  EXPECT_EQ(spawned, Verdict::layered);
}

TEST(AsyncCall, WhatARequestSaysIsPassedOn) {
  Dependency dependency("test", quick_policy());
  const Instant deadline = in(1h);
  run_here(
      [&]() -> asio::awaitable<void> {
        const auto result = co_await async_call(
            dependency, {.idempotent = true}, [&](Attempt attempt) -> asio::awaitable<Outcome> {
              EXPECT_EQ(attempt.deadline(), deadline);
              EXPECT_EQ(run::Scope::context()->retry_owner, "edge");
              EXPECT_EQ(run::Scope::context()->attempt, 2u);
              EXPECT_EQ(run::Scope::context()->criticality, admit::Criticality::sheddable);
              co_return Outcome::transient;
            });
        EXPECT_EQ(result.verdict(), Verdict::layered);
        EXPECT_EQ(run::Scope::deadline().at(), deadline);
      },
      run::RequestContext{.deadline = schedule::Deadline(deadline),
                          .owned_above = {.retries = true, .unsent = true},
                          .retry_owner = "edge",
                          .attempt = 2,
                          .criticality = admit::Criticality::sheddable});
}

// ---- Update ------------------------------------------------------------------------------------

TEST(AsyncUpdate, ReadsAgainAfterAConflict) {
  Dependency dependency("test", quick_policy());
  int stored = 1;
  int reads = 0;
  run_here([&]() -> asio::awaitable<void> {
    auto result = co_await async_update(
        dependency, {},
        [&](Attempt) -> asio::awaitable<Result<int>> {
          co_await pause(1ms);
          if (++reads == 1) co_return failed(Outcome::timeout);  // Harmless: it was a read.
          co_return stored;
        },
        [](int value) { return value * 10; },
        [&](int value, Attempt attempt) -> asio::awaitable<Result<int>> {
          if (attempt.number() == 2) {
            stored = 7;  // Somebody else was faster.
            co_return failed(Outcome::conflict);
          }
          co_return value;
        });
    EXPECT_EQ(result.verdict(), Verdict::success);
    EXPECT_EQ(*result, 70);
    EXPECT_EQ(reads, 3);
  });
}

}  // namespace
}  // namespace damper
