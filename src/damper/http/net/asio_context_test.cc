#include "damper/http/net/asio_context.h"

#include <gtest/gtest.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "damper/http/net/net_testing.h"

namespace damper::http {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

static_assert(sizeof(AsioContext::Executor) == sizeof(void*));

TEST(AsioContext, ACoroutineRunsOnTheLoopAlsoAfterATimerOfAsios) {
  Loop loop;
  const Watchdog watchdog(loop);
  int steps = 0;
  asio::co_spawn(
      loop.context(),
      [&]() -> asio::awaitable<void> {
        for (; steps < 3; ++steps) {
          EXPECT_TRUE(loop.is_running_here());
          asio::steady_timer timer(co_await asio::this_coro::executor, milliseconds(1));
          co_await timer.async_wait(asio::use_awaitable);
          EXPECT_TRUE(loop.is_running_here());
        }
        loop.stop();
      },
      asio::detached);
  loop.run();
  EXPECT_EQ(steps, 3);
}

// (1)
TEST(AsioContext, AnOperationThatWaitsKeepsTheLoopRunning) {
  Loop loop;
  asio::steady_timer timer(loop.context(), milliseconds(5));
  bool called = false;
  timer.async_wait([&](const boost::system::error_code& error) { called = !error; });
  loop.run();
  EXPECT_TRUE(called);
}

// (2)
TEST(AsioContext, HandlersThatWereNotCalledAreDestroyedWithTheLoop) {
  const auto owned = std::make_shared<int>(0);
  {
    Loop loop;
    asio::co_spawn(
        loop.context(),
        [](std::shared_ptr<int>) -> asio::awaitable<void> {
          asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(1));
          co_await timer.async_wait(asio::use_awaitable);
        }(owned),
        asio::detached);
    loop.poll();
    asio::post(loop.context(), [owned] {});
    EXPECT_EQ(owned.use_count(), 3);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(AsioContext, DispatchCallsAtOnceOnTheLoopAndPostDoesNot) {
  Loop loop;
  std::string trace;
  const asio::any_io_executor executor = loop.context().get_executor();
  loop.post([&] {
    asio::post(executor, [&] { trace += "posted "; });
    asio::dispatch(executor, [&] { trace += "dispatched "; });
    trace += "end ";
  });
  asio::dispatch(executor, [&] { trace += "later "; });  // The loop does not run yet.
  EXPECT_EQ(trace, "");
  loop.run();
  EXPECT_EQ(trace, "dispatched end later posted ");
}

TEST(AsioContext, AnExceptionOfADispatchedFunctionLeavesRun) {
  Loop loop;
  bool returned = false;
  loop.post([&] {
    asio::dispatch(loop.context(), [] { throw 1; });
    returned = true;
  });
  EXPECT_THROW(loop.run(), int);
  EXPECT_TRUE(returned);
}

TEST(AsioContext, ATrackedExecutorKeepsTheLoopRunningUntilItsLastCopyIsDestroyed) {
  Loop loop;
  using Tracked = AsioContext::Executor;
  std::optional<Tracked> tracked =
      asio::prefer(loop.context().get_executor(), asio::execution::outstanding_work.tracked);
  EXPECT_EQ(*tracked, loop.context().get_executor());
  std::optional<Tracked> copy = tracked;
  tracked.reset();
  std::thread other([&] {
    while (loop.is_here()) std::this_thread::yield();  // until it runs
    copy.reset();
  });
  loop.run();
  other.join();
  EXPECT_FALSE(copy);
}

}  // namespace
}  // namespace damper::http
