#include "damper/lab/runs/border.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "damper/base/random.h"

namespace damper::lab {
namespace {

// A system of which P(collapse) is a logistic function of the load.
struct Curve {
  double middle = 100;
  double width = 2;
  std::uint64_t seed = 1;

  [[nodiscard]] double probability(double load) const {
    return 1 / (1 + std::exp((middle - load) / width));
  }
  [[nodiscard]] Proportion count(double load, int done, int runs) const {
    Proportion counted;
    for (int i = done; i < done + runs; ++i) {
      Random random(seed ^ std::bit_cast<std::uint64_t>(load) * 31 ^
                    static_cast<std::uint64_t>(i) << 20);
      (void)random.bits();
      ++counted.n;
      if (random.draw() < probability(load)) ++counted.k;
    }
    return counted;
  }
  [[nodiscard]] SureBorder find(int most_runs) const {
    const std::vector<double> loads = {70, 80, 90, 100, 110, 120, 130};
    std::vector<Proportion> row;
    for (const double load : loads) row.push_back(count(load, 10'000, 10));
    return find_sure_border(loads, row, most_runs, [this](double load, int done, int runs) {
      return count(load, done, runs);
    });
  }
};

// Of the loads that are called safe at most 5 % are not, and the same of sure ones.
TEST(SureBorder, SafeIsUnderFivePercentAndSureOverNinetyFive) {
  int wrong = 0;
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Curve curve{.middle = 95 + static_cast<double>(seed % 10),
                      .width = 0.2 + static_cast<double>(seed % 7) / 2,
                      .seed = seed};
    const SureBorder border = curve.find(1'000'000);
    EXPECT_FALSE(border.cut_short);
    if (border.safe) {
      ++found;
      if (curve.probability(border.safe->load) >= kSafe) ++wrong;
      EXPECT_LT(border.safe->collapsed.interval(kLooksZ).high, kSafe);
      ASSERT_TRUE(border.safe->next);
      EXPECT_LE(*border.safe->next - border.safe->load, 0.0101 * border.safe->load);
    }
    if (border.sure) {
      ++found;
      if (curve.probability(border.sure->load) <= kSure) ++wrong;
      EXPECT_GT(border.sure->collapsed.interval(kLooksZ).low, kSure);
    }
    if (border.safe && border.sure) {
      EXPECT_LT(border.safe->load, border.sure->load);
    }
  }
  EXPECT_GT(found, 350);
  EXPECT_LE(wrong, found / 20);
}

// The defect of the map: 44 % of the runs collapse at the load that was called safe.
TEST(SureBorder, ALoadAtWhichHalfOfTheRunsCollapseIsNeither) {
  const Curve curve{.middle = 100, .width = 3};
  const SureBorder border = curve.find(10'000);
  ASSERT_TRUE(border.safe && border.sure);
  EXPECT_LT(border.safe->load, 91.2);   // P is 5 % there.
  EXPECT_GT(border.sure->load, 108.8);  // 95 %
}

TEST(SureBorder, TakesNoMoreRunsThanItMay) {  // Invariant 1.
  for (const int most : {0, 10, 100, 200, 500, 1000, 3000}) {
    const SureBorder border = Curve{}.find(most);
    EXPECT_LE(border.runs, most);
    if (most <= 200) {
      EXPECT_TRUE(border.cut_short);
    }
  }
}

TEST(SureBorder, AtTheEndOfTheSweepThereIsNoNextLoad) {
  const SureBorder calm = Curve{.middle = 1000}.find(10'000);
  ASSERT_TRUE(calm.safe);
  EXPECT_EQ(calm.safe->load, 130);
  EXPECT_EQ(calm.safe->next, std::nullopt);
  EXPECT_EQ(calm.sure, std::nullopt);
  EXPECT_EQ(calm.runs, 160);  // 0 of 160: at most 4.2 %
  const SureBorder lost = Curve{.middle = 0}.find(10'000);
  EXPECT_EQ(lost.safe, std::nullopt);
  ASSERT_TRUE(lost.sure);
  EXPECT_EQ(lost.sure->load, 70);
}

TEST(SureBorder, WhatIsStoppedClaimsNothing) {
  const std::vector<double> loads = {1, 2};
  const std::vector<Proportion> row = {{0, 10}, {10, 10}};
  const SureBorder border =
      find_sure_border(loads, row, 1000, [](double, int, int) { return Proportion{}; });
  EXPECT_TRUE(border.cut_short);
  EXPECT_EQ(border.safe, std::nullopt);
  EXPECT_EQ(border.sure, std::nullopt);
}

}  // namespace
}  // namespace damper::lab
