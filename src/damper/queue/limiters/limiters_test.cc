#include "damper/queue/limiters/limiters.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "damper/base/random.h"
#include "damper/queue/limiters/limiters_testing.h"

// The limiters as one makes them. The rows of client-go's table, one a test: without jitter, its
// numbers.
namespace damper::queue {
namespace {

using Waits = std::vector<std::optional<Duration>>;

// The waits of as many failures of a key, at once.
Waits waits(RateLimiter<std::string>& limiter, std::string_view key, int count, double draw = 0) {
  Waits all;
  for (int i = 0; i < count; ++i) all.push_back(limiter.when(key, kFailed, kStart, draw));
  return all;
}

TEST(Limiters, PerKeyDoublesFromTheBaseUpToTheCap) {
  const auto limiter =
      per_key<std::string>({.jitter = Jitter::none, .base = milliseconds(1), .cap = seconds(1)});
  EXPECT_EQ(waits(*limiter, "one", 5), (Waits{milliseconds(1), milliseconds(2), milliseconds(4),
                                              milliseconds(8), milliseconds(16)}));
  EXPECT_EQ(limiter->failures("one"), 5u);
  EXPECT_EQ(waits(*limiter, "two", 2), (Waits{milliseconds(1), milliseconds(2)}));
  EXPECT_EQ(waits(*limiter, "two", 70).back(), seconds(1));  // Overflow gives the cap.
  limiter->forget("one");
  EXPECT_EQ(limiter->failures("one"), 0u);
  EXPECT_EQ(waits(*limiter, "one", 1), Waits{milliseconds(1)});
}

TEST(Limiters, BucketReservesATokenAndWaitsForIt) {
  const auto limiter = bucket<std::string>({.rate_per_second = 1, .burst = 2});
  EXPECT_EQ(waits(*limiter, "one", 4), (Waits{Duration(0), Duration(0), seconds(1), seconds(2)}));
  EXPECT_EQ(limiter->when("two", kFailed, kStart + seconds(1), 0), seconds(2));
  EXPECT_EQ(limiter->failures("one"), 0u);
}

TEST(Limiters, MaxOfAsksAllAndTheLongestWins) {
  const auto limiter = max_of<std::string>(
      per_key<std::string>({.jitter = Jitter::none, .base = milliseconds(5), .cap = seconds(3)}),
      fast_slow<std::string>({.fast = milliseconds(1),
                              .slow = seconds(3),
                              .fast_failures = 3,
                              .jitter = Jitter::none}),
      bucket<std::string>({.rate_per_second = 1, .burst = 5}));
  EXPECT_EQ(waits(*limiter, "one", 5),
            (Waits{milliseconds(5), milliseconds(10), milliseconds(20), seconds(3), seconds(3)}));
  EXPECT_EQ(waits(*limiter, "two", 2), (Waits{seconds(1), seconds(2)}));  // All have consumed.
  EXPECT_EQ(limiter->failures("one"), 5u);
  limiter->forget("one");
  EXPECT_EQ(limiter->failures("one"), 0u);
}

TEST(Limiters, FastSlowIsFastForTheFirstFailuresAndThenSlow) {
  const auto limiter = fast_slow<std::string>(
      {.fast = milliseconds(5), .slow = seconds(10), .fast_failures = 3, .jitter = Jitter::none});
  EXPECT_EQ(waits(*limiter, "one", 5),
            (Waits{milliseconds(5), milliseconds(5), milliseconds(5), seconds(10), seconds(10)}));
  EXPECT_EQ(limiter->failures("one"), 5u);
  EXPECT_EQ(waits(*limiter, "two", 1), Waits{milliseconds(5)});
  limiter->forget("one");
  EXPECT_EQ(waits(*limiter, "one", 1), Waits{milliseconds(5)});
}

TEST(Limiters, WithMaxWaitCapsTheOthersAnswer) {
  const auto limiter = with_max_wait<std::string>(
      per_key<std::string>({.jitter = Jitter::none, .base = milliseconds(30)}), milliseconds(100),
      Jitter::none);
  EXPECT_EQ(waits(*limiter, "one", 5), (Waits{milliseconds(30), milliseconds(60), milliseconds(100),
                                              milliseconds(100), milliseconds(100)}));
  EXPECT_EQ(limiter->failures("one"), 5u);
  EXPECT_EQ(limiter->when("two", told(minutes(5)), kStart, 0), minutes(5) + milliseconds(30));
}

TEST(Limiters, TheDefaultsAreThoseOfClientGo) {
  // Without jitter, so that the ends of both parts show.
  const auto limiter =
      max_of<std::string>(per_key<std::string>({.jitter = Jitter::none}), bucket<std::string>());
  const Waits one = waits(*limiter, "one", 100);
  EXPECT_EQ(one[0], milliseconds(5));
  EXPECT_EQ(one[17], microseconds(655'360'000));  // 5 ms * 2^17
  EXPECT_EQ(one[18], seconds(1000));
  EXPECT_EQ(one[99], seconds(1000));
  EXPECT_EQ(waits(*limiter, "two", 2), (Waits{milliseconds(100), milliseconds(200)}));  // 10/s
}

TEST(Limiters, TheDefaultLimiterIsBothJittered) {
  struct {
    double draw;
    Duration first, second, tenth;
  } const expected[] = {
      {0, Duration(0), Duration(0), Duration(0)},
      {0.5, microseconds(2500), milliseconds(5), milliseconds(1280)},
      {kLargestDraw, milliseconds(5) - Duration(1), milliseconds(10) - Duration(1),
       milliseconds(2560) - Duration(1)},
  };
  for (const auto& [draw, first, second, tenth] : expected) {
    const auto limiter = default_limiter<std::string>();
    const Waits one = waits(*limiter, "one", 10, draw);
    EXPECT_EQ(one[0], first);
    EXPECT_EQ(one[1], second);
    EXPECT_EQ(one[9], tenth);
    (void)waits(*limiter, "two", 90, draw);  // The burst is spent.
    EXPECT_EQ(waits(*limiter, "three", 1, draw), Waits{milliseconds(100)});
    EXPECT_EQ(limiter->failures("one"), 10u);
    EXPECT_EQ(limiter->stats(), (LimiterStats{.keys = 3, .capacity = 100'000}));
  }
}

TEST(Limiters, AMaxOfTakesWhateverIsALimiter) {
  const auto limiter = max_of<int>(std::make_unique<Fixed>(seconds(1)),
                                   with_max_wait<int>(default_limiter<int>(), minutes(1)));
  EXPECT_EQ(limiter->when(1, kFailed, kStart, 0), seconds(1));
  EXPECT_EQ(limiter->failures(1), 1u);
}

}  // namespace
}  // namespace damper::queue
