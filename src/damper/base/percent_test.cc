#include "damper/base/percent.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

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

TEST(Percent, ANumberThatIsTooLargeStaysTooLarge) {
  EXPECT_GT(Percent(42'949'674), Percent(1000));  // Times 100 it would be 104, modulo 2^32.
  EXPECT_GT(Percent(std::numeric_limits<std::int32_t>::max()), Percent(1000));
  EXPECT_LT(Percent(std::numeric_limits<std::int32_t>::min()), Percent(0));
  EXPECT_LT(Percent(-42'949'674), Percent(0));
  EXPECT_EQ(Percent(21'474'836).hundredths(), 2'147'483'600);
}

}  // namespace
}  // namespace damper
