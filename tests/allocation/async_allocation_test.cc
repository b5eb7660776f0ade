#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstddef>

#include "counted_malloc.h"
#include "damper/damper.h"
#include "damper/run/async/async_call.h"

// What async_call promises: an attempt allocates what its coroutines do, and nothing more.

namespace damper {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

Policy many_attempts() {
  Policy policy;
  policy.call.timeout = 1h;
  policy.call.max_attempts = 100;
  policy.call.backoff = {.jitter = Jitter::none, .base = 200us, .cap = 200us};
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  return policy;
}

asio::awaitable<Outcome> attempt_of(std::uint32_t number, std::uint32_t last) {
  co_await asio::post(asio::use_awaitable);
  co_return number == last ? Outcome::success : Outcome::transient;
}

// How many allocations a coroutine makes, the second time that it runs in a context.
template <class Coroutine>
std::size_t allocations(Coroutine coroutine) {
  asio::io_context context(1);
  std::size_t made = 0;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        co_await coroutine();
        const std::size_t before = counted.allocations;
        co_await coroutine();
        made = counted.allocations - before;
      },
      asio::detached);
  context.run();
  return made;
}

std::size_t of_guarded(std::uint32_t attempts) {
  Dependency dependency("test", many_attempts());
  return allocations([&]() -> asio::awaitable<void> {
    const auto result = co_await async_call(dependency, {.idempotent = true}, [=](Attempt attempt) {
      return attempt_of(attempt.number(), attempts);
    });
    EXPECT_EQ(result.attempts(), attempts);
  });
}

// The loop that one would write without it: each attempt spawned, and a timer in between.
std::size_t of_bare(std::uint32_t attempts) {
  return allocations([&]() -> asio::awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    for (std::uint32_t i = 1; i <= attempts; ++i) {
      const auto attempt = [&]() -> asio::awaitable<void> {
        const Outcome outcome = co_await attempt_of(i, attempts);
        EXPECT_EQ(outcome == Outcome::success, i == attempts);
      };
      co_await asio::co_spawn(executor, attempt, asio::use_awaitable);
      (void)timer.expires_after(200us);
      if (i < attempts) co_await timer.async_wait(asio::use_awaitable);
    }
  });
}

TEST(AsyncAllocation, ARetryAllocatesNoMoreThanItsCoroutines) {
  const std::size_t guarded = of_guarded(90) - of_guarded(10);
  const std::size_t bare = of_bare(90) - of_bare(10);
  EXPECT_GT(bare, 0u);  // Frames are deeper than what Asio keeps for the next one.
  EXPECT_LE(guarded, bare);
}

// Itself, what its attempts inherit, and the frame that awaits it.
TEST(AsyncAllocation, ACallMakesThreeBesideThoseOfItsAttempt) {
  EXPECT_LE(of_guarded(1), of_bare(1) + 3);
}

}  // namespace
}  // namespace damper
