#include "damper/queue/work_queue/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using Queue = WorkQueue<std::string>;

void await_waiting(const Queue& queue, std::size_t workers) {
  while (queue.waiting() != workers) std::this_thread::yield();
}

TEST(WorkQueue, AnAddWakesAWorkerThatWaits) {
  Queue queue;
  std::string seen;
  std::jthread worker([&] { seen = queue.get().key(); });
  await_waiting(queue, 1);
  queue.add("a");
  worker.join();
  EXPECT_EQ(seen, "a");
}

TEST(WorkQueue, EachKeyWakesOneWorker) {
  Queue queue;
  std::atomic<int> woken{0};
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i) {
      workers.emplace_back([&] {
        if (auto item = queue.get()) ++woken, item.done();
      });
    }
    await_waiting(queue, 4);
    for (const char* key : {"a", "b", "c", "d"}) queue.add(key);
  }
  EXPECT_EQ(woken, 4);
}

TEST(WorkQueue, DoneWakesAWorkerForAKeyThatWasAddedMeanwhile) {
  Queue queue;
  queue.add("a");
  auto item = queue.get();
  queue.add("a");
  std::jthread worker([&] { EXPECT_EQ(queue.get().key(), "a"); });
  await_waiting(queue, 1);
  item.done();
}

TEST(WorkQueue, DoneWakesAWorkerForTheNextKeyOfItsGroup) {
  Queue queue({.group_running = 1});
  queue.add("a", {.group = "tenant"});
  queue.add("b", {.group = "tenant"});
  auto item = queue.get();
  std::jthread worker([&] { EXPECT_EQ(queue.get().key(), "b"); });
  await_waiting(queue, 1);
  item.done();
}

TEST(WorkQueue, ATimedGetEndsAtItsTime) {
  Queue queue;
  const Instant before = run::now();
  EXPECT_FALSE(queue.get_for(2ms));
  EXPECT_GE(run::now(), before + 2ms);
  EXPECT_FALSE(queue.get_for(0s));
  EXPECT_FALSE(queue.get_for(-1s));
  queue.add("a");
  EXPECT_EQ(queue.get_for(0s).key(), "a");
}

TEST(WorkQueue, ATimedGetTakesWhatComesInTime) {
  Queue queue;
  std::jthread worker([&] { EXPECT_EQ(queue.get_for(1h).key(), "a"); });
  await_waiting(queue, 1);
  queue.add("a");
}

TEST(WorkQueue, AWaitingWorkerWakesWhenADelayedKeyIsDue) {
  Queue queue;
  const Instant before = run::now();
  queue.add_after("b", 1h);
  queue.add_after("a", 2ms);
  EXPECT_EQ(queue.get().key(), "a");
  EXPECT_GE(run::now(), before + 2ms);
}

TEST(WorkQueue, AnEarlierTimeWakesWhoeverWatchesALaterOne) {
  Queue queue;
  queue.add_after("late", 1h);
  std::jthread worker([&] { EXPECT_EQ(queue.get().key(), "soon"); });
  await_waiting(queue, 1);
  queue.add_after("soon", 1ms);
}

TEST(WorkQueue, AMergedAddThatMakesAKeyEarlierWakesTheWatch) {
  Queue queue;
  queue.add_after("a", 1h);
  std::jthread worker([&] { EXPECT_EQ(queue.get().key(), "a"); });
  await_waiting(queue, 1);
  EXPECT_EQ(queue.add_after("a", 1ms).added, Added::merged);
}

TEST(WorkQueue, WhoeverWatchedPassesItOn) {
  Queue queue;
  queue.add_after("a", 1s);
  std::atomic<bool> left{false};
  std::jthread first([&] {
    EXPECT_FALSE(queue.get_for(10ms));  // It watches, and leaves before the time.
    left = true;
  });
  await_waiting(queue, 1);
  std::jthread second([&] { EXPECT_EQ(queue.get().key(), "a"); });
  while (queue.waiting() < 2 && !left) std::this_thread::yield();
}

TEST(WorkQueue, WhoeverTakesADueKeyLeavesSomebodyToWatchForTheNext) {
  Queue queue;
  std::atomic<int> woken{0};
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 3; ++i) {
      workers.emplace_back([&] {
        if (auto item = queue.get()) ++woken, item.done();
      });
    }
    await_waiting(queue, 3);
    queue.add_after("a", 1ms);
    queue.add_after("b", 1ms);
    queue.add_after("c", 3ms);
  }
  EXPECT_EQ(woken, 3);
}

TEST(WorkQueue, AStopRequestEndsAGet) {
  Queue queue;
  std::stop_source stop;
  std::jthread worker([&] { EXPECT_FALSE(queue.get(stop.get_token())); });
  await_waiting(queue, 1);
  stop.request_stop();
  worker.join();
  queue.add("a");
  EXPECT_FALSE(queue.get(stop.get_token()));  // It takes no key even if there is one.
  EXPECT_EQ(queue.get(std::stop_token()).key(), "a");
  EXPECT_EQ(queue.stats().running, 0u);
}

TEST(WorkQueue, AStopRequestLeavesTheOthersWaiting) {
  Queue queue;
  std::stop_source stop;
  std::jthread other([&] { EXPECT_EQ(queue.get().key(), "a"); });
  std::jthread stopped([&] { EXPECT_FALSE(queue.get(stop.get_token())); });
  await_waiting(queue, 2);
  stop.request_stop();
  stopped.join();
  await_waiting(queue, 1);
  queue.add("a");
}

TEST(WorkQueue, ShutDownSendsTheWorkersHome) {
  Queue queue;
  std::jthread worker([&] {
    int count = 0;
    while (auto item = queue.get()) ++count, item.done();
    EXPECT_EQ(count, 2);
  });
  queue.add("a");
  queue.add("b");
  (void)queue.shut_down();  // What is ready is still handed out.
  worker.join();
  EXPECT_FALSE(queue.get());
  EXPECT_FALSE(queue.get_for(1h));
}

TEST(WorkQueue, AfterShutDownAGetWaitsForAKeyThatWillRunAgain) {
  Queue queue;
  queue.add("a");
  auto item = queue.get();
  queue.add("a");
  (void)queue.shut_down();
  std::jthread worker([&] {
    EXPECT_EQ(queue.get().key(), "a");
    EXPECT_FALSE(queue.get());
  });
  await_waiting(queue, 1);
  item.done();
}

TEST(WorkQueue, AfterShutDownAGetDoesNotWaitForWhatWillNotRunAgain) {
  Queue queue;
  queue.add("a");
  const auto item = queue.get();
  (void)queue.shut_down();
  EXPECT_FALSE(queue.get());  // Or it would wait for itself.
}

TEST(WorkQueue, TrapQ1_DrainMeansEmpty) {
  Queue queue;
  for (int i = 0; i < 100; ++i) queue.add("key" + std::to_string(i));
  queue.add_after("late", 1h);
  std::atomic<int> runs{0};
  auto first = queue.get();
  queue.add("key0");  // While it is running: it runs again, in the drain.
  std::jthread worker([&] {
    while (auto item = queue.get()) ++runs, item.done();
  });
  std::jthread holder([&] {
    while (!queue.is_closed()) std::this_thread::yield();
    first.done();
  });
  const auto drained = queue.drain();
  EXPECT_TRUE(drained.empty);
  ASSERT_EQ(drained.unfinished.size(), 1u);
  EXPECT_EQ(drained.unfinished[0].key, "late");
  EXPECT_EQ(runs, 100);  // 99 and key0 again.
  EXPECT_EQ(queue.stats().ready + queue.stats().running, 0u);
}

TEST(WorkQueue, TrapQ1_ADrainThatIsNotEmptyInTimeSaysSo) {
  Queue queue;
  queue.add("ready");
  EXPECT_FALSE(queue.drain(1ms).empty);
  auto item = queue.get();
  EXPECT_FALSE(queue.drain(0s).empty);
  item.done();
  EXPECT_TRUE(queue.drain(0s).empty);
}

TEST(WorkQueue, TrapQ3_TwoDrainersBothWake) {
  for (int round = 0; round < 50; ++round) {
    Queue queue;
    queue.add("a");
    queue.add("b");
    auto a = queue.get();
    auto b = queue.get();
    std::atomic<std::size_t> unfinished{0};
    {
      std::vector<std::jthread> drainers;
      for (int i = 0; i < 2; ++i) {
        drainers.emplace_back([&] {
          const auto drained = queue.drain();
          EXPECT_TRUE(drained.empty);
          unfinished += drained.unfinished.size();
        });
      }
      while (queue.draining() != 2) std::this_thread::yield();
      a.done_after(1h);
      b.done();
    }
    EXPECT_EQ(unfinished, 1u);  // One of them was given it.
  }
}

TEST(WorkQueue, HandBackLetsADrainEnd) {
  Queue queue;
  queue.add("a");
  std::jthread drainer([&] { EXPECT_TRUE(queue.drain().empty); });
  while (!queue.is_closed()) std::this_thread::yield();
  EXPECT_EQ(queue.hand_back().size(), 1u);
}

}  // namespace
}  // namespace damper::queue
