#include "damper/run/async/async_attempts.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <optional>

#include "damper/run/async/async_call.h"
#include "damper/run/async/async_call_testing.h"

// What becomes of attempts when a call ends, or gives them up.

namespace damper {
namespace {

using asio::ip::tcp;
using decide::Outcome;

// ---- Attempts that are given up ----------------------------------------------------------------

TEST(AsyncAttempts, TheLoserOfAHedgeIsCancelledAtItsSocket) {
  Dependency dependency("test", hedging_policy());
  warm(dependency);
  asio::io_context context(1);
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  int losers_seen = 0;
  // Never answers its first connection, and waits for the end of it.
  const auto first = [&](tcp::socket socket) -> asio::awaitable<void> {
    std::array<char, 1> byte{};
    boost::system::error_code error;
    co_await socket.async_read_some(asio::buffer(byte),
                                    asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::eof || error == asio::error::connection_reset) ++losers_seen;
  };
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        tcp::socket one = co_await acceptor.async_accept(asio::use_awaitable);
        asio::co_spawn(context, first(std::move(one)), asio::detached);
        tcp::socket two = co_await acceptor.async_accept(asio::use_awaitable);
        co_await two.async_write_some(asio::buffer("x", 1), asio::use_awaitable);
      },
      asio::detached);
  int ended = 0;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        auto result = co_await async_call(
            dependency, {.safe = true},
            [&](Attempt attempt) -> asio::awaitable<Result<std::uint32_t>> {
              struct Count {
                int& count;
                ~Count() { ++count; }
              } const counts{ended};
              tcp::socket socket(co_await asio::this_coro::executor);
              co_await socket.async_connect(acceptor.local_endpoint(), asio::use_awaitable);
              std::array<char, 1> byte{};
              co_await asio::async_read(socket, asio::buffer(byte), asio::use_awaitable);
              co_return attempt.number();
            });
        EXPECT_EQ(*result, 2u);
        EXPECT_EQ(ended, 2);  // Both coroutines: nothing refers to this frame any more.
      },
      asio::detached);
  context.run();
  EXPECT_EQ(losers_seen, 1);
  EXPECT_EQ(dependency.tally().hedges_won, 1u);
}

TEST(AsyncAttempts, AnAttemptThatIsLateIsCancelledAndAnotherOneIsMade) {
  engine::Policy policy = quick_policy();
  policy.call.per_try_timeout = 5ms;
  Dependency dependency("test", policy);
  int cancelled = 0;
  run_here([&]() -> asio::awaitable<void> {
    const auto result = co_await async_call(dependency, {.safe = true},
                                            [&](Attempt attempt) -> asio::awaitable<Outcome> {
                                              try {
                                                if (attempt.number() < 3) co_await pause(1h);
                                              } catch (const boost::system::system_error& error) {
                                                if (error.code() == asio::error::operation_aborted)
                                                  ++cancelled;
                                                throw;
                                              }
                                              co_return Outcome::success;
                                            });
    EXPECT_EQ(result.verdict(), Verdict::success);
    EXPECT_EQ(result.attempts(), 3u);
  });
  EXPECT_EQ(cancelled, 2);
}

// An attempt that takes its time to end holds its place, and the call waits for it.
TEST(AsyncAttempts, AttemptsThatLingerAreWaitedForAndNotListenedTo) {
  engine::Policy policy = quick_policy();
  policy.call.per_try_timeout = 2ms;
  policy.call.max_attempts = 8;
  Dependency dependency("test", policy);
  int ended = 0;
  run_here([&]() -> asio::awaitable<void> {
    auto result = co_await async_call(
        dependency, {.safe = true}, [&](Attempt attempt) -> asio::awaitable<Result<std::uint32_t>> {
          if (attempt.number() < 8) {
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            co_await pause(100ms);
          }
          ++ended;
          co_return attempt.number();
        });
    EXPECT_EQ(*result, 8u);
    EXPECT_EQ(ended, 8);
  });
}

TEST(AsyncAttempts, TheDeadlineEndsACallWhoseAttemptHangs) {
  Dependency dependency("test", quick_policy());
  run_here([&]() -> asio::awaitable<void> {
    const auto result = co_await async_call(dependency, {.deadline = in(5ms)},
                                            [](Attempt) -> asio::awaitable<Outcome> {
                                              co_await pause(1h);
                                              co_return Outcome::success;
                                            });
    EXPECT_EQ(result.verdict(), Verdict::deadline_passed);
  });
}

// ---- The caller gives up -----------------------------------------------------------------------

TEST(AsyncAttempts, CancellingTheCallCancelsItsAttempt) {
  Dependency dependency("test", quick_policy());
  asio::io_context context(1);
  asio::cancellation_signal signal;
  std::optional<Verdict> verdict;
  bool attempt_ended = false;
  async_call(
      context.get_executor(), dependency, {.safe = true},
      [&](Attempt) -> asio::awaitable<Outcome> {
        struct Set {
          bool& flag;
          ~Set() { flag = true; }
        } const sets{attempt_ended};
        asio::post(context, [&] {
          signal.emit(asio::cancellation_type::terminal);
          EXPECT_FALSE(verdict);  // Never inside of emit().
        });
        co_await pause(1h);
        co_return Outcome::success;
      },
      asio::bind_cancellation_slot(signal.slot(), [&](const CallResult<Done>& result) {
        EXPECT_TRUE(attempt_ended);
        verdict = result.verdict();
      }));
  context.run();
  EXPECT_EQ(verdict, Verdict::cancelled);
}

TEST(AsyncAttempts, CancellingACallInItsBackoffEndsIt) {
  Dependency dependency("test", slow_policy());
  asio::io_context context(1);
  asio::cancellation_signal signal;
  std::optional<Verdict> verdict;
  async_call(context.get_executor(), dependency, {.safe = true}, ends(Outcome::transient),
             asio::bind_cancellation_slot(signal.slot(), [&](const CallResult<Done>& result) {
               verdict = result.verdict();
             }));
  while (!somebody_waits(dependency)) context.run_one();
  signal.emit(asio::cancellation_type::total);  // It cannot promise that nothing has happened.
  context.poll();
  EXPECT_FALSE(verdict);
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_FALSE(verdict);
  context.run();
  EXPECT_EQ(verdict, Verdict::cancelled);
}

TEST(AsyncAttempts, AnOperationMayCancelItsOwnCall) {
  Dependency dependency("test", quick_policy());
  asio::io_context context(1);
  asio::cancellation_signal signal;
  std::optional<Verdict> verdict;
  async_call(
      context.get_executor(), dependency, {.safe = true},
      [&](Attempt) -> asio::awaitable<Outcome> {
        signal.emit(asio::cancellation_type::terminal);  // It never waits.
        co_return Outcome::success;
      },
      asio::bind_cancellation_slot(
          signal.slot(), [&](const CallResult<Done>& result) { verdict = result.verdict(); }));
  context.run();
  EXPECT_EQ(verdict, Verdict::cancelled);
}

TEST(AsyncAttempts, WorksBesideOtherOperations) {
  using asio::experimental::awaitable_operators::operator||;
  Dependency dependency("test", quick_policy());
  run_here([&]() -> asio::awaitable<void> {
    const auto forever = [](Attempt) -> asio::awaitable<Outcome> {
      co_await pause(1h);
      co_return Outcome::success;
    };
    const auto first = co_await (async_call(dependency, {}, forever) || pause(2ms));
    EXPECT_EQ(first.index(), 1u);
  });
  EXPECT_EQ(dependency.tally().of(Verdict::cancelled), 1u);
}

}  // namespace
}  // namespace damper
