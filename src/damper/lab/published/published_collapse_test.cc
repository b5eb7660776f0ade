#include <gtest/gtest.h>

#include "damper/lab/published/published_testing.h"

// Not under tsan: its threads are play_all's, which runs_test.cc shows.

namespace damper::lab {
namespace {

TEST(PublishedCollapse, At145TheDatabaseRecovers) {
  const ReproducedRow row = reproduced_row("P(collapsed) at 145/s", 2);
  EXPECT_EQ(row.ours, 0);
}

TEST(PublishedCollapse, At150ItDoesNot) {
  const ReproducedRow row = reproduced_row("P(collapsed) at 150/s", 2);
  EXPECT_EQ(row.ours, 1);
}

TEST(PublishedCollapse, At280ItSees560) {
  const ReproducedRow row = reproduced_row("attempts at the database, 280/s", 2);
  EXPECT_NEAR(row.ours, 560, 20);
}

TEST(PublishedCollapse, ABackoffOfManySecondsRecoversFromTheSpike) {
  const ReproducedRow row = reproduced_row("the same, backoff to 20 and 40 s", 10);
  EXPECT_EQ(row.ours, 0);
}

TEST(PublishedCollapse, WithoutItMostRunsDoNot) {
  const ReproducedRow row = reproduced_row("P(collapsed at the end)", 40);
  EXPECT_NEAR(row.ours, 0.74, 0.2);
}

}  // namespace
}  // namespace damper::lab
