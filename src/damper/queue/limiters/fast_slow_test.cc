#include "damper/queue/limiters/fast_slow.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/base/random.h"
#include "damper/queue/limiters/limiters_testing.h"

namespace damper::queue {
namespace {

constexpr FastSlowOptions kTwoFast{
    .fast = milliseconds(10), .slow = seconds(10), .fast_failures = 2};

TEST(FastSlow, BothWaitsAreJittered) {
  struct {
    double draw;
    Duration fast, slow;
  } const expected[] = {
      {0, Duration(0), Duration(0)},
      {0.5, milliseconds(5), seconds(5)},
      {kLargestDraw, milliseconds(10) - Duration(1), seconds(10) - Duration(1)},
  };
  for (const auto& [draw, fast, slow] : expected) {
    FastSlow<std::string> limiter(kTwoFast);
    EXPECT_EQ(limiter.when("a", kFailed, kStart, draw), fast);
    EXPECT_EQ(limiter.when("a", kFailed, kStart, draw), fast);
    EXPECT_EQ(limiter.when("a", kFailed, kStart, draw), slow);
    EXPECT_EQ(limiter.when("a", kFailed, kStart, draw), slow);
    EXPECT_EQ(limiter.when("b", kFailed, kStart, draw), fast);
  }
}

TEST(FastSlow, WithoutFastFailuresAllAreSlow) {
  FastSlow<int> limiter({.fast_failures = 0, .jitter = Jitter::equal});
  EXPECT_EQ(limiter.when(1, kFailed, kStart, 0), seconds(5));
}

TEST(FastSlow, ForgetStartsAnew) {
  FastSlow<int> limiter(kTwoFast);
  for (int i = 0; i < 5; ++i) (void)limiter.when(1, kFailed, kStart, 0);
  EXPECT_EQ(limiter.failures(1), 5u);
  limiter.forget(1);
  EXPECT_EQ(limiter.failures(1), 0u);
  EXPECT_EQ(limiter.when(1, kFailed, kStart, 0.5), milliseconds(5));
}

TEST(FastSlow, JitterIsAddedToTheServersWord) {
  FastSlow<int> limiter(kTwoFast);
  EXPECT_EQ(limiter.when(1, told(seconds(60)), kStart, 0), seconds(60));
  EXPECT_EQ(limiter.when(1, kFailed, kStart + seconds(20), 0.5), seconds(40) + milliseconds(5));
  EXPECT_EQ(limiter.when(1, told(hours(720)), kStart, 0.5), hours(720) + seconds(5));
  EXPECT_EQ(limiter.when(2, told(kForever), kStart, 0.5), kForever);
}

TEST(FastSlow, ItsMemoryIsBounded) {
  FastSlow<int> limiter({.remembered = {.capacity = 3}});
  for (int key = 0; key < 10; ++key) (void)limiter.when(key, kFailed, kStart, 0);
  EXPECT_EQ(limiter.stats(), (LimiterStats{.keys = 3, .capacity = 3, .evicted = 7}));
}

TEST(FastSlow, BadOptionsAreNamedWithTheirBound) {
  EXPECT_EQ(find_error(FastSlowOptions{}), std::nullopt);
  EXPECT_EQ(find_error(FastSlowOptions{.fast = Duration(0)}),
            "fast is 0s; it must be from 1ns to 720h");
  EXPECT_EQ(find_error(FastSlowOptions{.fast = hours(721)}),
            "fast is 721h; it must be from 1ns to 720h");
  EXPECT_EQ(find_error(FastSlowOptions{.slow = milliseconds(5)}), std::nullopt);
  EXPECT_EQ(find_error(FastSlowOptions{.slow = milliseconds(4)}),
            "slow is 4ms; it must be from 5ms to 720h");
  EXPECT_EQ(find_error(FastSlowOptions{.slow = hours(721)}),
            "slow is 721h; it must be from 5ms to 720h");
  EXPECT_EQ(find_error(FastSlowOptions{.jitter = Jitter::decorrelated}),
            "jitter is decorrelated; it must be none, full or equal");
  EXPECT_EQ(find_error(FastSlowOptions{.remembered = {.capacity = 0}}),
            "remembered.capacity is 0; it must be from 1 to 10000000");
  EXPECT_EQ(find_error(FastSlowOptions{.slow = hours(1)}), std::nullopt);
  EXPECT_EQ(find_error(FastSlowOptions{.slow = hours(2)}),
            "remembered.forget_after is 1h; it must be from 2h to 720h");
  EXPECT_DEATH({ FastSlow<int> limiter({.fast = Duration(0)}); }, "check failed");
}

}  // namespace
}  // namespace damper::queue
