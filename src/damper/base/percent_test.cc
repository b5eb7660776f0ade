#include "damper/base/percent.h"

#include <gtest/gtest.h>

namespace damper {
namespace {

TEST(Percent, ComparesExactlyAtTheThreshold) {
  EXPECT_TRUE(Percent(50).reached_by(5, 10));
  EXPECT_FALSE(Percent(50).reached_by(4, 9));
  EXPECT_TRUE(Percent(40).reached_by(2, 5));
  EXPECT_TRUE(Percent::from_hundredths(1).reached_by(1, 10'000));
  EXPECT_FALSE(Percent::from_hundredths(1).reached_by(1, 10'001));
}

TEST(Percent, IsTheFractionItSays) {
  EXPECT_EQ(Percent(10).hundredths(), 1000);
  EXPECT_DOUBLE_EQ(Percent(250).ratio(), 2.5);
  EXPECT_LT(Percent(10), Percent::from_hundredths(1001));
}

}  // namespace
}  // namespace damper
