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
  EXPECT_EQ(attempt_timeout(kOn, 5s, 1us), 10ms);
  EXPECT_EQ(attempt_timeout(kOn, 5s, 90s), 2s);
  EXPECT_EQ(attempt_timeout(kOn, 5s, kForever), 2s);
}

TEST(AdaptiveTimeout, TheConfiguredTimeoutIsTheCeiling) {
  EXPECT_EQ(attempt_timeout(kOn, 700ms, 90s), 700ms);
  EXPECT_EQ(attempt_timeout(kOn, 700ms, kForever, 100), 700ms);
  EXPECT_EQ(attempt_timeout(kOn, 5ms, 1us), 5ms);  // Under `lower`, too.
}

TEST(AdaptiveTimeout, ARetryHasMoreTimeThanTheAttemptBeforeIt) {
  EXPECT_EQ(attempt_timeout(kOn, 5s, 10ms, 0), 15ms);
  EXPECT_EQ(attempt_timeout(kOn, 5s, 10ms, 1), 120ms);
  EXPECT_EQ(attempt_timeout(kOn, 5s, 10ms, 2), 960ms);
  EXPECT_EQ(attempt_timeout(kOn, 5s, 10ms, 3), 2s);
  EXPECT_EQ(attempt_timeout(kOn, 5s, 10ms, 0xffff'ffff), 2s);
  EXPECT_EQ(attempt_timeout(kOn, 5s, 10ms, 1, true), 2s);  // The last has all there is.
  EXPECT_EQ(attempt_timeout(kOn, 700ms, 10ms, 1, true), 700ms);
  EXPECT_EQ(attempt_timeout(kOn, 5s, 10ms, 0, true), 15ms);  // No retry: it adapts all the same.
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
