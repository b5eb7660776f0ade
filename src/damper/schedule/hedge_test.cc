#include "damper/schedule/hedge.h"

#include <gtest/gtest.h>

namespace damper::schedule {
namespace {

using namespace std::chrono_literals;

constexpr HedgeOptions kOne = {.max_hedges = 1, .floor = 5ms};

TEST(Hedge, IsOffByDefault) { EXPECT_EQ(hedge_delay({}, 20ms, 1s), std::nullopt); }

TEST(Hedge, FollowsTheLiveQuantile) { EXPECT_EQ(hedge_delay(kOne, 20ms, 1s), 20ms); }

TEST(Hedge, TrapH1_ThereIsNoHedgingOnAColdHistogram) {  // Invariant (1).
  EXPECT_EQ(hedge_delay(kOne, std::nullopt, 1s), std::nullopt);
}

TEST(Hedge, TrapH5_NeverOverHalfTheRemainingTime) {  // Invariant (2).
  EXPECT_EQ(hedge_delay(kOne, 10s, 1s), 500ms);
  EXPECT_EQ(hedge_delay(kOne, 1ms, 1s), 5ms);
  EXPECT_EQ(hedge_delay(kOne, 5ms, 10ms), 5ms);
  EXPECT_EQ(hedge_delay(kOne, 5ms, 9ms), std::nullopt);
  EXPECT_EQ(hedge_delay(kOne, 5ms, 0ms), std::nullopt);
}

TEST(Hedge, BadOptionsGetASentence) {
  EXPECT_EQ(find_error(HedgeOptions{}), std::nullopt);
  for (const HedgeOptions& bad :
       {HedgeOptions{.max_hedges = -1}, HedgeOptions{.max_hedges = 4},
        HedgeOptions{.quantile = Percent(49)}, HedgeOptions{.quantile = Percent(100)},
        HedgeOptions{.floor = 0ms}, HedgeOptions{.min_samples = 0},
        HedgeOptions{.min_samples = 1'000'001}, HedgeOptions{.ratio = Percent(0)},
        HedgeOptions{.ratio = Percent(101)}}) {
    EXPECT_NE(find_error(bad), std::nullopt);
  }
}

}  // namespace
}  // namespace damper::schedule
