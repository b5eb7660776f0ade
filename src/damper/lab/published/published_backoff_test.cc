#include <gtest/gtest.h>

#include "damper/lab/published/published_testing.h"

// Not under tsan: its threads are play_all's, which runs_test.cc shows.

namespace damper::lab {
namespace {

TEST(PublishedBackoff, JitterTakesLessThanHalfOfTheCallsThatNoneTakes) {
  const ReproducedRow row = reproduced_row("calls, full, N = 100", 3);
  EXPECT_NEAR(row.ours, 795.56, 20);
}

TEST(PublishedBackoff, ExponentialBackoffWithoutJitterTakesAMinute) {
  const ReproducedRow row = reproduced_row("time, exponential, N = 100", 3);
  EXPECT_NEAR(row.ours, 63509, 6000);
}

TEST(PublishedBackoff, SmallerGroupsAreStudiedToo) {
  const ReproducedRow row = reproduced_row("calls, none, N = 50", 3);
  EXPECT_NEAR(row.ours, 689, 40);
}

}  // namespace
}  // namespace damper::lab
