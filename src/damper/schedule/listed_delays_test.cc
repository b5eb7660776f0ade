#include "damper/schedule/listed_delays.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace damper::schedule {
namespace {

using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;

TEST(ListedDelays, SpreadEachDelayAroundItsStep) {
  const std::vector<Duration> steps = {seconds(10), minutes(1)};
  const auto delays = ListedDelays::from(steps, Percent(50));
  ASSERT_TRUE(delays);
  EXPECT_EQ(delays->delay(0, 0), seconds(5));
  EXPECT_EQ(delays->delay(0, 0.5), seconds(10));
  EXPECT_LT(delays->delay(0, 0.999999), seconds(15));
  EXPECT_EQ(delays->delay(1, 0.25), seconds(45));
  EXPECT_EQ(delays->delay(2, 0.5), std::nullopt);
}

TEST(ListedDelays, WithoutASpreadAreTheList) {
  const std::vector<Duration> steps = {seconds(10)};
  EXPECT_EQ(ListedDelays::from(steps, Percent(0))->delay(0, 0.9), seconds(10));
  EXPECT_EQ(ListedDelays::from(steps, Percent(100))->delay(0, 0), Duration{1});
}

TEST(ListedDelays, TheStandardsScheduleIsNineRetriesIn75Hours) {
  const ListedDelays& standard = ListedDelays::standard_webhooks();
  Duration sum{0};
  for (const Duration step : standard.steps()) sum += step;
  EXPECT_EQ(standard.steps().size(), 9U);
  EXPECT_EQ(sum, hours(75) + minutes(35) + seconds(5));
  EXPECT_EQ(standard.spread(), Percent(50));
}

TEST(ListedDelays, RefuseWhatIsOutOfBounds) {
  EXPECT_FALSE(ListedDelays::from(std::vector<Duration>(33, seconds(1)), Percent(50)));
  EXPECT_FALSE(ListedDelays::from(std::vector<Duration>{Duration{0}}, Percent(50)));
  EXPECT_FALSE(ListedDelays::from(std::vector<Duration>{kLongest + seconds(1)}, Percent(50)));
  EXPECT_FALSE(ListedDelays::from(std::vector<Duration>{seconds(1)}, Percent(101)));
  EXPECT_TRUE(ListedDelays::from(std::vector<Duration>{}, Percent(0)));
  EXPECT_TRUE(ListedDelays::from(std::vector<Duration>(32, seconds(1)), Percent(100)));
}

}  // namespace
}  // namespace damper::schedule
