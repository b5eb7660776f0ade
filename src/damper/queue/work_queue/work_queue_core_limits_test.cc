#include <gtest/gtest.h>

#include <string>

#include "damper/queue/work_queue/work_queue_core_testing.h"

// What happens to a WorkQueueCore at its limits, to keys that are parked, and at its end.

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using enum admit::Criticality;
using AfterRun = TestQueue::AfterRun;

constexpr AddOptions kLow{.priority = sheddable};
constexpr AddOptions kHigh{.priority = critical_plus};

// ---- Limits ------------------------------------------------------------------------------------

TEST(WorkQueueCore, HoldsNoMoreThanItsCapacity) {  // Invariant (4).
  TestQueue queue({.capacity = 4});
  queue.add("under way", 1s);
  queue.add("parked", 1s);
  queue.get(1s);
  queue.get(1s);
  queue.park("parked", 1s);
  queue.add("ready", 1s);
  queue.add_at("delayed", 9s, 1s);
  EXPECT_EQ(queue.add("a", 1s, kHigh), Added::refused);
  EXPECT_EQ(queue.add_at("a", 9s, 1s), Added::refused);
  EXPECT_EQ(queue.stats(1s).refused, 2u);
  // A key in the queue needs no room.
  EXPECT_EQ(queue.add("under way", 1s), Added::marked);
  EXPECT_EQ(queue.add("parked", 1s), Added::queued);
  EXPECT_EQ(queue.add("ready", 1s), Added::merged);
  EXPECT_EQ(queue.add("delayed", 1s), Added::merged);
  EXPECT_EQ(queue.done("under way", 1s), AfterRun::ready);
  EXPECT_EQ(queue.get(1s), "ready");
  queue.done("ready", 1s);
  EXPECT_EQ(queue.add("a", 1s), Added::queued);
}

TEST(WorkQueueCore, ShedsTheLeastImportantThatWaits) {  // Invariants (2) and (4).
  TestQueue queue({.capacity = 5, .at_limit = AtLimit::shed_least_important});
  queue.add("running", 1s, kLow);
  queue.get(1s);
  queue.add("low", 1s, kLow);
  queue.add_at("low and delayed", 9s, 1s, kLow);
  queue.add_at("delayed", 9s, 1s, {.priority = sheddable_plus});
  queue.add("default", 1s);
  EXPECT_EQ(queue.add("e", 1s, kLow), Added::refused);  // Not less important than itself.
  EXPECT_EQ(queue.shed, "");
  EXPECT_EQ(queue.add("a", 1s), Added::queued);
  EXPECT_EQ(queue.shed, "low and delayed");
  EXPECT_EQ(queue.add_at("b", 9s, 1s), Added::delayed);
  EXPECT_EQ(queue.shed, "low");
  EXPECT_EQ(queue.add("c", 1s), Added::queued);
  EXPECT_EQ(queue.shed, "delayed");
  EXPECT_EQ(queue.add("d", 1s), Added::refused);
  EXPECT_EQ(queue.add("d", 1s, kHigh), Added::queued);
  EXPECT_EQ(queue.shed, "b");
  EXPECT_EQ(queue.add("e", 1s, kHigh), Added::queued);
  EXPECT_EQ(queue.shed, "c");  // The newest of its class.
  const QueueStats stats = queue.stats(1s);
  EXPECT_EQ(stats.shed, 5u);
  EXPECT_EQ(stats.refused, 2u);
  EXPECT_EQ(stats.ready, 4u);
  EXPECT_EQ(stats.running, 1u);
  EXPECT_EQ(queue.run_all(1s), "d e default a");
  EXPECT_EQ(queue.core.next_due(), kNever);  // The timer of who was shed is gone too.
}

TEST(WorkQueueCore, WhoWasShedStartsAnew) {
  TestQueue queue({.capacity = 1, .at_limit = AtLimit::shed_least_important});
  queue.add("a", 1s, kLow);
  queue.get(1s);
  queue.payload("a") = 5;
  queue.done_until("a", 9s, 1s);
  queue.add("b", 2s);
  EXPECT_EQ(queue.shed, "a");
  EXPECT_EQ(queue.run_all(20s), "b");
  queue.add("a", 20s);
  queue.get(20s);
  EXPECT_EQ(queue.payload("a"), 0);
}

TEST(WorkQueueCore, AGroupHasABoundOfItsOwn) {  // Invariant (4).
  TestQueue queue({.capacity = 10, .at_limit = AtLimit::shed_least_important, .group_capacity = 2});
  queue.add("a1", 1s, {.priority = sheddable, .group = "a"});
  queue.add_at("a2", 9s, 1s, {.group = "a"});
  EXPECT_EQ(queue.add("a3", 1s, {.priority = critical_plus, .group = "a"}), Added::refused);
  EXPECT_EQ(queue.shed, "");
  EXPECT_EQ(queue.add("a1", 1s, {.group = "a"}), Added::merged);  // It is there already.
  EXPECT_EQ(queue.add("n1", 1s), Added::queued);                  // "" is a group like others.
  EXPECT_EQ(queue.add("n2", 1s), Added::queued);
  EXPECT_EQ(queue.add("n3", 1s), Added::refused);
  queue.get(1s);
  queue.done("a1", 1s);
  EXPECT_EQ(queue.add("a3", 1s, {.group = "a"}), Added::queued);
}

TEST(WorkQueueCore, NoMoreOfAGroupAreUnderWayThanMayBe) {
  TestQueue queue({.group_running = 1});
  for (const char* key : {"a1", "a2"}) queue.add(key, 1s, {.group = "a"});
  EXPECT_EQ(queue.get(1s), "a1");
  EXPECT_EQ(queue.get(1s), "");
  EXPECT_FALSE(queue.core.is_idle());
  queue.add("a1", 1s);
  EXPECT_EQ(queue.done("a1", 1s), AfterRun::ready);  // It stands behind the other.
  EXPECT_EQ(queue.get(1s), "a2");
  EXPECT_EQ(queue.get(1s), "");
  EXPECT_EQ(queue.done_until("a2", 5s, 2s), AfterRun::delayed);
  EXPECT_EQ(queue.get(2s), "a1");
  EXPECT_EQ(queue.get(5s), "");
  EXPECT_EQ(queue.park("a1", 5s), AfterRun::parked);
  EXPECT_EQ(queue.get(5s), "a2");
}

// ---- Parking -----------------------------------------------------------------------------------

TEST(WorkQueueCore, AParkedKeyStaysUntilSomebodyAddsIt) {
  TestQueue queue;
  queue.add("a", 1s);
  queue.get(1s);
  queue.payload("a") = 9;
  EXPECT_EQ(queue.park("a", 2s), AfterRun::parked);
  EXPECT_TRUE(queue.core.is_idle());
  EXPECT_EQ(queue.get(1h), "");
  std::string parked;
  queue.core.for_each_parked([&](const std::string& key, const int& payload, Instant since) {
    parked += key + std::to_string(payload);
    EXPECT_EQ(since, Instant{2s});
  });
  EXPECT_EQ(parked, "a9");
  EXPECT_EQ(queue.add_at("a", 5s, 3s), Added::delayed);
  EXPECT_EQ(queue.get(5s), "a");
  EXPECT_EQ(queue.payload("a"), 0);  // Anew.
  EXPECT_EQ(queue.stats(5s).parked, 0u);
  EXPECT_EQ(queue.stats(5s).adds, 2u);
}

TEST(WorkQueueCore, WhatWasAddedMeanwhileIsNotParked) {  // Invariant (2).
  TestQueue queue;
  queue.add("a", 1s);
  queue.get(1s);
  queue.payload("a") = 9;
  queue.add_at("a", 7s, 1s);
  EXPECT_EQ(queue.park("a", 2s), AfterRun::delayed);
  EXPECT_EQ(queue.get(7s), "a");
  EXPECT_EQ(queue.payload("a"), 0);
  queue.add("a", 7s);
  EXPECT_EQ(queue.park("a", 7s), AfterRun::ready);
  EXPECT_EQ(queue.stats(7s).parked, 0u);
}

TEST(WorkQueueCore, AParkedKeyCanBeRevived) {
  TestQueue queue;
  for (const char* key : {"a", "b", "c"}) queue.add(key, 1s, kLow);
  for (const char* key : {"a", "b", "c"}) {
    queue.get(1s);
    queue.park(key, 1s);
  }
  EXPECT_FALSE(queue.core.revive("d", Instant{2s}));
  EXPECT_TRUE(queue.core.revive("b", Instant{2s}));
  EXPECT_FALSE(queue.core.revive("b", Instant{2s}));  // It waits now.
  EXPECT_EQ(queue.stats(2s).parked, 2u);
  EXPECT_EQ(queue.get(2s), "b");
  EXPECT_FALSE(queue.core.revive("b", Instant{2s}));
  queue.core.close();
  EXPECT_FALSE(queue.core.revive("a", Instant{2s}));  // Invariant (6).
  EXPECT_EQ(queue.hand_back(), "a c");
}

// ---- Closing and handing back ------------------------------------------------------------------

TEST(WorkQueueCore, AfterCloseOnlyWhatIsUnderWayComesBack) {  // Invariant (6).
  TestQueue queue;
  for (const char* key : {"a", "b", "c"}) queue.add(key, 1s);
  for (int i = 0; i < 3; ++i) queue.get(1s);
  queue.add("a", 1s);
  queue.core.close();
  EXPECT_TRUE(queue.core.is_closed());
  EXPECT_EQ(queue.add("d", 1s), Added::closed);
  EXPECT_EQ(queue.add("b", 1s), Added::closed);  // No mark either.
  EXPECT_EQ(queue.stats(1s).closed, 2u);
  EXPECT_EQ(queue.done("b", 1s), AfterRun::removed);
  EXPECT_EQ(queue.done("a", 1s), AfterRun::ready);
  EXPECT_EQ(queue.done_until("c", 2s, 1s), AfterRun::delayed);
  EXPECT_EQ(queue.run_all(1s), "a");
  EXPECT_TRUE(queue.core.is_idle());
  EXPECT_EQ(queue.run_all(2s), "c");
}

TEST(WorkQueueCore, WhatIsUnderWayIsNotHandedBack) {
  TestQueue queue;
  for (const char* key : {"a", "b"}) queue.add(key, 1s);
  queue.get(1s);
  queue.add("a", 1s);
  EXPECT_EQ(queue.hand_back(), "b");
  EXPECT_FALSE(queue.core.is_idle());
  EXPECT_EQ(queue.done("a", 1s), AfterRun::ready);
  EXPECT_EQ(queue.hand_back(), "a");
  EXPECT_TRUE(queue.core.is_idle());
  EXPECT_EQ(queue.stats(1s).groups, 0u);
  EXPECT_EQ(queue.add("b", 1s), Added::queued);  // They are really gone.
}

TEST(WorkQueueCore, WhatIsReadyMayStay) {
  TestQueue queue;
  queue.add("ready", 1s, {.group = "x"});
  queue.add_at("late", 9s, 1s, {.group = "x"});
  queue.add_at("early", 5s, 1s);
  EXPECT_EQ(queue.hand_back(HandBack::all_but_ready), "early late");
  EXPECT_EQ(queue.run_all(10s), "ready");
}

}  // namespace
}  // namespace damper::queue
