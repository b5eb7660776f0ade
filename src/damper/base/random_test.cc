#include "damper/base/random.h"

#include <gtest/gtest.h>

namespace damper {
namespace {

TEST(Random, IsSplitMix64) {
  Random random(1234567);  // The published test vector of the algorithm.
  EXPECT_EQ(random.bits(), 6457827717110365317U);
  EXPECT_EQ(random.bits(), 3203168211198807973U);
  EXPECT_EQ(random.bits(), 9817491932198370423U);
}

TEST(Random, DrawsFillTheUnitIntervalAndNeverReachOne) {
  Random random(42);
  int tenths[10] = {};
  for (int i = 0; i < 100'000; ++i) {
    const double draw = random.draw();
    ASSERT_GE(draw, 0.0);
    ASSERT_LE(draw, kLargestDraw);
    ++tenths[static_cast<int>(draw * 10)];
  }
  for (const int count : tenths) EXPECT_NEAR(count, 10'000, 400);
}

TEST(Random, AnotherDrawIsUniformWhateverTheFirstWas) {
  Random random(9);
  int above = 0;
  for (int i = 0; i < 100'000; ++i) above += another_draw(random.draw() * 0.1) >= 0.5 ? 1 : 0;
  EXPECT_NEAR(above, 50'000, 800);
}

TEST(Random, SplitStreamsDiffer) {
  Random one(7);
  Random two = one.split();
  EXPECT_NE(one.bits(), two.bits());
}

}  // namespace
}  // namespace damper
