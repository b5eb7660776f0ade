#include "damper/run/async/async_driver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "damper/run/async/async_call.h"
#include "damper/run/async/async_call_testing.h"

// What reaches a call from other threads, and what becomes of it with its context.

namespace damper {
namespace {

using decide::Outcome;

TEST(AsyncDriver, AStopTokenEndsItFromAnyThread) {
  Dependency dependency("test", slow_policy());
  asio::io_context context(1);
  std::stop_source stop;
  auto result =
      async_call(context.get_executor(), dependency, {.safe = true, .stop = stop.get_token()},
                 ends(Outcome::transient), asio::use_future);
  std::thread loop([&] { context.run(); });
  while (!somebody_waits(dependency)) std::this_thread::yield();
  stop.request_stop();
  EXPECT_EQ(result.get().verdict(), Verdict::cancelled);
  loop.join();
  auto refused = async_call(context.get_executor(), dependency, {.stop = stop.get_token()},
                            ends(Outcome::success), asio::use_future);
  context.restart();
  context.run();
  EXPECT_EQ(refused.get().verdict(), Verdict::cancelled);
}

// ---- The kill switch ---------------------------------------------------------------------------

// Trap K1: the calls that wait in a backoff are the storm.
TEST(AsyncDriver, AFlipFromAnotherThreadEndsEveryCallInItsBackoff) {
  constexpr int kCalls = 50;
  Dependency dependency("test", slow_policy());
  asio::io_context context(1);
  std::atomic<int> ended{0};
  for (int i = 0; i < kCalls; ++i) {
    async_call(context.get_executor(), dependency, {.safe = true}, ends(Outcome::transient),
               [&](const CallResult<Done>& result) {
                 EXPECT_EQ(result.verdict(), Verdict::switched_off);
                 ++ended;
               });
  }
  std::thread operators([&] {
    std::this_thread::yield();
    dependency.switches().set(admit::Switch::retries, {.off = true});
  });
  context.run();  // Whether a call sees the flip while it waits or before, it ends at once.
  operators.join();
  EXPECT_EQ(ended, kCalls);
}

TEST(AsyncDriver, TheSwitchesOfTheProcessEndItAsWell) {
  Dependency dependency("test", slow_policy());
  asio::io_context context(1);
  auto result = async_call(context.get_executor(), dependency, {.safe = true},
                           ends(Outcome::transient), asio::use_future);
  std::thread loop([&] { context.run(); });
  while (!somebody_waits(dependency)) std::this_thread::yield();
  switches().set(admit::Switch::hedging, {.off = true});  // Does not concern it.
  switches().set(admit::Switch::retries, {.off = true});
  EXPECT_EQ(result.get().verdict(), Verdict::switched_off);
  loop.join();
  switches().clear(admit::Switch::retries);
  switches().clear(admit::Switch::hedging);
}

// ---- Executors ---------------------------------------------------------------------------------

TEST(AsyncDriver, OnAStrandOfManyThreadsEveryCallEnds) {
  engine::Policy policy = hedging_policy();
  policy.call.per_try_timeout = 3ms;
  Dependency dependency("test", policy);
  warm(dependency);
  asio::thread_pool pool(3);
  std::vector<std::future<CallResult<Done>>> results;
  for (int i = 0; i < 200; ++i) {
    results.push_back(async_call(
        asio::make_strand(pool), dependency, {.safe = true},
        [](Attempt attempt) -> asio::awaitable<Outcome> {
          if (attempt.number() % 3 == 0) co_return Outcome::success;
          co_await pause(attempt.hedge() ? 1ms : 2ms);
          co_return attempt.number() % 2 == 0 ? Outcome::success : Outcome::transient;
        },
        asio::use_future));
  }
  for (auto& result : results) (void)result.get();
  pool.join();
  EXPECT_EQ(dependency.tally().in_flight(), 0u);
}

TEST(AsyncDriver, ACallGoesWithItsContext) {
  Dependency dependency("test", slow_policy());
  bool told = false;
  const auto tell = [&](const CallResult<Done>&) { told = true; };
  const auto forever = [](Attempt) -> asio::awaitable<Outcome> {
    co_await pause(1h);
    co_return Outcome::success;
  };
  {
    asio::io_context context(1);
    async_call(context.get_executor(), dependency, {.safe = true}, ends(Outcome::transient), tell);
    async_call(context.get_executor(), dependency, {.safe = true}, forever, tell);
    context.poll();
  }
  switches().set(admit::Switch::hedging, {.off = true});  // Nobody is left to be woken.
  switches().clear(admit::Switch::hedging);
  EXPECT_FALSE(told);
  EXPECT_EQ(dependency.tally().of(Verdict::cancelled), 2u);
  EXPECT_EQ(dependency.tally().in_flight(), 0u);
}

// The context, and with it the call in its backoff, would outlive the dependency: the call would
// return its payment to freed memory.
TEST(AsyncDriverDeathTest, ADependencyIsNotDestroyedUnderACallInItsBackoff) {
  EXPECT_DEATH(
      {
        asio::io_context context(1);
        const auto dependency = std::make_unique<Dependency>("billing", slow_policy());
        async_call(context.get_executor(), *dependency, {.safe = true}, ends(Outcome::transient),
                   [](const CallResult<Done>&) {});
        while (!somebody_waits(*dependency)) context.run_one();
      },
      "check failed: the dependency billing is destroyed while calls of it \\(1\\) are in flight");
}

TEST(AsyncDriver, ADependencyOutlivesTheContextOfACallInItsBackoff) {
  Dependency dependency("billing", slow_policy());
  {
    asio::io_context context(1);
    async_call(context.get_executor(), dependency, {.safe = true}, ends(Outcome::transient),
               [](const CallResult<Done>&) { FAIL() << "it is abandoned"; });
    while (!somebody_waits(dependency)) context.run_one();
    EXPECT_EQ(dependency.tally().in_flight(), 1U);
  }
  EXPECT_EQ(dependency.tally().in_flight(), 0U);
  EXPECT_FALSE(somebody_waits(dependency));  // The payment was returned.
}

}  // namespace
}  // namespace damper
