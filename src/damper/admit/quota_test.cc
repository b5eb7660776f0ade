#include "damper/admit/quota.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

namespace damper::admit {
namespace {

TEST(Quota, AreTakenUpToTheLimitAndGivenBack) {  // Invariants (1), (2).
  Quota quota(2);
  EXPECT_EQ(quota.try_take(), 1U);
  EXPECT_EQ(quota.try_take(), 2U);
  EXPECT_EQ(quota.try_take(), 0U);
  EXPECT_EQ(quota.taken(), 2U);
  quota.give_back();
  EXPECT_EQ(quota.try_take(), 2U);
  EXPECT_EQ(quota.try_take(), 0U);
}

TEST(Quota, SeveralAreTakenTogetherOrNoneOfThem) {
  Quota quota(10);
  EXPECT_EQ(quota.try_take(7), 7U);
  EXPECT_EQ(quota.try_take(4), 0U);
  EXPECT_EQ(quota.taken(), 7U);
  EXPECT_EQ(quota.try_take(3), 10U);
  EXPECT_EQ(quota.try_take(), 0U);
  quota.give_back(9);
  EXPECT_EQ(quota.taken(), 1U);
}

TEST(Quota, ALowerLimitTakesNothingAwayAndLetsNobodyIn) {
  Quota quota(3);
  for (int i = 0; i < 3; ++i) EXPECT_GT(quota.try_take(), 0U);
  quota.reload(2);
  EXPECT_EQ(quota.taken(), 3U);
  EXPECT_EQ(quota.limit(), 2U);
  quota.give_back();
  EXPECT_EQ(quota.try_take(), 0U);
  quota.give_back();
  EXPECT_GT(quota.try_take(), 0U);
  quota.reload(4);
  EXPECT_GT(quota.try_take(), 0U);
}

TEST(Quota, AreNeverMoreThanTheLimitWhoeverAsks) {  // Invariant (1).
  Quota quota(3);
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  const auto work = [&] {
    for (int i = 0; i < 20'000; ++i) {
      if (quota.try_take() == 0) continue;
      const int now = inside.fetch_add(1) + 1;
      int seen = most.load();
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      inside.fetch_sub(1);
      quota.give_back();
    }
  };
  std::array<std::thread, 4> threads;
  for (std::thread& thread : threads) thread = std::thread(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_GE(most, 1);
  EXPECT_EQ(quota.taken(), 0U);
}

TEST(PlacesDeathTest, WhatWasNotTakenIsNotGivenBack) {
  Quota quota(1);
  EXPECT_DEATH(quota.give_back(), "before >= count");
}

}  // namespace
}  // namespace damper::admit
