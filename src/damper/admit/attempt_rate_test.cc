#include "damper/admit/attempt_rate.h"

#include <gtest/gtest.h>

namespace damper::admit {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{100s};

// 10 attempts a second: a token every 100 ms.
AttemptRateOptions ten(Duration max_wait, std::int32_t burst = 1) {
  return {.bucket = {.rate_per_second = 10, .burst = burst}, .max_wait = max_wait};
}

TEST(AttemptRate, AttemptsWaitInOrderUpToMaxWait) {
  AttemptRate rate(ten(300ms));
  EXPECT_TRUE(rate.try_take(kStart));
  EXPECT_FALSE(rate.try_take(kStart));
  for (const Duration wait : {100ms, 200ms, 300ms}) {
    EXPECT_EQ(rate.try_reserve(kStart, 1s), wait);
  }
  EXPECT_EQ(rate.try_reserve(kStart, 1s), std::nullopt);
  EXPECT_EQ(rate.waits().samples(kStart), 3);
  EXPECT_GE(rate.waits().quantile(Percent(100), kStart), 295ms);
}

TEST(AttemptRate, ATokenThatComesAfterTheTimeLeftIsNotReserved) {
  AttemptRate rate(ten(300ms));
  EXPECT_TRUE(rate.try_take(kStart));
  EXPECT_EQ(rate.try_reserve(kStart, 100ms - 1ns), std::nullopt);
  EXPECT_EQ(rate.try_reserve(kStart, -1s), std::nullopt);
  EXPECT_EQ(rate.waits().samples(kStart), 0);
  EXPECT_EQ(rate.try_reserve(kStart, 100ms), 100ms);
}

TEST(AttemptRate, WithoutTimeToWaitNothingIsReserved) {
  AttemptRate rate(ten(300ms, 2));
  EXPECT_EQ(rate.try_reserve(kStart, 0ms), std::nullopt);
  EXPECT_EQ(rate.balance(kStart), 2);
  EXPECT_EQ(rate.try_reserve(kStart, 1ns), 0ms);
  EXPECT_EQ(rate.balance(kStart), 1);
}

TEST(AttemptRate, AReloadChangesTheRateAndTheLongestWait) {
  AttemptRate rate(ten(0ms));
  EXPECT_TRUE(rate.try_take(kStart));
  EXPECT_EQ(rate.try_reserve(kStart, 1s), std::nullopt);
  rate.reload({.bucket = {.rate_per_second = 5, .burst = 1}, .max_wait = 200ms}, kStart);
  EXPECT_EQ(rate.try_reserve(kStart, 1s), 200ms);
  EXPECT_EQ(rate.try_reserve(kStart, 1s), std::nullopt);
}

}  // namespace
}  // namespace damper::admit
