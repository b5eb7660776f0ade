#include "damper/http/codec/watch.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

constexpr Instant at(int ms) { return Instant{std::chrono::milliseconds(ms)}; }
constexpr Duration kLimit = std::chrono::milliseconds(10);

TEST(Watch, RunsOutAtItsTimeAndNeverWhenStopped) {
  Watch watch;
  EXPECT_EQ(watch.due(kLimit), kNever);
  EXPECT_FALSE(watch.has_run_out(at(100), kLimit));
  watch.begin(at(5), true);
  EXPECT_EQ(watch.due(kLimit), at(15));
  EXPECT_FALSE(watch.has_run_out(at(14), kLimit));
  EXPECT_TRUE(watch.has_run_out(at(15), kLimit));
  watch.stop();
  EXPECT_FALSE(watch.has_run_out(at(100), kLimit));
}

TEST(Watch, WhatBeganAtAnUnknownTimeIsGivenItsWholeTimeOnce) {
  Watch watch;
  watch.begin(at(5), false);
  EXPECT_FALSE(watch.has_run_out(at(500), kLimit));
  EXPECT_EQ(watch.due(kLimit), at(510));
  EXPECT_TRUE(watch.has_run_out(at(510), kLimit));
}

TEST(Pace, WhoDripsRunsOutAndWhoMovesAKilobyteASecondDoesNot) {
  const Duration limit = std::chrono::seconds(10);
  const auto at = [](std::int64_t seconds) { return Instant{std::chrono::seconds(seconds)}; };
  Pace pace;
  EXPECT_EQ(pace.due(limit), kNever);
  pace.begin(at(0), true);
  for (int i = 0; i < 9; ++i) pace.add(1);
  EXPECT_FALSE(pace.has_run_out(at(9), limit));
  EXPECT_TRUE(pace.has_run_out(at(10), limit));
  EXPECT_FALSE(pace.has_run_out(at(10), Duration{0}));  // None.
  EXPECT_EQ(pace.due(Duration{0}), kNever);
  pace.add(1015);
  EXPECT_EQ(pace.due(limit), at(11));
  pace.add(std::size_t{1} << 62);
  EXPECT_LT(pace.due(limit), kNever);
  pace.begin(at(20), true);
  EXPECT_EQ(pace.due(limit), at(30));
  pace.stop();
  EXPECT_FALSE(pace.has_run_out(at(40), limit));
}

}  // namespace
}  // namespace damper::http
