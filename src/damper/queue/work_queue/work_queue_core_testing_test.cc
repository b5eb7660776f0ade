#include "damper/queue/work_queue/work_queue_core_testing.h"

#include <gtest/gtest.h>

namespace damper::queue {
namespace {

using namespace std::chrono_literals;

TEST(TestQueue, RemembersTheTicketOfEachKeyUnderWay) {
  TestQueue queue;
  EXPECT_EQ(queue.get(1s), "");
  EXPECT_EQ(queue.add("a", 1s), Added::queued);
  EXPECT_EQ(queue.add_at("b", 9s, 1s), Added::delayed);
  EXPECT_EQ(queue.get(3s), "a");
  EXPECT_EQ(queue.waited, 2s);
  EXPECT_TRUE(queue.core.is_outstanding(queue.ticket("a")));
  queue.payload("a") = 7;
  EXPECT_EQ(queue.core.payload(queue.ticket("a")), 7);
  EXPECT_EQ(queue.done_until("a", 9s, 3s), TestQueue::AfterRun::delayed);
  EXPECT_EQ(queue.run_all(9s), "b a");
  queue.add("c", 9s);
  queue.add("d", 9s);
  EXPECT_EQ(queue.get(9s), "c");
  EXPECT_EQ(queue.park("c", 9s), TestQueue::AfterRun::parked);
  EXPECT_EQ(queue.stats(9s).parked, 1u);
  EXPECT_EQ(queue.hand_back(), "d c");
}

TEST(TestQueue, SaysWhoWasShed) {
  TestQueue queue({.capacity = 1, .at_limit = AtLimit::shed_least_important});
  queue.add("a", 1s);
  EXPECT_EQ(queue.shed, "");
  queue.add("b", 1s, {.priority = admit::Criticality::critical_plus});
  EXPECT_EQ(queue.shed, "a");
}

}  // namespace
}  // namespace damper::queue
