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

}  // namespace
}  // namespace damper::http
