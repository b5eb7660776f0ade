#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/queue/work_queue/work_queue_core_testing.h"

// What people who come from client-go's work queue rely on, sentence by sentence. The names say the
// operations as client-go does; limiters and the blocking get have their own tests.

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using AfterRun = TestQueue::AfterRun;

// ---- Add ---------------------------------------------------------------------------------------

TEST(WorkQueueSemantics, AddIsIgnoredWhenShuttingDown) {
  TestQueue queue;
  queue.core.close();
  EXPECT_EQ(queue.add("k", 1s), Added::closed);
  EXPECT_EQ(queue.add_at("k", 9s, 1s), Added::closed);
  EXPECT_EQ(queue.run_all(10s), "");
}

TEST(WorkQueueSemantics, AddOfAKeyThatIsProcessedIsIgnoredWhenShuttingDown) {
  TestQueue queue;
  queue.add("k", 1s);
  queue.get(1s);
  queue.core.close();
  EXPECT_EQ(queue.add("k", 1s), Added::closed);
  EXPECT_EQ(queue.done("k", 1s), AfterRun::removed);
}

TEST(WorkQueueSemantics, AddOfAKeyThatWaitsDoesNothing) {
  TestQueue queue;
  queue.add("k", 1s);
  queue.add("l", 2s);
  EXPECT_EQ(queue.add("k", 3s), Added::merged);
  EXPECT_EQ(queue.stats(3s).ready, 2u);
  EXPECT_EQ(queue.run_all(3s), "k l");  // Once, and where it was.
}

TEST(WorkQueueSemantics, AddOfAKeyThatIsProcessedIsQueuedAgainByDone) {
  TestQueue queue;
  queue.add("k", 1s);
  EXPECT_EQ(queue.get(1s), "k");
  EXPECT_EQ(queue.add("k", 2s), Added::marked);
  EXPECT_EQ(queue.get(2s), "");  // Not before done.
  EXPECT_EQ(queue.done("k", 3s), AfterRun::ready);
  EXPECT_EQ(queue.get(3s), "k");
  EXPECT_EQ(queue.done("k", 3s), AfterRun::removed);
}

TEST(WorkQueueSemantics, OtherwiseAddQueuesAtTheTail) {
  TestQueue queue;
  EXPECT_EQ(queue.add("a", 1s), Added::queued);
  EXPECT_EQ(queue.add("b", 1s), Added::queued);
  EXPECT_EQ(queue.run_all(1s), "a b");
  EXPECT_EQ(queue.add("a", 1s), Added::queued);  // It was done: it is new.
  EXPECT_EQ(queue.run_all(1s), "a");
}

// ---- Get ---------------------------------------------------------------------------------------

TEST(WorkQueueSemantics, GetIsFirstInFirstOutByFirstInsertion) {
  TestQueue queue;
  for (const char* key : {"c", "a", "b", "a", "c", "d"}) queue.add(key, 1s);
  EXPECT_EQ(queue.run_all(1s), "c a b d");
}

TEST(WorkQueueSemantics, GetAfterShutdownHandsOutWhatIsQueuedThenSaysSo) {
  TestQueue queue;
  queue.add("a", 1s);
  queue.add("b", 1s);
  queue.core.close();
  EXPECT_EQ(queue.get(1s), "a");
  EXPECT_EQ(queue.get(1s), "b");
  EXPECT_EQ(queue.get(1s), "");
  EXPECT_FALSE(queue.core.is_idle());  // Two are out: one of them may come back.
  queue.done("a", 1s);
  queue.done("b", 1s);
  EXPECT_TRUE(queue.core.is_closed() && queue.core.is_idle());
}

// ---- Done --------------------------------------------------------------------------------------

TEST(WorkQueueSemantics, DoneOfAMarkedKeyGoesToTheTail) {
  TestQueue queue;
  queue.add("a", 1s);
  queue.add("b", 1s);
  queue.get(1s);
  queue.add("a", 1s);
  queue.add("c", 1s);
  queue.done("a", 1s);
  EXPECT_EQ(queue.run_all(1s), "b c a");
}

TEST(WorkQueueSemantics, ManyAddsDuringProcessingAreExactlyOneMoreRun) {
  TestQueue queue;
  queue.add("k", 1s);
  queue.get(1s);
  for (int i = 0; i < 1'000; ++i) queue.add("k", 1s);
  queue.done("k", 1s);
  EXPECT_EQ(queue.run_all(1s), "k");
}

TEST(WorkQueueSemantics, NeverTwoWorkersOnOneKey) {
  TestQueue queue;
  queue.add("k", 1s);
  EXPECT_EQ(queue.get(1s), "k");
  queue.add("k", 1s);
  queue.add_at("k", 2s, 1s);
  EXPECT_EQ(queue.get(1s), "");
  EXPECT_EQ(queue.get(3s), "");
}

TEST(WorkQueueSemantics, DoneOfAKeyThatWasNotAddedMeanwhileForgetsIt) {
  TestQueue queue;
  queue.add("k", 1s);
  queue.get(1s);
  EXPECT_EQ(queue.done("k", 1s), AfterRun::removed);
  EXPECT_EQ(queue.get(1s), "");
  EXPECT_TRUE(queue.core.is_idle());
}

// ---- AddAfter ----------------------------------------------------------------------------------

TEST(WorkQueueSemantics, AddAfterNothingOrLessAddsNow) {
  TestQueue queue;
  EXPECT_EQ(queue.add_at("zero", 5s, 5s), Added::queued);
  EXPECT_EQ(queue.add_at("less", 1s, 5s), Added::queued);
  EXPECT_EQ(queue.run_all(5s), "zero less");
}

TEST(WorkQueueSemantics, AddAfterAddsWhenItsTimeHasCome) {
  TestQueue queue;
  EXPECT_EQ(queue.add_at("k", 5s, 1s), Added::delayed);
  EXPECT_EQ(queue.get(5s - 1ns), "");
  EXPECT_EQ(queue.get(5s), "k");
}

TEST(WorkQueueSemantics, OfSeveralAddAfterForOneKeyTheEarliestWins) {
  TestQueue queue;
  queue.add_at("k", 9s, 1s);
  EXPECT_EQ(queue.add_at("k", 5s, 1s), Added::merged);
  EXPECT_EQ(queue.get(5s), "k");
  queue.done("k", 5s);
  EXPECT_EQ(queue.get(9s), "");  // Once.
}

TEST(WorkQueueSemantics, AddAfterIsNeverExtended) {
  TestQueue queue;
  queue.add_at("k", 5s, 1s);
  EXPECT_EQ(queue.add_at("k", 9s, 1s), Added::merged);
  EXPECT_EQ(queue.get(5s), "k");
}

TEST(WorkQueueSemantics, AddAfterOfAKeyThatWaitsDoesNotDelayIt) {
  TestQueue queue;
  queue.add("k", 1s);
  EXPECT_EQ(queue.add_at("k", 9s, 1s), Added::merged);
  EXPECT_EQ(queue.get(1s), "k");
}

TEST(WorkQueueSemantics, AddAfterOfAKeyThatIsProcessedWaitsForBoth) {
  TestQueue queue;
  queue.add("k", 1s);
  queue.get(1s);
  EXPECT_EQ(queue.add_at("k", 5s, 1s), Added::marked);
  EXPECT_EQ(queue.done("k", 2s), AfterRun::delayed);  // Done before its time,
  EXPECT_EQ(queue.get(4s), "");
  EXPECT_EQ(queue.get(5s), "k");
  queue.add_at("k", 6s, 5s);
  EXPECT_EQ(queue.get(7s), "");
  EXPECT_EQ(queue.done("k", 8s), AfterRun::ready);  // or after it.
  EXPECT_EQ(queue.get(8s), "k");
}

// ---- Shutting down -----------------------------------------------------------------------------

TEST(WorkQueueSemantics, DrainWaitsForWhatIsOut) {
  TestQueue queue;
  queue.add("k", 1s);
  queue.get(1s);
  queue.core.close();
  EXPECT_FALSE(queue.core.is_idle());
  queue.done("k", 2s);
  EXPECT_TRUE(queue.core.is_idle());
}

// ---- Results of a reconcile --------------------------------------------------------------------

TEST(WorkQueueSemantics, RequeueAfterAddsWithTheDelay) {
  TestQueue queue;
  queue.add("k", 1s);
  queue.get(1s);
  EXPECT_EQ(queue.done_until("k", 30s, 2s), AfterRun::delayed);
  EXPECT_EQ(queue.get(29s), "");
  EXPECT_EQ(queue.get(30s), "k");
}

TEST(WorkQueueSemantics, AnAddDuringProcessingBeatsRequeueAfter) {
  TestQueue queue;
  queue.add("k", 1s);
  queue.get(1s);
  queue.add("k", 1s);
  EXPECT_EQ(queue.done_until("k", 30s, 2s), AfterRun::ready);
}

// ---- Metrics -----------------------------------------------------------------------------------

TEST(WorkQueueSemantics, HasTheNumbersThatDashboardsKnow) {
  TestQueue queue;
  queue.add("a", 1s);
  queue.add("a", 1s);
  queue.add("b", 1s);
  queue.add("c", 1s);
  queue.get(2s);
  queue.get(4s);
  EXPECT_EQ(queue.waited, 3s);  // queue_duration_seconds
  const QueueStats stats = queue.stats(9s);
  EXPECT_EQ(stats.ready, 1u);            // depth
  EXPECT_EQ(stats.adds, 3u);             // adds_total
  EXPECT_EQ(stats.unfinished, 12s);      // unfinished_work_seconds: 7 + 5
  EXPECT_EQ(stats.longest_running, 7s);  // longest_running_processor_seconds
}

}  // namespace
}  // namespace damper::queue
