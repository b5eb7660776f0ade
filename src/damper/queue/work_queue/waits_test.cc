#include "damper/queue/work_queue/waits.h"

#include <gtest/gtest.h>

#include "damper/base/random.h"
#include "damper/decide/outcome.h"

namespace damper::queue {
namespace {

using schedule::Jitter;
using std::chrono::hours;
using std::chrono::seconds;

TEST(Waits, ADelayCountsFromWhenTheServerSaid) {
  EXPECT_EQ(after(seconds(30), seconds(2)), seconds(32));
  EXPECT_EQ(after(seconds(30), Duration(0)), seconds(30));
  EXPECT_EQ(after(Duration(0), seconds(2)), seconds(2));
}

TEST(Waits, WhatWasNotSaidOrIsOverAddsNothing) {
  EXPECT_EQ(after(decide::Report::kUnsaid, seconds(2)), seconds(2));
  EXPECT_EQ(after(seconds(-5), seconds(2)), seconds(2));
}

TEST(Waits, SumsSaturate) {
  EXPECT_EQ(after(kForever, seconds(2)), kForever);
  EXPECT_EQ(after(seconds(2), kForever), kForever);
  EXPECT_EQ(after(hours(24 * 30), kLongest), hours(24 * 60));
}

TEST(Waits, AWaitIsSpreadByTheBackoffsJitter) {
  EXPECT_EQ(spread(seconds(10), Jitter::none, 0.5), seconds(10));
  EXPECT_EQ(spread(seconds(10), Jitter::full, 0), Duration(0));
  EXPECT_EQ(spread(seconds(10), Jitter::full, 0.5), seconds(5));
  EXPECT_EQ(spread(seconds(10), Jitter::full, kLargestDraw), seconds(10) - Duration(1));
  EXPECT_EQ(spread(seconds(10), Jitter::equal, 0), seconds(5));
  EXPECT_EQ(spread(seconds(10), Jitter::equal, 0.5), Duration(7'500'000'000));
  EXPECT_EQ(spread(seconds(10), Jitter::equal, kLargestDraw), seconds(10) - Duration(1));
  EXPECT_EQ(spread(kLongest, Jitter::full, kLargestDraw), kLongest - Duration(1));
}

TEST(Waits, DecorrelatedJitterCannotSpreadOneLength) {
  EXPECT_TRUE(can_spread(Jitter::none) && can_spread(Jitter::full) && can_spread(Jitter::equal));
  EXPECT_FALSE(can_spread(Jitter::decorrelated));
}

}  // namespace
}  // namespace damper::queue
