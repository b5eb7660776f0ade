#include "damper/balance/zone_share.h"

#include <gtest/gtest.h>

namespace damper::balance {
namespace {

constexpr Percent kMore{140};

TEST(ZoneShare, AZoneThatCanServeItsRequestsKeepsThem) {
  EXPECT_EQ(zone_share(3, 9, 3, kMore), 1);
  EXPECT_EQ(zone_share(3, 12, 3, kMore), 1);  // 0.35 of the capacity for a third
  EXPECT_EQ(zone_share(5, 12, 2, kMore), 1);  // 0.58 for a half
  EXPECT_EQ(zone_share(4, 4, 1, Percent(100)), 1);
}

TEST(ZoneShare, TheRestOfItSpills) {
  EXPECT_DOUBLE_EQ(zone_share(1, 7, 3, kMore), 0.6);  // 0.2 of the capacity for a third
  EXPECT_DOUBLE_EQ(zone_share(1, 10, 2, kMore), 0.28);
  EXPECT_DOUBLE_EQ(zone_share(1, 4, 2, Percent(100)), 0.5);
}

TEST(ZoneShare, WithoutReplicasNothingStaysAndWithAllOfThemEverything) {
  EXPECT_EQ(zone_share(0, 0, 2, kMore), 0);
  EXPECT_EQ(zone_share(0, 6, 2, kMore), 0);
  EXPECT_EQ(zone_share(6, 6, 2, kMore), 1);
}

// Of its own zone: part of the requests * share / replicas, beside 1 / all.
TEST(ZoneShare, NoReplicaGetsMoreThanItsFairShareTimesTheFactor) {
  for (std::size_t zones = 1; zones < 6; ++zones) {
    for (std::size_t here = 1; here < 20; ++here) {
      for (std::size_t all = here; all < 60; ++all) {
        const double load = zone_share(here, all, zones, kMore) /
                            static_cast<double>(zones * here) * static_cast<double>(all);
        ASSERT_LE(load, 1.4 + 1e-9) << here << " of " << all << " in " << zones;
      }
    }
  }
}

}  // namespace
}  // namespace damper::balance
