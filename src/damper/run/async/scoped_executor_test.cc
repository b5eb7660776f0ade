#include "damper/run/async/scoped_executor.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <vector>

#include "damper/run/blocking.h"

namespace damper {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;
using run::Scope;

static_assert(sizeof(ScopedExecutor<asio::io_context::executor_type>) <= 2 * sizeof(void*));

constexpr Instant kSoon{1s};  // In the past: the clock counts from the boot of the machine.
constexpr Instant kLater{2s};

run::RequestContext until(Instant deadline, bool owned = false) {
  return {.deadline = schedule::Deadline(deadline),
          .owned_above = {.retries = owned, .unsent = owned}};
}

asio::awaitable<void> pause(Duration length = 1ms) {
  asio::steady_timer timer(co_await asio::this_coro::executor, length);
  co_await timer.async_wait(use_awaitable);
}

TEST(ScopedExecutor, ACoroutineIsInsideAfterEveryResumption) {
  asio::io_context context;
  std::vector<Instant> seen;
  const auto look = [&] { seen.push_back(Scope::deadline().at()); };
  const auto inner = [&]() -> asio::awaitable<void> {
    look();
    co_await pause();
    look();
  };
  asio::co_spawn(
      scoped(context.get_executor(), until(kSoon)),
      [&]() -> asio::awaitable<void> {
        look();
        co_await pause();
        look();
        asio::steady_timer elsewhere(context, 1ms);  // Of the plain executor.
        co_await elsewhere.async_wait(use_awaitable);
        look();
        co_await inner();
        look();
        co_await asio::post(use_awaitable);
        look();
        asio::co_spawn(co_await asio::this_coro::executor, inner, asio::detached);
      },
      asio::detached);
  EXPECT_EQ(Scope::context(), nullptr);
  context.run();
  EXPECT_EQ(seen, std::vector<Instant>(9, kSoon));
  EXPECT_EQ(Scope::context(), nullptr);
}

TEST(ScopedExecutor, CoroutinesInTurnSeeEachItsOwn) {
  asio::io_context context;
  int looks = 0;
  const auto work = [&](Instant deadline, bool owned) -> asio::awaitable<void> {
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(Scope::deadline().at(), deadline);
      EXPECT_EQ(Scope::owned_above(), owned);
      ++looks;
      co_await asio::post(use_awaitable);
    }
  };
  const auto plain = context.get_executor();
  asio::co_spawn(scoped(plain, until(kSoon, true)), work(kSoon, true), asio::detached);
  asio::co_spawn(scoped(plain, until(kLater)), work(kLater, false), asio::detached);
  asio::co_spawn(plain, work(kNever, false), asio::detached);
  context.run();
  EXPECT_EQ(looks, 60);
}

// Invariant (1): it may even be resumed on the stack of the other one.
TEST(ScopedExecutor, WhoIsDispatchedInsideOfAnotherSeesItsOwn) {
  asio::io_context context;
  const auto soon = scoped(context.get_executor(), until(kSoon, true));
  const auto later = scoped(context.get_executor(), until(kLater));
  bool inside = false;
  asio::post(soon, [&] {
    EXPECT_TRUE(Scope::owned_above());
    asio::dispatch(later, [&] {
      EXPECT_EQ(Scope::deadline().at(), kLater);
      EXPECT_FALSE(Scope::owned_above());
      inside = true;
    });
    EXPECT_TRUE(inside);
    EXPECT_EQ(Scope::deadline().at(), kSoon);
  });
  context.run();
  EXPECT_TRUE(inside);
}

TEST(ScopedExecutor, HoldsOnSocketsOfItsOwnAndOfOthers) {
  using asio::ip::tcp;
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  int looks = 0;
  const auto look = [&] {
    EXPECT_EQ(Scope::deadline().at(), kSoon);
    ++looks;
  };
  asio::co_spawn(
      scoped(context.get_executor(), until(kSoon)),
      [&]() -> asio::awaitable<void> {
        tcp::socket client(co_await asio::this_coro::executor);
        co_await client.async_connect(acceptor.local_endpoint(), use_awaitable);
        look();
        tcp::socket server = co_await acceptor.async_accept(use_awaitable);
        look();
        const std::string text = "hello";
        co_await asio::async_write(client, asio::buffer(text), use_awaitable);
        look();
        std::array<char, 5> bytes{};
        co_await asio::async_read(server, asio::buffer(bytes), use_awaitable);
        look();
        co_await asio::async_write(server, asio::buffer(text), use_awaitable);
        co_await asio::async_read(client, asio::buffer(bytes), use_awaitable);
        look();
      },
      asio::detached);
  context.run();
  EXPECT_EQ(looks, 5);
}

TEST(ScopedExecutor, ScopedAgainHasTheNewOneAlone) {
  asio::io_context context;
  const auto first = scoped(context.get_executor(), until(kSoon, true));
  const auto second = scoped(first, until(kLater));
  using Flat = ScopedExecutor<asio::io_context::executor_type>;
  ASSERT_NE(second.target<Flat>(), nullptr);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, asio::any_io_executor(first));
  bool ran = false;
  asio::post(second, [&] {
    EXPECT_EQ(Scope::deadline().at(), kLater);
    EXPECT_FALSE(Scope::owned_above());
    ran = true;
  });
  context.run();
  EXPECT_TRUE(ran);
}

TEST(ScopedExecutor, GoesOverAStrandAsWell) {
  asio::io_context context;
  const auto strand = asio::make_strand(context.get_executor());
  const auto executor = scoped(scoped(strand, until(kSoon)), until(kLater));
  bool ran = false;
  asio::co_spawn(
      executor,
      [&]() -> asio::awaitable<void> {
        co_await pause();
        EXPECT_EQ(Scope::deadline().at(), kLater);
        EXPECT_TRUE(strand.running_in_this_thread());
        ran = true;
      },
      asio::detached);
  context.run();
  EXPECT_TRUE(ran);
}

TEST(ScopedExecutor, ABlockingCallInsideInheritsWithoutBeingTold) {
  asio::io_context context;
  Dependency dependency("test");
  asio::co_spawn(
      scoped(context.get_executor(), until(kSoon, true)),
      [&]() -> asio::awaitable<void> {
        co_await pause();
        const auto late = call(dependency, {.idempotent = true},
                               [](const Attempt&) { return decide::Outcome::success; });
        EXPECT_EQ(late.verdict(), Verdict::deadline_passed);
      },
      asio::detached);
  asio::co_spawn(
      scoped(context.get_executor(), until(kNever, true)),
      [&]() -> asio::awaitable<void> {
        co_await pause();
        const auto once = call(dependency, {.idempotent = true},
                               [](const Attempt&) { return decide::Outcome::transient; });
        EXPECT_EQ(once.verdict(), Verdict::layered);
      },
      asio::detached);
  context.run();
  EXPECT_EQ(dependency.tally().finished, 2u);
}

TEST(ScopedExecutor, KeepsWhatItInheritsAsLongAsAnybodyUsesIt) {
  asio::io_context context;
  run::SharedRequestContext shared(until(kSoon));
  ASSERT_NE(shared.find_unshared(), nullptr);
  {
    const auto executor = run::scoped(context.get_executor(), shared);
    EXPECT_EQ(shared.find_unshared(), nullptr);
    asio::post(executor, [&] {
      ASSERT_NE(Scope::context(), nullptr);
      EXPECT_EQ(Scope::context()->deadline.at(), kSoon);
    });
  }
  EXPECT_EQ(shared.find_unshared(), nullptr);  // What waits has it.
  EXPECT_EQ(context.run(), 1u);
  EXPECT_NE(shared.find_unshared(), nullptr);
  shared = run::SharedRequestContext();
  EXPECT_EQ(shared.find_unshared(), nullptr);
}

}  // namespace
}  // namespace damper
