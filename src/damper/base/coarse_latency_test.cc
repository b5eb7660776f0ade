#include "damper/base/coarse_latency.h"

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

namespace damper {
namespace {

using std::chrono::milliseconds;

TEST(CoarseLatency, TheFirstRecordIsTheMeanAndLaterOnesMoveItByAnEighth) {
  CoarseLatency latency;
  EXPECT_EQ(latency.mean(), std::nullopt);
  latency.record(milliseconds(80), Instant{});
  EXPECT_EQ(latency.mean(), milliseconds(80));
  latency.record(milliseconds(160), Instant{});  // 80 + 80 / 8
  EXPECT_EQ(latency.mean(), milliseconds(90));
  latency.record(milliseconds(10), Instant{});  // 90 - 80 / 8
  EXPECT_EQ(latency.mean(), milliseconds(80));
}

TEST(CoarseLatency, ANegativeLatencyIsZero) {
  CoarseLatency latency;
  latency.record(milliseconds(-1), Instant{});
  EXPECT_EQ(latency.mean(), Duration{0});
}

}  // namespace
}  // namespace damper
