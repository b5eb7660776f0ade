#include <gtest/gtest.h>

#include "damper/lab/published/published_testing.h"

// Not under tsan: its threads are play_all's, which runs_test.cc shows.

namespace damper::lab {
namespace {

TEST(PublishedRetries, ABucketAddsASeventhToAnOutage) {
  const ReproducedRow row = reproduced_row("attempts, p = 1, 10 % bucket", 2);
  EXPECT_NEAR(row.ours, 1.143, 0.005);
}

TEST(PublishedRetries, AndSavesNearlyEveryRequestOtherwise) {
  const ReproducedRow row = reproduced_row("success, p = 0.1, 10 % bucket", 2);
  EXPECT_NEAR(row.ours, 0.992, 0.005);
}

TEST(PublishedRetries, ABreakerAddsNothing) {
  const ReproducedRow row = reproduced_row("attempts, p = 1, breaker", 1);
  EXPECT_NEAR(row.ours, 1, 0.001);
}

TEST(PublishedRetries, AndSavesLess) {
  const ReproducedRow row = reproduced_row("success, p = 0.1, breaker", 2);
  EXPECT_NEAR(row.ours, 0.929, 0.01);
}

TEST(PublishedRetries, FourAttemptsInThreeLayersAre64) {
  const ReproducedRow row = reproduced_row("at the bottom, 3 layers of 4", 1);
  EXPECT_EQ(row.ours, 64);
}

TEST(PublishedRetries, BudgetsInFiveLayersAreLittle) {
  const ReproducedRow row = reproduced_row("5 layers, 10 % budgets: 1.1^5", 1);
  EXPECT_NEAR(row.ours, 1.61, 0.08);
}

}  // namespace
}  // namespace damper::lab
