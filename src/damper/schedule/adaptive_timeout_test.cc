#include "damper/schedule/adaptive_timeout.h"

#include <gtest/gtest.h>

namespace damper::schedule {
namespace {

using namespace std::chrono_literals;

constexpr AdaptiveTimeoutOptions kOn = {.on = true, .lower = 10ms, .upper = 2s};

TEST(AdaptiveTimeout, IsTheConfiguredOneUntilEnoughIsKnown) {
  EXPECT_EQ(attempt_timeout(kOn, 700ms, std::nullopt), 700ms);
  EXPECT_EQ(attempt_timeout({}, 700ms, 100ms), 700ms);  // Off.
}

TEST(AdaptiveTimeout, IsTheLiveQuantileWithItsMargin) {
  EXPECT_EQ(attempt_timeout(kOn, 700ms, 100ms), 150ms);
}

TEST(AdaptiveTimeout, StaysWithinItsBounds) {
  EXPECT_EQ(attempt_timeout(kOn, 700ms, 1us), 10ms);
  EXPECT_EQ(attempt_timeout(kOn, 700ms, 90s), 2s);
  EXPECT_EQ(attempt_timeout(kOn, 700ms, kForever), 2s);
}

TEST(AdaptiveTimeout, BadOptionsGetASentence) {
  EXPECT_EQ(find_error(AdaptiveTimeoutOptions{}), std::nullopt);
  for (const AdaptiveTimeoutOptions& bad :
       {AdaptiveTimeoutOptions{.quantile = Percent(100)},
        AdaptiveTimeoutOptions{.margin = Percent(99)},
        AdaptiveTimeoutOptions{.margin = Percent(1001)}, AdaptiveTimeoutOptions{.lower = 0ms},
        AdaptiveTimeoutOptions{.lower = 2s, .upper = 1s},
        AdaptiveTimeoutOptions{.min_samples = 0}}) {
    EXPECT_NE(find_error(bad), std::nullopt);
  }
}

}  // namespace
}  // namespace damper::schedule
