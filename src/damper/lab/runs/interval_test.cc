#include "damper/lab/runs/interval.h"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "damper/base/random.h"
#include "damper/base/text/plain_text.h"

namespace damper::lab {
namespace {

Summary of(std::initializer_list<double> numbers) {
  Summary summary;
  for (const double x : numbers) summary.add(x);
  return summary;
}

TEST(Proportion, HasWilsonsInterval) {
  const Interval half = Proportion{5, 10}.interval();
  EXPECT_DOUBLE_EQ(half.low, 0.236593090512564);
  EXPECT_DOUBLE_EQ(half.high, 0.7634069094874361);
  EXPECT_DOUBLE_EQ(half.width(), 0.7634069094874361 - 0.236593090512564);
  const Interval fifty = Proportion{28, 50}.interval();  // What 50 seeds said of 0.740.
  EXPECT_DOUBLE_EQ(fifty.low, 0.4230602802165686);
  EXPECT_DOUBLE_EQ(fifty.high, 0.6883780078874284);
  const Interval all = Proportion{200, 200}.interval();
  EXPECT_DOUBLE_EQ(all.low, 0.9811546736227335);
  EXPECT_EQ(all.high, 1);
  const Interval none = Proportion{0, 200}.interval();
  EXPECT_EQ(none.low, 0);
  EXPECT_DOUBLE_EQ(none.high, 0.018845326377266575);
}

TEST(Proportion, LiesWithinItsInterval) {  // Invariants 1 and 2.
  for (std::int64_t n = 1; n < 120; ++n) {
    for (std::int64_t k = 0; k <= n; ++k) {
      const Proportion proportion{k, n};
      const Interval interval = proportion.interval();
      ASSERT_TRUE(interval.contains(proportion.share())) << k << " of " << n;
      ASSERT_GE(interval.low, 0);
      ASSERT_LE(interval.high, 1);
      const Interval mirrored = Proportion{n - k, n}.interval();
      ASSERT_NEAR(mirrored.low, 1 - interval.high, 1e-15);
    }
  }
  const Interval unknown = Proportion{0, 0}.interval();
  EXPECT_EQ(unknown.low, 0);
  EXPECT_EQ(unknown.high, 1);
  EXPECT_EQ((Proportion{0, 0}.share()), 0);
}

TEST(Proportion, IsWrittenWithItsInterval) {
  EXPECT_EQ(to_text(Proportion{4773, 6450}), "0.740 (0.73 to 0.75)");
  EXPECT_EQ(to_text(Proportion{28, 50}), "0.560 (0.42 to 0.69)");
  EXPECT_EQ(to_text(Proportion{200, 200}), "1.000 (0.981 to 1.000)");
  EXPECT_EQ(to_text(Proportion{0, 6450}), "0.000 (0.000 to 0.001)");
  EXPECT_EQ(to_text(Proportion{1, 1}), "1.000 (0.21 to 1.00)");
  EXPECT_EQ(to_text(Proportion{0, 0}), "no runs");
}

TEST(Interval, ContainsItsEnds) {
  const Interval interval{1, 2};
  EXPECT_TRUE(interval.contains(1));
  EXPECT_TRUE(interval.contains(2));
  EXPECT_FALSE(interval.contains(0.999));
  EXPECT_FALSE(interval.contains(2.001));
}

TEST(Summary, KnowsMeanDeviationAndExtremes) {
  const Summary summary = of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(summary.n(), 8);
  EXPECT_EQ(summary.mean(), 5);
  EXPECT_DOUBLE_EQ(summary.sd(), std::sqrt(32.0 / 7));
  EXPECT_DOUBLE_EQ(summary.sem(), std::sqrt(32.0 / 7 / 8));
  EXPECT_EQ(summary.min(), 2);
  EXPECT_EQ(summary.max(), 9);
}

TEST(Summary, OfNegativeNumbersDoesNotStartAtZero) {
  const Summary summary = of({-3, -1});
  EXPECT_EQ(summary.min(), -3);
  EXPECT_EQ(summary.max(), -1);
  EXPECT_EQ(summary.mean(), -2);
}

TEST(Summary, DoesNotLoseSmallDifferencesOfLargeNumbers) {  // Why it is Welford's.
  const Summary summary = of({1e9 + 1, 1e9 + 2, 1e9 + 3});
  EXPECT_EQ(summary.mean(), 1e9 + 2);
  EXPECT_EQ(summary.sd(), 1);
}

TEST(Summary, HasStudentsInterval) {
  const Summary two = of({0, 2});  // mean 1, sem 1
  EXPECT_DOUBLE_EQ(two.interval().low, 1 - 12.7062);
  EXPECT_DOUBLE_EQ(two.interval().high, 1 + 12.7062);
  Summary thirty_two;   // The first beyond the table: 2.0395 by the books, for 31 degrees.
  Summary hundred_one;  // 1.9840, for 100 degrees.
  for (int i = 0; i < 101; ++i) {
    if (i < 32) thirty_two.add(i % 2);
    hundred_one.add(i);
  }
  EXPECT_NEAR(thirty_two.interval().width() / 2 / thirty_two.sem(), 2.0395, 1e-4);
  EXPECT_NEAR(hundred_one.interval().width() / 2 / hundred_one.sem(), 1.98397, 1e-5);
}

TEST(Summary, OfFewRunsHasNoSpread) {
  EXPECT_EQ(Summary().n(), 0);
  EXPECT_EQ(Summary().mean(), 0);
  const Summary one = of({3});
  EXPECT_EQ(one.sd(), 0);
  EXPECT_EQ(one.sem(), 0);
  EXPECT_EQ(one.interval().low, 3);
  EXPECT_EQ(one.interval().high, 3);
}

TEST(Summary, ItsIntervalHoldsTheTruthIn95Of100) {
  Random random(8);
  int held = 0;
  for (int experiment = 0; experiment < 10'000; ++experiment) {
    Summary summary;
    for (int i = 0; i < 10; ++i) summary.add(random.draw() + random.draw() + random.draw());
    held += summary.interval().contains(1.5) ? 1 : 0;
  }
  EXPECT_NEAR(held, 9500, 100);
}

TEST(Summary, IsWrittenWithItsInterval) {
  EXPECT_EQ(to_text(of({795, 796, 797}), 1), "796.0 (793.5 to 798.5)");
  EXPECT_EQ(to_text(of({796}), 0), "796");
  EXPECT_EQ(to_text(Summary(), 0), "no runs");
}

TEST(FixedText, HasThatManyDecimalsAndNoNegativeZero) {
  EXPECT_EQ(text::fixed_text(1.005, 2), "1.00");  // The double is below.
  EXPECT_EQ(text::fixed_text(2.5, 0), "2");       // Half to even.
  EXPECT_EQ(text::fixed_text(-0.001, 2), "0.00");
  EXPECT_EQ(text::fixed_text(-0.1, 1), "-0.1");
  EXPECT_EQ(text::fixed_text(-0.0, 0), "0");
  EXPECT_EQ(text::fixed_text(1e300, 0).size(), 301U);
  EXPECT_EQ(text::fixed_text(-1.7e308, 9).size(), 320U);
}

}  // namespace
}  // namespace damper::lab
