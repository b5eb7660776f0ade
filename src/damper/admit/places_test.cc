#include "damper/admit/places.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

namespace damper::admit {
namespace {

TEST(Places, AreTakenUpToTheLimitAndGivenBack) {  // Invariants (1), (2).
  Places places(2);
  EXPECT_EQ(places.try_take(), 1U);
  EXPECT_EQ(places.try_take(), 2U);
  EXPECT_EQ(places.try_take(), 0U);
  EXPECT_EQ(places.taken(), 2U);
  places.give_back();
  EXPECT_EQ(places.try_take(), 2U);
  EXPECT_EQ(places.try_take(), 0U);
}

TEST(Places, ALowerLimitTakesNothingAwayAndLetsNobodyIn) {
  Places places(3);
  for (int i = 0; i < 3; ++i) EXPECT_GT(places.try_take(), 0U);
  places.reload(2);
  EXPECT_EQ(places.taken(), 3U);
  EXPECT_EQ(places.limit(), 2U);
  places.give_back();
  EXPECT_EQ(places.try_take(), 0U);
  places.give_back();
  EXPECT_GT(places.try_take(), 0U);
  places.reload(4);
  EXPECT_GT(places.try_take(), 0U);
}

TEST(Places, AreNeverMoreThanTheLimitWhoeverAsks) {  // Invariant (1).
  Places places(3);
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  const auto work = [&] {
    for (int i = 0; i < 20'000; ++i) {
      if (places.try_take() == 0) continue;
      const int now = inside.fetch_add(1) + 1;
      int seen = most.load();
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      inside.fetch_sub(1);
      places.give_back();
    }
  };
  std::array<std::thread, 4> threads;
  for (std::thread& thread : threads) thread = std::thread(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_GE(most, 1);
  EXPECT_EQ(places.taken(), 0U);
}

TEST(PlacesDeathTest, WhatWasNotTakenIsNotGivenBack) {
  Places places(1);
  EXPECT_DEATH(places.give_back(), "before > 0");
}

}  // namespace
}  // namespace damper::admit
