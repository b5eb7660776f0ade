#include <gtest/gtest.h>

#include "damper/lab/published/published_testing.h"

// Not under tsan: its threads are play_all's, which runs_test.cc shows.

namespace damper::lab {
namespace {

TEST(PublishedQueues, TheNewestFirstLosesOnlyTheBacklog) {
  const ReproducedRow row = reproduced_row("failed, r = 0.1, spike, LIFO", 1);
  EXPECT_NEAR(row.ours, 0.79, 0.05);
}

TEST(PublishedQueues, TheOldestFirstLosesTenTimesAsMuch) {
  const ReproducedRow row = reproduced_row("failed, r = 0.1, spike, FIFO", 1);
  EXPECT_NEAR(row.ours, 9.91, 0.6);
}

TEST(PublishedQueues, AShedQueueGivesUpAfterFiveMilliseconds) {
  const ReproducedRow row = reproduced_row("wait until given up, overloaded: M", 1);
  EXPECT_NEAR(row.ours, 5, 0.25);
}

TEST(PublishedQueues, ABurstAtAnIdleShedQueueMayWaitAHundred) {
  const ReproducedRow row = reproduced_row("longest wait, burst while idle: N", 1);
  EXPECT_EQ(row.ours, 101);
}

TEST(PublishedQueues, AThrottledClientSendsTwiceOfWhatIsAccepted) {
  const ReproducedRow row = reproduced_row("attempts by accepted, K = 2", 1);
  EXPECT_NEAR(row.ours, 2, 0.04);
}

TEST(PublishedQueues, OrOneAndAHalfTimes) {
  const ReproducedRow row = reproduced_row("attempts by accepted, K = 1.5", 1);
  EXPECT_NEAR(row.ours, 1.5, 0.03);
}

}  // namespace
}  // namespace damper::lab
