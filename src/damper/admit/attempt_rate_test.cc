#include "damper/admit/attempt_rate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "damper/base/random.h"

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

TEST(AttemptRate, ATokenThatIsGivenBackIsForTheNextCaller) {
  AttemptRate rate(ten(1s));
  EXPECT_TRUE(rate.try_take(kStart));
  for (const Duration wait : {100ms, 200ms, 300ms}) EXPECT_EQ(rate.try_reserve(kStart, 1s), wait);
  rate.give_back(kStart + 200ms, kStart + 50ms);
  EXPECT_FALSE(rate.try_take(kStart + 50ms));  // It is not due.
  EXPECT_EQ(rate.try_reserve(kStart + 50ms, 149ms), std::nullopt);
  EXPECT_EQ(rate.try_reserve(kStart + 50ms, 150ms), 150ms);
  EXPECT_EQ(rate.try_reserve(kStart + 50ms, 1s), 350ms);  // Once.
}

TEST(AttemptRate, CallersThatHungUpDelayNobody) {  // Invariant (2)
  AttemptRate rate(ten(1h));
  EXPECT_TRUE(rate.try_take(kStart));
  for (int i = 1; i <= 200; ++i) EXPECT_EQ(rate.try_reserve(kStart, 1h), i * 100ms);
  for (int i = 1; i <= 200; ++i) rate.give_back(kStart + i * 100ms, kStart + 10ms);
  EXPECT_EQ(rate.try_reserve(kStart + 10ms, 1h), 90ms);
  EXPECT_EQ(rate.try_reserve(kStart + 10ms, 1h), 190ms);
  EXPECT_EQ(rate.try_reserve(kStart + 10s + 1ms, 1h), 99ms);
}

TEST(AttemptRate, AGivenBackTokenIsKeptForTheBurst) {
  AttemptRate rate(ten(1s, 3));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(rate.try_take(kStart));
  for (int i = 1; i <= 9; ++i) EXPECT_EQ(rate.try_reserve(kStart, 1s), i * 100ms);
  rate.give_back(kStart + 100ms, kStart + 1ms);
  rate.give_back(kStart + 200ms, kStart + 1ms);
  EXPECT_FALSE(rate.try_take(kStart + 100ms - 1ns));
  EXPECT_TRUE(rate.try_take(kStart + 300ms - 2ns));  // The first, for two intervals.
  EXPECT_FALSE(rate.try_take(kStart + 400ms));       // The second, not for longer.
  rate.give_back(kStart + 400ms, kStart + 500ms);    // After its instant.
  EXPECT_TRUE(rate.try_take(kStart + 500ms));
  EXPECT_FALSE(rate.try_take(kStart + 500ms));
}

TEST(AttemptRate, WithoutABurstATokenIsForItsInstantAlone) {
  AttemptRate rate(ten(1s));
  EXPECT_TRUE(rate.try_take(kStart));
  for (const Duration wait : {100ms, 200ms}) EXPECT_EQ(rate.try_reserve(kStart, 1s), wait);
  rate.give_back(kStart + 100ms, kStart);
  EXPECT_FALSE(rate.try_take(kStart + 100ms + 1ns));
  rate.give_back(kStart + 200ms, kStart + 150ms);
  EXPECT_TRUE(rate.try_take(kStart + 200ms));
}

// Invariant (2) of ReturnedTokens: at the end of the time the bucket has gained as many tokens.
TEST(AttemptRate, AGivenBackTokenIsKeptForLessThanBurstMinusOneIntervals) {
  for (const Duration age : {200ms - 2ns, 200ms - 1ns, 200ms - 0ns}) {
    AttemptRate rate(ten(1s, 3));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(rate.try_take(kStart));
    for (int i = 1; i <= 9; ++i) EXPECT_EQ(rate.try_reserve(kStart, 1s), i * 100ms);
    rate.give_back(kStart + 100ms, kStart);
    EXPECT_EQ(rate.try_take(kStart + 100ms + age), age == 200ms - 2ns);
  }
  AttemptRate slow({.bucket = {.rate_per_second = 0.001, .burst = 2}, .max_wait = 1h});
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(slow.try_take(kStart));
  const std::optional<Duration> wait = slow.try_reserve(kStart, 1h);
  ASSERT_TRUE(wait && slow.try_reserve(kStart, 1h));
  slow.give_back(kStart + *wait, kStart);
  EXPECT_FALSE(slow.try_take(kStart + *wait + 1000s));
}

TEST(AttemptRate, AReloadChangesHowLongAGivenBackTokenIsKept) {
  AttemptRate rate(ten(1s));
  EXPECT_TRUE(rate.try_take(kStart));
  rate.reload(ten(1s, 3), kStart);
  while (rate.try_take(kStart)) {
  }
  const auto wait = rate.try_reserve(kStart, 1s);
  ASSERT_TRUE(wait.has_value());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(rate.try_reserve(kStart, 1s));
  rate.give_back(kStart + *wait, kStart);
  EXPECT_TRUE(rate.try_take(kStart + *wait + 100ms));
}

TEST(AttemptRate, AReloadForgetsTheTokensThatWereGivenBack) {
  AttemptRate rate(ten(1s));
  EXPECT_TRUE(rate.try_take(kStart));
  EXPECT_EQ(rate.try_reserve(kStart, 1s), 100ms);
  rate.give_back(kStart + 100ms, kStart);
  rate.reload(ten(1s), kStart);
  EXPECT_EQ(rate.try_reserve(kStart, 1s), 200ms);
}

// Callers that take, reserve, hang up while they wait, and are refused when their token is due.
// Those that are left send at the instant of their token.
TEST(AttemptRate, InAnyTimeNoMoreThanBurstAndRateAreSentOverManySeeds) {  // Invariant (1)
  std::size_t given_back = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const double per_second = 1 + random.draw() * 50;
    const auto burst = static_cast<std::int32_t>(1 + random.bits() % 6);
    AttemptRate rate({.bucket = {.rate_per_second = per_second, .burst = burst}, .max_wait = 2s});
    const double hang_up = random.draw() * 0.6, refused = random.draw() * 0.4;
    const auto step = static_cast<std::uint64_t>((0.2 + 2 * random.draw()) * 1e9 / per_second);
    Instant now = kStart;
    std::vector<Instant> waiting, sent;
    for (int i = 0; i < 250; ++i) {
      if (random.draw() < 0.02) now += Duration(20 * step);  // A quiet time.
      now += Duration(random.bits() % step);
      for (auto due = waiting.begin(); due != waiting.end();) {
        const bool hangs_up = random.draw() < hang_up / 4;
        if (*due > now && !hangs_up) {
          ++due;
          continue;
        }
        if (hangs_up || random.draw() < refused) {
          rate.give_back(*due, now);
          ++given_back;
        } else {
          sent.push_back(*due);
        }
        due = waiting.erase(due);
      }
      if (rate.try_take(now)) {
        sent.push_back(now);
      } else if (const auto wait = rate.try_reserve(now, 2s); wait && *wait > 0s) {
        waiting.push_back(now + *wait);
      }
    }
    std::sort(sent.begin(), sent.end());
    for (std::size_t first = 0; first < sent.size(); ++first) {
      for (std::size_t last = first; last < sent.size(); ++last) {
        const double t = static_cast<double>((sent[last] - sent[first]).count() + 5) / 1e9;
        ASSERT_LE(static_cast<double>(last - first + 1), burst + per_second * t)
            << "seed " << seed << ", burst " << burst;
      }
    }
  }
  EXPECT_GT(given_back, 5000U);
}

TEST(ReturnedTokens, TheFirstAfterNowIsReservedAndOnce) {  // Invariant (1)
  ReturnedTokens<> tokens;
  EXPECT_EQ(tokens.try_reserve(kStart, kNever, kStart), std::nullopt);
  for (const Duration due : {30ms, 10ms, 20ms}) tokens.give_back(kStart + due, kStart);
  EXPECT_EQ(tokens.try_reserve(kStart, kStart + 9ms, kStart), std::nullopt);
  EXPECT_EQ(tokens.try_reserve(kStart + 10ms, kNever, kStart), kStart + 20ms);
  EXPECT_EQ(tokens.try_reserve(kStart, kStart + 10ms, kStart), kStart + 10ms);
  EXPECT_EQ(tokens.try_reserve(kStart, kNever, kStart), kStart + 30ms);
  EXPECT_EQ(tokens.try_reserve(kStart, kNever, kStart), std::nullopt);
}

TEST(ReturnedTokens, OneThatIsDueIsTakenUntilItIsTooOld) {
  ReturnedTokens<> tokens;
  tokens.give_back(kStart, kStart);
  EXPECT_FALSE(tokens.try_take(kStart - 1ns, kStart - 1s));
  EXPECT_TRUE(tokens.try_take(kStart + 5ms, kStart));
  EXPECT_FALSE(tokens.try_take(kStart + 5ms, kStart));
  tokens.give_back(kStart, kStart);
  EXPECT_FALSE(tokens.try_take(kStart + 5ms, kStart + 1ns));
  EXPECT_FALSE(tokens.try_take(kStart + 5ms, kStart));  // Dropped.
  tokens.give_back(kStart, kStart + 1ns);               // Too old already.
  EXPECT_FALSE(tokens.try_take(kStart + 5ms, kStart));
}

TEST(ReturnedTokens, OneWithoutAFreeCellIsLostAndOldOnesMakeRoom) {
  ReturnedTokens<2> tokens;
  for (const Duration due : {10ms, 20ms, 30ms}) tokens.give_back(kStart + due, kStart);
  tokens.give_back(kStart + 40ms, kStart + 11ms);  // The first is too old by now.
  EXPECT_EQ(tokens.try_reserve(kStart, kNever, kStart), kStart + 20ms);
  EXPECT_EQ(tokens.try_reserve(kStart, kNever, kStart), kStart + 40ms);
  EXPECT_EQ(tokens.try_reserve(kStart, kNever, kStart), std::nullopt);
}

TEST(ReturnedTokens, ASearchForgetsNoTokenThatItDoesNotTake) {
  ReturnedTokens<4> tokens;  // Two of the cells are free.
  for (const Duration due : {10ms, 20ms}) tokens.give_back(kStart + due, kStart);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(tokens.try_take(kStart, kStart));
  EXPECT_EQ(tokens.try_reserve(kStart, kNever, kStart), kStart + 10ms);
  EXPECT_EQ(tokens.try_reserve(kStart, kNever, kStart), kStart + 20ms);
}

TEST(ReturnedTokens, OneOfTheOldestInstantKeepsItsCell) {
  ReturnedTokens<1> tokens;
  tokens.give_back(kStart, kStart);
  tokens.give_back(kStart + 10ms, kStart);  // Finds no cell.
  EXPECT_TRUE(tokens.try_take(kStart, kStart));
}

TEST(ReturnedTokens, ClearForgetsAllOfThem) {
  ReturnedTokens<4> tokens;
  for (const Duration due : {10ms, 20ms}) tokens.give_back(kStart + due, kStart);
  tokens.clear();
  EXPECT_EQ(tokens.try_reserve(kStart, kNever, kStart), std::nullopt);
  tokens.give_back(kStart + 30ms, kStart);
  EXPECT_EQ(tokens.try_reserve(kStart, kNever, kStart), kStart + 30ms);
}

TEST(ReturnedTokens, EachIsTakenOnceUnderContention) {  // Invariant (1)
  ReturnedTokens<> tokens;
  constexpr int kEach = 20'000;
  std::vector<std::atomic<int>> taken(2 * kEach);  // by the nanosecond at which it is due
  std::atomic<int> givers{2};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) tokens.give_back(kStart + Duration(1 + 2 * i + t), kStart);
        --givers;
      });
      threads.emplace_back([&] {
        for (bool last = false; !last;) {
          last = givers == 0;
          while (const auto due = tokens.try_reserve(kStart, kNever, kStart)) {
            ++taken[static_cast<std::size_t>((*due - kStart).count() - 1)];
          }
        }
      });
    }
  }
  EXPECT_EQ(std::count_if(taken.begin(), taken.end(), [](const auto& n) { return n > 1; }), 0);
  EXPECT_GT(std::count(taken.begin(), taken.end(), 1), 0);
  EXPECT_EQ(tokens.try_reserve(kStart, kNever, kStart), std::nullopt);
}

}  // namespace
}  // namespace damper::admit
