#include <gtest/gtest.h>

#include "damper/lab/published/published_testing.h"

// Not under tsan: its threads are play_all's, which runs_test.cc shows.

namespace damper::lab {
namespace {

TEST(PublishedTail, AHundredServersMakeARareHiccupCommon) {
  const ReproducedRow row = reproduced_row("slow, 100 servers, each 1 in 100", 1);
  EXPECT_NEAR(row.ours, 63.4, 3);
}

TEST(PublishedTail, TheFitHedgesTwoPercent) {
  const ReproducedRow row = reproduced_row("more requests", 1);
  EXPECT_NEAR(row.ours, 2, 0.1);
}

TEST(PublishedTail, IndependentReplicasHedgeTheTailAway) {
  const ReproducedRow row = reproduced_row("p99.9 hedged, independent, by server", 1);
  EXPECT_NEAR(row.ours, 41, 8);
}

}  // namespace
}  // namespace damper::lab
