#include "damper/queue/work_queue/async_work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstddef>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using Queue = AsyncWorkQueue<std::string>;
using Error = boost::system::error_code;

// What a get ended with.
struct Got {
  std::optional<Error> error;
  Queue::Lease lease;

  auto handler() {
    return [this](Error ended, Queue::Lease item) {
      error = ended;
      lease = std::move(item);
    };
  }
};

TEST(AsyncWorkQueue, AGetTakesWhatIsReadyButNotInline) {
  asio::io_context context;
  Queue queue(context.get_executor());
  queue.add("a");
  Got got;
  queue.async_get(got.handler());
  EXPECT_FALSE(got.error);
  EXPECT_EQ(queue.stats().running, 1u);
  context.run();
  EXPECT_EQ(got.error, Error{});
  EXPECT_EQ(got.lease.key(), "a");
  EXPECT_EQ(queue.queue_times().samples(run::now()), 1);
}

TEST(AsyncWorkQueue, AnAddEndsTheFirstGetInLineButNotInline) {
  asio::io_context context;
  Queue queue(context.get_executor());
  Got first;
  Got second;
  queue.async_get(first.handler());
  queue.async_get(second.handler());
  EXPECT_EQ(context.poll(), 0u);
  EXPECT_EQ(queue.waiting(), 2u);
  queue.add("a");
  EXPECT_FALSE(first.error);
  EXPECT_EQ(context.poll(), 1u);
  EXPECT_EQ(first.lease.key(), "a");
  EXPECT_FALSE(second.error);
  EXPECT_FALSE(context.stopped());  // There is work to come.
  queue.add("a");                   // Marked: it is running.
  first.lease.done();
  context.run();
  EXPECT_EQ(second.lease.key(), "a");
}

TEST(AsyncWorkQueue, ACoroutineWorksOffTheKeysUntilShutDown) {
  asio::io_context context;
  Queue queue(context.get_executor());
  std::string seen;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        while (auto item = co_await queue.async_get(asio::use_awaitable)) {
          seen += item.key();
          item.done();
        }
        seen += '.';
      },
      asio::detached);
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        for (const char* key : {"a", "b", "c"}) {
          queue.add(key);
          co_await asio::post(context, asio::use_awaitable);
        }
        EXPECT_TRUE(queue.shut_down().empty());
      },
      asio::detached);
  context.run();
  EXPECT_EQ(seen, "abc.");
}

TEST(AsyncWorkQueue, ADelayedKeyComesAtItsTime) {
  asio::io_context context;
  Queue queue(context.get_executor());
  Got first;
  Got second;
  const Instant before = run::now();
  queue.add_after("later", 300ms);
  queue.async_get(first.handler());
  queue.add_after("soon", 1ms);  // Earlier than what the timer is set for.
  queue.async_get(second.handler());
  context.run();
  EXPECT_EQ(first.lease.key(), "soon");
  EXPECT_EQ(second.lease.key(), "later");
  EXPECT_GE(run::now(), before + 300ms);
}

TEST(AsyncWorkQueue, TheTimerKeepsNoContextRunningWhenNobodyWaits) {
  asio::io_context context;
  Queue queue(context.get_executor());
  queue.add_after("late", 1h);
  asio::cancellation_signal signal;
  Got got;
  queue.async_get(asio::bind_cancellation_slot(signal.slot(), got.handler()));
  context.poll();
  signal.emit(asio::cancellation_type::terminal);
  context.run();  // It ends.
  EXPECT_EQ(got.error, asio::error::operation_aborted);
}

TEST(AsyncWorkQueue, TrapQ4_ShutDownHandsBackAndSendsEveryoneHome) {
  asio::io_context context;
  Queue queue(context.get_executor());
  Got first;
  Got second;
  queue.add_after("late", 1h);
  queue.async_get(first.handler());
  queue.async_get(second.handler());
  context.poll();
  const auto unfinished = queue.shut_down();
  ASSERT_EQ(unfinished.size(), 1u);
  EXPECT_EQ(unfinished[0].key, "late");
  context.run();
  for (const Got* got : {&first, &second}) {
    EXPECT_EQ(got->error, Error{});
    EXPECT_FALSE(got->lease);
  }
  context.restart();
  Got third;
  queue.async_get(third.handler());
  context.run();
  EXPECT_EQ(third.error, Error{});
  EXPECT_FALSE(third.lease);
}

TEST(AsyncWorkQueue, AfterShutDownAGetWaitsForAKeyThatWillRunAgain) {
  asio::io_context context;
  Queue queue(context.get_executor());
  queue.add("a");
  auto item = queue.try_get();
  queue.add("a");
  Got first;
  Got second;
  queue.async_get(first.handler());
  queue.async_get(second.handler());
  EXPECT_TRUE(queue.shut_down().empty());
  context.poll();
  EXPECT_FALSE(first.error);
  item.done();
  context.run();
  EXPECT_EQ(first.lease.key(), "a");
  EXPECT_EQ(second.error, Error{});
  EXPECT_FALSE(second.lease);
}

TEST(AsyncWorkQueue, ACancelledGetTakesNoKey) {
  asio::io_context context;
  Queue queue(context.get_executor());
  asio::cancellation_signal signal;
  Got cancelled;
  Got other;
  queue.async_get(asio::bind_cancellation_slot(signal.slot(), cancelled.handler()));
  queue.async_get(other.handler());
  context.poll();
  signal.emit(asio::cancellation_type::total);
  EXPECT_FALSE(cancelled.error);  // Not inline.
  queue.add("a");
  context.run();
  EXPECT_EQ(cancelled.error, asio::error::operation_aborted);
  EXPECT_FALSE(cancelled.lease);
  EXPECT_EQ(other.lease.key(), "a");
  signal.emit(asio::cancellation_type::total);  // Its slot is empty by now.
}

TEST(AsyncWorkQueue, ACancellationThatComesTooLateChangesNothing) {
  asio::io_context context;
  Queue queue(context.get_executor());
  asio::cancellation_signal signal;
  Got got;
  queue.async_get(asio::bind_cancellation_slot(signal.slot(), got.handler()));
  queue.add("a");
  signal.emit(asio::cancellation_type::all);
  context.run();
  EXPECT_EQ(got.error, Error{});
  EXPECT_EQ(got.lease.key(), "a");
}

TEST(AsyncWorkQueue, NoMoreGetsWaitThanMay) {
  asio::io_context context;
  Queue queue(context.get_executor(), {}, nullptr, 1);
  Got first;
  Got second;
  queue.async_get(first.handler());
  queue.async_get(second.handler());
  context.poll();
  EXPECT_FALSE(first.error);
  EXPECT_EQ(second.error, asio::error::no_buffer_space);
  auto thrown = asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> { (void)co_await queue.async_get(asio::use_awaitable); },
      asio::use_future);
  context.poll();
  EXPECT_THROW(thrown.get(), boost::system::system_error);
  queue.add("a");
  context.run();
  EXPECT_EQ(first.lease.key(), "a");
}

TEST(AsyncWorkQueue, AQueueThatGoesAbortsWhatWaits) {
  asio::io_context context;
  Got got;
  asio::cancellation_signal signal;
  {
    Queue queue(context.get_executor());
    queue.add_after("late", 1h);
    queue.async_get(asio::bind_cancellation_slot(signal.slot(), got.handler()));
    context.poll();
  }
  signal.emit(asio::cancellation_type::all);
  context.run();
  EXPECT_EQ(got.error, asio::error::operation_aborted);
}

TEST(AsyncWorkQueue, AHandlerRunsOnItsOwnExecutor) {
  asio::io_context context;
  asio::io_context other;
  Queue queue(context.get_executor());
  Got got;
  queue.async_get(asio::bind_executor(other.get_executor(), got.handler()));
  EXPECT_EQ(other.poll(), 0u);
  EXPECT_FALSE(other.stopped());  // There is work to come.
  queue.add("a");
  context.run();
  EXPECT_FALSE(got.error);
  other.run();
  EXPECT_EQ(got.lease.key(), "a");
}

TEST(AsyncWorkQueue, TwoThreadsRunManyWorkersAndNoKeyRunsTwiceAtOnce) {
  constexpr std::size_t kKeys = 16;
  constexpr int kAdds = 2'000;
  asio::io_context context;
  AsyncWorkQueue<std::size_t> queue(context.get_executor());
  std::vector<std::atomic<int>> workers(kKeys);
  std::atomic<int> runs{0};
  std::atomic<int> ended{0};
  for (int i = 0; i < 8; ++i) {
    asio::co_spawn(
        asio::make_strand(context),
        [&]() -> asio::awaitable<void> {
          while (auto item = co_await queue.async_get(asio::use_awaitable)) {
            EXPECT_EQ(workers[item.key()].fetch_add(1), 0);
            ++runs;
            co_await asio::post(context, asio::use_awaitable);
            workers[item.key()].fetch_sub(1);
            item.done();
          }
          ++ended;
        },
        asio::detached);
  }
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back([&] { context.run(); });
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        for (std::size_t j = 0; j < kAdds; ++j) {
          (void)(j % 8 == 0 ? queue.add_after(j % kKeys, 10us) : queue.add(j % kKeys));
        }
      });
    }
    threads.pop_back();
    threads.pop_back();  // They have added all.
    while (queue.stats().delayed > 0) std::this_thread::yield();
    (void)queue.shut_down();  // A key may have been marked for later.
  }
  EXPECT_EQ(ended, 8);
  EXPECT_GE(runs, static_cast<int>(kKeys));
  EXPECT_EQ(queue.stats().ready + queue.stats().running, 0u);
}

}  // namespace
}  // namespace damper::queue
