#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/queue/work_queue/work_queue_core_testing.h"

// How other work queues got it wrong, and that this one does not. Each name has the trap's id.

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using enum admit::Criticality;
using AfterRun = TestQueue::AfterRun;

// client-go's drain returns when nothing is out, whatever is queued or marked.
TEST(WorkQueueCore, TrapQ1_DrainMeansEmptyQueuedInFlightAndReAdded) {  // Invariant (6).
  TestQueue queue;
  queue.add("a", 1s);
  queue.add("b", 1s);
  queue.get(1s);
  queue.add("a", 1s);
  queue.core.close();
  EXPECT_FALSE(queue.core.is_idle());  // a is out and marked, b is queued.
  queue.done("a", 1s);
  EXPECT_FALSE(queue.core.is_idle());  // Nothing is out; b and a are queued.
  EXPECT_EQ(queue.get(1s), "b");
  queue.done("b", 1s);
  EXPECT_FALSE(queue.core.is_idle());
  EXPECT_EQ(queue.get(1s), "a");
  EXPECT_FALSE(queue.core.is_idle());
  queue.done("a", 1s);
  EXPECT_TRUE(queue.core.is_idle());
  EXPECT_EQ(queue.run_all(1s), "");
}

// In client-go a second done of a key that was marked queues it twice.
TEST(WorkQueueCore, TrapQ2_ASpuriousDoneIsHarmlessAndCounted) {  // Invariants (1) and (5).
  TestQueue queue;
  queue.add("k", 1s);
  queue.get(1s);
  const Ticket first = queue.ticket("k");
  queue.add("k", 1s);
  const auto spurious = [&] {
    EXPECT_EQ(queue.core.done(first, Instant{1s}), AfterRun::stale);
    EXPECT_EQ(queue.core.done_until(first, Instant{2s}, Instant{1s}), AfterRun::stale);
    EXPECT_EQ(queue.core.park(first, Instant{1s}), AfterRun::stale);
  };
  queue.done("k", 1s);
  spurious();  // While it waits,
  EXPECT_EQ(queue.stats(1s).ready, 1u);
  EXPECT_EQ(queue.get(1s), "k");
  spurious();  // while it runs again,
  EXPECT_EQ(queue.stats(1s).running, 1u);
  queue.add("k", 1s);
  queue.add("other", 1s);
  EXPECT_EQ(queue.get(1s), "other");
  queue.done("k", 1s);
  EXPECT_EQ(queue.run_all(1s), "k");
  queue.add("new", 1s);
  spurious();  // and when another key has its place.
  EXPECT_EQ(queue.run_all(1s), "new");
  EXPECT_EQ(queue.stats(1s).spurious_done, 9u);
  EXPECT_EQ(queue.done("other", 1s), AfterRun::removed);
}

// client-go silently drops delayed keys when the queue shuts down.
TEST(WorkQueueCore, TrapQ4_WhatIsDelayedIsCountedAndHandedBackByTime) {  // Invariant (2).
  TestQueue queue;
  queue.add("parked", 2s);
  queue.get(2s);
  queue.payload("parked") = 5;
  queue.park("parked", 3s);
  queue.add_at("late", 9s, 1s);
  queue.add_at("early", 5s, 1s, {.priority = sheddable, .group = "x"});
  queue.add("ready", 4s);
  queue.core.close();
  const QueueStats stats = queue.stats(4s);
  EXPECT_EQ(stats.delayed, 2u);
  EXPECT_EQ(stats.parked, 1u);
  const auto back = queue.core.hand_back();
  ASSERT_EQ(back.size(), 4u);
  EXPECT_EQ(back[0].key, "parked");
  EXPECT_EQ(back[0].payload, 5);
  EXPECT_TRUE(back[0].parked);
  EXPECT_EQ(back[0].due, Instant{3s});
  EXPECT_EQ(back[1].key, "ready");
  EXPECT_EQ(back[1].due, Instant{4s});
  EXPECT_EQ(back[2].key, "early");
  EXPECT_EQ(back[2].due, Instant{5s});
  EXPECT_FALSE(back[2].parked);
  EXPECT_EQ(back[3].key, "late");
  EXPECT_EQ(back[3].due, Instant{9s});
  EXPECT_EQ(queue.stats(4s).delayed, 0u);
  EXPECT_EQ(queue.core.next_due(), kNever);
  EXPECT_TRUE(queue.core.hand_back().empty());
}

// How long a key of this class waits for one worker, which a steady stream of the most critical
// keys keeps busy: one comes every 10 ms and takes 10 ms.
Duration wait_in_a_storm(admit::Criticality priority) {
  TestQueue queue({.ageing = 10s});
  Duration now = 1h;
  queue.add("patient", now, {.priority = priority});
  for (int i = 0; i < 10'000; ++i) {
    queue.add("urgent " + std::to_string(i), now, {.priority = critical_plus});
    const std::string key = queue.get(now);
    if (key == "patient") return queue.waited;
    queue.done(key, now + 10ms);
    now += 10ms;
  }
  return kForever;
}

// In controller-runtime's priority queue it waits for ever.
TEST(WorkQueueCore, TrapQ8_AgeingBoundsTheWaitOfTheLowClass) {
  EXPECT_EQ(wait_in_a_storm(critical_plus), 0s);
  EXPECT_EQ(wait_in_a_storm(critical), 10s + 10ms);  // What its class is worth, and the next turn.
  EXPECT_EQ(wait_in_a_storm(sheddable_plus), 20s + 10ms);
  EXPECT_EQ(wait_in_a_storm(sheddable), 30s + 10ms);
}

// In one line for all, the quiet tenant stands behind ten thousand.
TEST(WorkQueueCore, TrapQ9_AQuietTenantWaitsForOneKeyOfANoisyOne) {
  TestQueue queue;
  for (int i = 0; i < 10'000; ++i) queue.add("noisy " + std::to_string(i), 1s, {.group = "noisy"});
  for (int i = 0; i < 100; ++i) {
    queue.add("quiet", 1s, {.group = "quiet"});
    std::string key = queue.get(1s);
    queue.done(key, 1s);
    if (key != "quiet") {
      key = queue.get(1s);
      queue.done(key, 1s);
    }
    ASSERT_EQ(key, "quiet") << i;
  }
  EXPECT_EQ(queue.stats(1s).ready, 9'900u);  // And the noisy one had every other turn.
}

TEST(WorkQueueCore, TrapQ9_ANoisyTenantNeitherFillsTheQueueNorTakesAllWorkers) {
  TestQueue queue({.capacity = 100, .group_capacity = 60, .group_running = 3});
  for (int i = 0; i < 1'000; ++i) queue.add("noisy " + std::to_string(i), 1s, {.group = "noisy"});
  EXPECT_EQ(queue.stats(1s).ready, 60u);
  EXPECT_EQ(queue.stats(1s).refused, 940u);
  int noisy = 0;
  while (!queue.get(1s).empty()) ++noisy;
  EXPECT_EQ(noisy, 3);
  EXPECT_EQ(queue.add("quiet", 1s, {.group = "quiet"}), Added::queued);
  EXPECT_EQ(queue.get(1s), "quiet");
}

TEST(WorkQueueCore, TrapQ9_WhenItIsFullTheNoisyTenantMakesRoom) {
  TestQueue queue({.capacity = 100, .at_limit = AtLimit::shed_least_important});
  queue.add("quiet", 1s, {.priority = sheddable, .group = "quiet"});
  for (int i = 1; i < 100; ++i) {
    queue.add(std::to_string(i), 1s, {.priority = sheddable, .group = "noisy"});
  }
  for (int i = 99; i > 1; --i) {  // While it has more than the other.
    queue.add("urgent " + std::to_string(i), 1s);
    ASSERT_EQ(queue.shed, std::to_string(i));
  }
}

// In client-go the two are two entries, and it runs now and later.
TEST(WorkQueueCore, TrapQ10_AnImmediateAndADelayedAddAreOneRun) {  // Invariant (3).
  for (const bool delayed_first : {true, false}) {
    TestQueue queue;
    if (delayed_first) queue.add_at("k", 9s, 1s);
    queue.add("k", 2s);
    if (!delayed_first) queue.add_at("k", 9s, 2s);
    const QueueStats stats = queue.stats(2s);
    EXPECT_EQ(stats.ready, 1u);
    EXPECT_EQ(stats.delayed, 0u);
    EXPECT_EQ(stats.merged, 1u);
    EXPECT_EQ(queue.core.next_due(), kNever);
    EXPECT_EQ(queue.run_all(2s), "k");
    EXPECT_EQ(queue.run_all(10s), "");
  }
}

}  // namespace
}  // namespace damper::queue
