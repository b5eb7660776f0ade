#include "damper/queue/work_queue/work_queue_core.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "damper/queue/work_queue/work_queue_core_testing.h"

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using enum admit::Criticality;
using AfterRun = TestQueue::AfterRun;

constexpr AddOptions kLow{.priority = sheddable};
constexpr AddOptions kHigh{.priority = critical_plus};

// ---- Tickets, payloads, times ------------------------------------------------------------------

TEST(WorkQueueCore, ChecksItsOptions) { EXPECT_DEATH(TestQueue({.capacity = 0}), "check failed"); }

TEST(WorkQueueCore, ATicketIsGoodForOneRun) {  // Invariant (5).
  TestQueue queue;
  queue.add("a", 1s);
  queue.get(1s);
  const Ticket first = queue.ticket("a");
  EXPECT_TRUE(queue.core.is_outstanding(first));
  EXPECT_EQ(queue.core.key(first), "a");
  queue.add("a", 1s);
  EXPECT_EQ(queue.done("a", 1s), AfterRun::ready);
  EXPECT_FALSE(queue.core.is_outstanding(first));
  queue.get(1s);
  EXPECT_FALSE(queue.core.is_outstanding(first));  // The key runs again; that is another run.
  EXPECT_NE(queue.ticket("a"), first);
  EXPECT_EQ(queue.core.done(first, Instant{1s}), AfterRun::stale);
  EXPECT_TRUE(queue.core.is_outstanding(queue.ticket("a")));
}

TEST(WorkQueueCore, ATicketMadeFromNothingIsNeverOut) {  // Invariant (5).
  TestQueue queue;
  EXPECT_FALSE(queue.core.is_outstanding(Ticket{}));
  for (int i = 0; i < 3; ++i) {
    queue.add("a", 1s);
    queue.get(1s);
    EXPECT_FALSE(queue.core.is_outstanding(Ticket{}));
    EXPECT_EQ(queue.core.done(Ticket{}, Instant{1s}), AfterRun::stale);
    EXPECT_EQ(queue.done("a", 1s), AfterRun::removed);
  }
  EXPECT_FALSE(queue.core.is_outstanding(Ticket{.index = 1'000'000, .generation = 1}));
}

TEST(WorkQueueCore, TheTicketOfTheNextRunIsNotOutBeforeIt) {  // Invariant (5).
  TestQueue queue;
  queue.add("a", 1s);
  queue.get(1s);
  queue.add("a", 1s);
  const Ticket first = queue.ticket("a");
  queue.done("a", 1s);
  const Ticket next{.index = first.index, .generation = first.generation + 2};
  EXPECT_FALSE(queue.core.is_outstanding(next));
  queue.get(1s);
  EXPECT_EQ(queue.ticket("a"), next);
  EXPECT_TRUE(queue.core.is_outstanding(next));
}

TEST(WorkQueueCore, IsOverOnceItIsClosedAndNothingIsReady) {
  TestQueue queue;
  queue.add("a", 1s);
  EXPECT_FALSE(queue.core.is_over());
  queue.core.close();
  EXPECT_FALSE(queue.core.is_over());  // It still runs.
  queue.get(1s);
  EXPECT_TRUE(queue.core.is_over());  // For get(): the run adds nothing.
}

TEST(WorkQueueCore, NoKeyIsReadyWhileEveryGroupIsAtItsLimit) {
  TestQueue queue({.group_running = 1});
  queue.add("a", 1s);
  queue.add("b", 1s);
  EXPECT_EQ(queue.core.ready(), 2u);
  queue.get(1s);
  EXPECT_EQ(queue.core.ready(), 0u);
  queue.done("a", 1s);
  EXPECT_EQ(queue.core.ready(), 1u);
}

TEST(WorkQueueCore, OnlyATicketThatIsOutHasAKey) {
  TestQueue queue;
  queue.add("a", 1s);
  queue.get(1s);
  const Ticket ticket = queue.ticket("a");
  queue.done("a", 1s);
  EXPECT_DEATH((void)queue.core.key(ticket), "check failed");
  EXPECT_DEATH((void)queue.core.payload(ticket), "check failed");
}

TEST(WorkQueueCore, TheKeyOfATicketStaysPut) {
  TestQueue queue;
  queue.add("the key that a worker reads", 1s);
  queue.get(1s);
  const std::string& key = queue.core.key(queue.ticket("the key that a worker reads"));
  for (int i = 0; i < 5'000; ++i) queue.add(std::to_string(i), 1s);
  EXPECT_EQ(key, "the key that a worker reads");
  EXPECT_EQ(&key, &queue.core.key(queue.ticket("the key that a worker reads")));
}

TEST(WorkQueueCore, APayloadStaysWithItsKeyUntilItLeaves) {
  TestQueue queue;
  queue.add("a", 1s);
  queue.get(1s);
  EXPECT_EQ(queue.payload("a"), 0);
  queue.payload("a") = 3;
  queue.done_until("a", 2s, 1s);
  queue.get(2s);
  EXPECT_EQ(queue.payload("a"), 3);
  queue.add("a", 2s);
  queue.done("a", 2s);
  queue.get(2s);
  EXPECT_EQ(queue.payload("a"), 3);
  EXPECT_EQ(queue.done("a", 2s), AfterRun::removed);
  queue.add("a", 3s);
  queue.get(3s);
  EXPECT_EQ(queue.payload("a"), 0);
}

TEST(WorkQueueCore, WaitingCountsFromWhenAKeyIsReady) {
  TestQueue queue;
  queue.add("a", 1s);
  queue.add_at("b", 5s, 1s);
  queue.add("a", 4s);  // Merged: it waits since 1 s.
  EXPECT_EQ(queue.get(9s), "a");
  EXPECT_EQ(queue.waited, 8s);
  EXPECT_EQ(queue.get(9s), "b");
  EXPECT_EQ(queue.waited, 4s);
}

// No get() was called when it became due; still it is first.
TEST(WorkQueueCore, WhatIsDueStandsBeforeWhatComesAfterIt) {
  TestQueue queue;
  queue.add_at("due at 5", 5s, 1s);
  queue.add("under way", 1s);
  queue.get(1s);
  queue.add("under way", 6s);
  queue.add("added at 7", 7s);
  queue.add_at("due at 8", 8s, 7s);
  queue.done("under way", 9s);
  EXPECT_EQ(queue.run_all(9s), "due at 5 added at 7 due at 8 under way");
  TestQueue other;
  other.add_at("a", 5s, 1s);
  other.add("b", 7s);
  EXPECT_EQ(other.stats(7s).oldest_ready, 2s);
}

TEST(WorkQueueCore, NextDueIsWhenSomethingRipens) {
  TestQueue queue;
  EXPECT_EQ(queue.core.next_due(), kNever);
  queue.add_at("a", 7s, 1s);
  queue.add_at("b", 5s, 1s);
  EXPECT_EQ(queue.core.next_due(), Instant{5s});
  queue.add("b", 2s);
  EXPECT_EQ(queue.core.next_due(), Instant{7s});
  EXPECT_EQ(queue.run_all(7s), "b a");
  EXPECT_EQ(queue.core.next_due(), kNever);
}

TEST(WorkQueueCore, WhatIsAddedForNeverWaitsForABetterWord) {  // Invariants (2) and (3).
  TestQueue queue;
  EXPECT_EQ(queue.core.add("a", {}, kNever, Instant{1s}).added, Added::delayed);
  EXPECT_EQ(queue.core.next_due(), kNever);
  EXPECT_EQ(queue.stats(1h).delayed, 1u);
  EXPECT_EQ(queue.get(1h), "");
  EXPECT_EQ(queue.core.add("a", {}, kNever, Instant{1h}).added, Added::merged);
  queue.add_at("a", 3h, 2h);
  EXPECT_EQ(queue.get(3h), "a");
  // Also while it is running: it is not lost.
  EXPECT_EQ(queue.core.add("a", {}, kNever, Instant{3h}).added, Added::marked);
  EXPECT_EQ(queue.done("a", 3h), AfterRun::delayed);
  EXPECT_EQ(queue.stats(3h).delayed, 1u);
  queue.add("a", 4h);
  EXPECT_EQ(queue.get(4h), "a");
  EXPECT_EQ(queue.core.done_until(queue.ticket("a"), kNever, Instant{4h}), AfterRun::delayed);
  EXPECT_EQ(queue.hand_back(), "a");
}

TEST(WorkQueueCore, TimeThatGoesBackBreaksNothing) {
  TestQueue queue;
  queue.add_at("a", 10s, 1s);
  queue.add("b", 5s);
  EXPECT_EQ(queue.get(2s), "b");  // A worker that read its clock before the producer.
  EXPECT_EQ(queue.waited, 0s);
  EXPECT_EQ(queue.stats(1s).longest_running, 0s);
  EXPECT_EQ(queue.get(10s), "a");
  EXPECT_EQ(queue.add_at("c", 8s, 7s), Added::delayed);  // 10 s were seen already,
  EXPECT_EQ(queue.get(8s), "");                          // so it may be late,
  EXPECT_EQ(queue.get(10s), "c");                        // but not lost.
  EXPECT_EQ(queue.waited, 2s);
  EXPECT_EQ(queue.done("b", 1s), AfterRun::removed);
  EXPECT_EQ(queue.done_until("a", 3s, 1s), AfterRun::delayed);
  EXPECT_EQ(queue.get(10s), "a");
}

// ---- Merging -----------------------------------------------------------------------------------

TEST(WorkQueueCore, AReadyKeyTakesABetterClassAndKeepsItsWait) {
  TestQueue queue;
  queue.add("low", 1s, kLow);
  queue.add("a", 2s);
  queue.add("b", 3s);
  EXPECT_EQ(queue.add("low", 4s, kHigh), Added::merged);
  EXPECT_EQ(queue.add("low", 4s, kLow), Added::merged);  // Never a worse one.
  EXPECT_EQ(queue.get(5s), "low");
  EXPECT_EQ(queue.waited, 4s);
  EXPECT_EQ(queue.run_all(5s), "a b");
}

TEST(WorkQueueCore, ABetterClassMayBeTheNextOne) {
  TestQueue queue;
  queue.add("a", 1s);
  queue.add("b", 1s);
  EXPECT_EQ(queue.add("b", 2s, kHigh), Added::merged);
  EXPECT_EQ(queue.run_all(2s), "b a");
}

TEST(WorkQueueCore, TheOldestReadyKeyIsNotARunningOne) {
  TestQueue queue;
  queue.add("a", 1s);
  queue.get(1s);
  queue.add("b", 5s);
  EXPECT_EQ(queue.stats(9s).oldest_ready, 4s);
}

TEST(WorkQueueCore, ADelayedKeyIsInNoLineOfReadyOnes) {
  TestQueue queue;
  queue.add_at("a", 2s, 1s);
  queue.add("b", 2s);
  queue.add_at("c", 9s, 2s);
  EXPECT_EQ(queue.run_all(2s), "a b");
  EXPECT_EQ(queue.run_all(9s), "c");
}

TEST(WorkQueueCore, AReadyKeyThatHasWaitedLongKeepsItsPlace) {
  TestQueue queue;
  queue.add("old", 0s, kLow);
  queue.add("a", 19s);
  queue.add("b", 21s);
  queue.add("old", 22s, {.priority = critical});
  EXPECT_EQ(queue.run_all(22s), "a old b");
}

TEST(WorkQueueCore, ADelayedKeyTakesABetterClassAndKeepsItsTime) {
  TestQueue queue({.capacity = 2, .at_limit = AtLimit::shed_least_important});
  queue.add_at("a", 9s, 1s, kLow);
  queue.add_at("b", 9s, 1s, kLow);
  EXPECT_EQ(queue.add_at("a", 20s, 2s, kHigh), Added::merged);
  queue.add("c", 2s);  // The newest of the low ones would have been a.
  EXPECT_EQ(queue.shed, "b");
  EXPECT_EQ(queue.run_all(8s), "c");
  EXPECT_EQ(queue.run_all(9s), "a");
}

TEST(WorkQueueCore, ADelayedKeyThatIsAddedForItsOwnTimeKeepsItsPlace) {
  TestQueue queue;
  queue.add_at("a", 9s, 1s, kLow);
  queue.add_at("b", 9s, 1s, kHigh);
  EXPECT_EQ(queue.add_at("a", 9s, 2s, kHigh), Added::merged);
  EXPECT_EQ(queue.run_all(9s), "a b");
  EXPECT_EQ(queue.stats(9s).readied, 2u);
}

TEST(WorkQueueCore, ADelayedKeyThatIsDueTakesABetterClassAsAReadyOne) {
  TestQueue queue;
  queue.add_at("a", 5s, 1s, kLow);
  queue.add("b", 6s);
  EXPECT_EQ(queue.add_at("a", 100s, 7s, kHigh), Added::merged);
  EXPECT_EQ(queue.get(8s), "a");
  EXPECT_EQ(queue.waited, 3s);
}

TEST(WorkQueueCore, AMarkedKeyRunsAgainInItsBetterClass) {
  TestQueue queue;
  queue.add("a", 1s, kLow);
  queue.get(1s);
  queue.add("a", 1s, kHigh);
  queue.add("a", 1s, kLow);
  queue.add("b", 1s);
  EXPECT_EQ(queue.done("a", 1s), AfterRun::ready);
  EXPECT_EQ(queue.run_all(1s), "a b");
}

TEST(WorkQueueCore, OfSeveralTimesForAKeyUnderWayTheEarliestHolds) {  // Invariant (3).
  TestQueue queue;
  queue.add("a", 1s);
  queue.get(1s);
  EXPECT_EQ(queue.add_at("a", 9s, 2s), Added::marked);
  EXPECT_EQ(queue.add_at("a", 5s, 2s), Added::marked);
  EXPECT_EQ(queue.add_at("a", 7s, 2s), Added::marked);
  EXPECT_EQ(queue.done("a", 3s), AfterRun::delayed);
  EXPECT_EQ(queue.core.next_due(), Instant{5s});
  queue.get(5s);
  queue.add_at("a", 9s, 5s);
  EXPECT_EQ(queue.done_until("a", 20s, 5s), AfterRun::delayed);
  EXPECT_EQ(queue.core.next_due(), Instant{9s});
  queue.get(9s);
  queue.add_at("a", 20s, 9s);
  EXPECT_EQ(queue.done_until("a", 9s, 9s), AfterRun::ready);
}

TEST(WorkQueueCore, AKeyKeepsTheGroupThatItCameWith) {
  TestQueue queue({.group_capacity = 1});
  EXPECT_EQ(queue.add("a", 1s, {.group = "x"}), Added::queued);
  EXPECT_EQ(queue.add("a", 1s, {.group = "y"}), Added::merged);
  EXPECT_EQ(queue.add("b", 1s, {.group = "y"}), Added::queued);
  EXPECT_EQ(queue.add("c", 1s, {.group = "x"}), Added::refused);
  EXPECT_EQ(queue.stats(1s).groups, 2u);
}

// ---- Counting ----------------------------------------------------------------------------------

TEST(WorkQueueCore, CountsWhatBecameOfEachAdd) {
  TestQueue queue({.capacity = 3});
  queue.add("a", 1s);                  // adds
  queue.add("a", 1s);                  // merged
  queue.add_at("b", 9s, 1s);           // adds
  queue.add("b", 1s, {.group = "x"});  // merged
  queue.get(1s);
  queue.add("a", 1s);                  // marked
  queue.add("a", 1s);                  // marked
  queue.add("c", 1s, {.group = "x"});  // adds
  queue.add("d", 1s);                  // refused
  (void)queue.core.done({}, Instant{1s});
  queue.core.close();
  queue.add("a", 1s);  // closed
  const QueueStats stats = queue.stats(1s);
  EXPECT_EQ(stats.adds, 3u);
  EXPECT_EQ(stats.merged, 2u);
  EXPECT_EQ(stats.marked, 2u);
  EXPECT_EQ(stats.refused, 1u);
  EXPECT_EQ(stats.closed, 1u);
  EXPECT_EQ(stats.spurious_done, 1u);
  EXPECT_EQ(stats.shed, 0u);
  EXPECT_EQ(stats.ready, 2u);
  EXPECT_EQ(stats.running, 1u);
  EXPECT_EQ(stats.delayed, 0u);
  EXPECT_EQ(stats.groups, 1u);
  EXPECT_EQ(stats.capacity, 3u);
}

TEST(WorkQueueCore, KnowsHowLongThingsTake) {
  TestQueue queue;
  EXPECT_EQ(queue.stats(1s).oldest_ready, 0s);
  for (const char* key : {"a", "b", "c", "d"}) queue.add(key, 1s);
  queue.get(2s);
  queue.get(4s);
  queue.add_at("e", 6s, 4s);
  QueueStats stats = queue.stats(10s);
  EXPECT_EQ(stats.ready, 3u);  // e is due.
  EXPECT_EQ(stats.delayed, 0u);
  EXPECT_EQ(stats.oldest_ready, 9s);
  EXPECT_EQ(stats.longest_running, 8s);
  EXPECT_EQ(stats.unfinished, 14s);
  queue.done("a", 10s);
  stats = queue.stats(10s);
  EXPECT_EQ(stats.longest_running, 6s);
  EXPECT_EQ(stats.unfinished, 6s);
}

TEST(WorkQueueCore, TakesNumbersAndPayloadsThatOnlyMove) {
  WorkQueueCore<int, std::unique_ptr<int>> queue;
  for (int i = 0; i < 3; ++i) queue.add(i, {}, Instant{1s}, Instant{1s});
  const auto taken = queue.get(Instant{1s});
  EXPECT_EQ(queue.key(taken->ticket), 0);
  queue.payload(taken->ticket) = std::make_unique<int>(5);
  queue.done_until(taken->ticket, Instant{2s}, Instant{1s});
  const auto back = queue.hand_back();
  ASSERT_EQ(back.size(), 3u);
  EXPECT_EQ(back[2].key, 0);
  EXPECT_EQ(*back[2].payload, 5);
}

// An add without a priority does not change the class of a key in the queue.
TEST(WorkQueueCore, AnAddWithoutAClassLeavesTheKeysOwn) {
  TestQueue queue;
  EXPECT_EQ(queue.add("batch", 0s, {.priority = admit::Criticality::sheddable}), Added::queued);
  EXPECT_EQ(queue.get(0s), "batch");
  EXPECT_EQ(queue.add("batch", 0s), Added::marked);
  EXPECT_EQ(queue.done("batch", 0s), TestQueue::AfterRun::ready);
  EXPECT_EQ(queue.add("better", 1s, {.priority = admit::Criticality::sheddable_plus}),
            Added::queued);
  EXPECT_EQ(queue.add("new", 2s), Added::queued);  // Critical.
  EXPECT_EQ(queue.run_all(2s), "new better batch");
  EXPECT_EQ(queue.core.stats(Instant{2s}).readied, 4u);
}

}  // namespace
}  // namespace damper::queue
