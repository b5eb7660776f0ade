#include "damper/base/bounds.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace damper {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Range<Duration> kWindow{seconds(1), hours(1)};

template <typename T>
std::string error(const T& value, const Range<T>& range) {
  return BoundsCheck().field("x", value, range).error().value_or("none");
}

TEST(BoundsCheck, TheFirstErrorStands) {
  const Range<std::int32_t> range{0, 1};
  EXPECT_EQ(BoundsCheck().field("a", 5, range).less("b", 3, "c", 2).error(),
            "a is 5; it must be from 0 to 1");
  EXPECT_EQ(BoundsCheck().less("b", 3, "c", 2).field("a", 5, range).error(),
            "b is 3; it must be less than c, which is 2");
}

TEST(Bounds, BothEndsAreIncluded) {
  EXPECT_TRUE(kWindow.contains(seconds(1)));
  EXPECT_TRUE(kWindow.contains(hours(1)));
  EXPECT_FALSE(kWindow.contains(seconds(1) - Duration{1}));
  EXPECT_FALSE(kWindow.contains(hours(1) + Duration{1}));
}

TEST(Bounds, ANaNIsInNoRange) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE((Range<double>{-infinity, infinity}.contains(std::nan(""))));
}

TEST(Bounds, TheSentenceHasTheNameTheValueAndTheBound) {
  EXPECT_EQ(error<Duration>(milliseconds(500), kWindow), "x is 500ms; it must be from 1s to 1h");
  EXPECT_EQ(error<Duration>(seconds(-1), {Duration{0}, kLongest}),
            "x is -1s; it must be from 0s to 720h");
  EXPECT_EQ(error(Percent(101), {Percent::from_hundredths(1), Percent(100)}),
            "x is 101%; it must be from 0.01% to 100%");
  EXPECT_EQ(error<std::int32_t>(1'000'001, {-1, 1'000'000}),
            "x is 1000001; it must be from -1 to 1000000");
  EXPECT_EQ(error(0.0, {0.001, 100e6}), "x is 0; it must be from 0.001 to 100000000");
  EXPECT_EQ(error(std::nan(""), {0.5, 1.0}), "x is nan; it must be from 0.5 to 1");
  EXPECT_EQ(error<Duration>(seconds(1), kWindow), "none");
}

TEST(Bounds, TheFirstErrorIsKept) {
  EXPECT_EQ(BoundsCheck()
                .field<Duration>("good", seconds(2), kWindow)
                .field<Duration>("first", seconds(0), kWindow)
                .field<Duration>("second", seconds(0), kWindow)
                .require(false, "third")
                .part("fourth", "x is 1")
                .error(),
            "first is 0s; it must be from 1s to 1h");
  EXPECT_EQ(BoundsCheck().require(true, "a").require(false, "b").error(), "b");
}

TEST(Bounds, AFieldCanBeBoundByAnother) {
  const Duration limit = seconds(2);
  EXPECT_EQ(BoundsCheck().less<Duration>("x", seconds(1), "y", limit).error(), std::nullopt);
  EXPECT_EQ(BoundsCheck().less<Duration>("x", seconds(2), "y", limit).error(),
            "x is 2s; it must be less than y, which is 2s");
}

TEST(Bounds, APartPrefixesItsName) {
  EXPECT_EQ(BoundsCheck().part("a", std::nullopt).part("b", "x is 1").error(), "b.x is 1");
}

}  // namespace
}  // namespace damper
