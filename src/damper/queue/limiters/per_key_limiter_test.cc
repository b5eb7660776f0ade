#include "damper/queue/limiters/per_key_limiter.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "damper/base/random.h"
#include "damper/queue/limiters/limiters_testing.h"

namespace damper::queue {
namespace {

TEST(PerKeyLimiter, FullJitterSpreadsFromZeroToTheCeiling) {
  for (const auto& [draw, first, second] :
       {std::tuple{0.0, Duration(0), Duration(0)},
        std::tuple{0.5, Duration(microseconds(2500)), Duration(milliseconds(5))},
        std::tuple{kLargestDraw, milliseconds(5) - Duration(1), milliseconds(10) - Duration(1)}}) {
    PerKeyLimiter<std::string> limiter;
    EXPECT_EQ(limiter.when("a", kFailed, kStart, draw), first);
    EXPECT_EQ(limiter.when("a", kFailed, kStart, draw), second);
    EXPECT_EQ(limiter.when("b", kFailed, kStart, draw), first);
  }
}

TEST(PerKeyLimiter, EqualJitterKeepsHalf) {
  PerKeyLimiter<int> limiter({.jitter = Jitter::equal, .base = seconds(2)});
  EXPECT_EQ(limiter.when(1, kFailed, kStart, 0), seconds(1));
  EXPECT_EQ(limiter.when(1, kFailed, kStart, 0.5), seconds(3));
  EXPECT_EQ(limiter.when(1, kFailed, kStart, kLargestDraw), seconds(8) - Duration(1));
}

TEST(PerKeyLimiter, DecorrelatedJitterRemembersWhatItDrewForTheKey) {
  PerKeyLimiter<int> limiter({.jitter = Jitter::decorrelated, .base = seconds(1)});
  EXPECT_EQ(limiter.when(1, kFailed, kStart, 0.5), seconds(2));               // U[1, 3)
  EXPECT_EQ(limiter.when(1, kFailed, kStart, 0.5), Duration(3'500'000'000));  // U[1, 6)
  EXPECT_EQ(limiter.when(2, kFailed, kStart, 0.5), seconds(2));
  limiter.forget(1);
  EXPECT_EQ(limiter.when(1, kFailed, kStart, 0.5), seconds(2));
}

TEST(PerKeyLimiter, TrapQ7_KeysThatFailedTogetherComeBackSpread) {
  PerKeyLimiter<int> limiter;
  Random random(1);
  for (int failure = 1; failure <= 30; ++failure) {  // The first, the growing, the capped.
    std::set<Duration> waits;
    int upper = 0;
    const Duration ceiling =
        failure > 18 ? Duration(seconds(1000)) : milliseconds(5) * (1 << (failure - 1));
    for (int key = 0; key < 1000; ++key) {
      const Duration wait = limiter.when(key, kFailed, kStart, random.draw()).value();
      ASSERT_GE(wait, Duration(0));
      ASSERT_LT(wait, ceiling);
      waits.insert(wait);
      upper += wait >= ceiling / 2 ? 1 : 0;
    }
    EXPECT_GT(waits.size(), 990u) << "failure " << failure;  // client-go: 1
    EXPECT_GT(upper, 400) << "failure " << failure;
    EXPECT_LT(upper, 600) << "failure " << failure;
  }
}

TEST(PerKeyLimiter, JitterIsAddedToTheServersWord) {  // Invariants (1), (3)
  for (const auto& [draw, jitter] :
       {std::pair{0.0, Duration(0)}, std::pair{0.5, Duration(microseconds(2500))},
        std::pair{kLargestDraw, milliseconds(5) - Duration(1)}}) {
    for (const Duration said : {Duration(0), Duration(seconds(30)), Duration(hours(24 * 30))}) {
      PerKeyLimiter<int> limiter;
      EXPECT_EQ(limiter.when(1, told(said), kStart, draw), said + jitter);
    }
    PerKeyLimiter<int> limiter;
    EXPECT_EQ(limiter.when(1, told(kForever), kStart, draw), kForever);
  }
}

TEST(PerKeyLimiter, TheServersWordSetsTheKeysNextTimeAlsoForLaterFailures) {
  PerKeyLimiter<int> limiter({.jitter = Jitter::none});
  EXPECT_EQ(limiter.when(1, told(seconds(30)), kStart, 0), seconds(30) + milliseconds(5));
  // It was added meanwhile and failed without a Retry-After.
  EXPECT_EQ(limiter.when(1, kFailed, kStart + seconds(10), 0), seconds(20) + milliseconds(10));
  EXPECT_EQ(limiter.when(2, kFailed, kStart + seconds(10), 0), milliseconds(5));
  EXPECT_EQ(limiter.when(1, kFailed, kStart + seconds(40), 0), milliseconds(20));
}

TEST(PerKeyLimiter, ForgetStartsAnew) {
  PerKeyLimiter<int> limiter({.jitter = Jitter::none});
  (void)limiter.when(1, told(hours(2)), kStart, 0);
  (void)limiter.when(1, kFailed, kStart, 0);
  EXPECT_EQ(limiter.failures(1), 2u);
  limiter.forget(1);
  EXPECT_EQ(limiter.failures(1), 0u);
  EXPECT_EQ(limiter.when(1, kFailed, kStart, 0), milliseconds(5));
}

TEST(PerKeyLimiter, SaturatesAtTheCap) {
  PerKeyLimiter<int> limiter({.jitter = Jitter::none});
  for (int failure = 1; failure <= 2000; ++failure) {  // 2^64 and beyond.
    const auto wait = limiter.when(1, kFailed, kStart, 0);
    ASSERT_TRUE(failure < 19 || wait == seconds(1000)) << failure;
  }
  PerKeyLimiter<int> longest({.jitter = Jitter::none,
                              .base = kLongest,
                              .cap = kLongest,
                              .remembered = {.forget_after = kLongest}});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(longest.when(1, kFailed, kStart, 0), kLongest);
  // The count saturates at 2^32 - 1 (failure_table_test.cc), and its delay is the cap.
  EXPECT_EQ(schedule::Backoff().next({Jitter::none, milliseconds(5), seconds(1000)},
                                     std::numeric_limits<std::uint32_t>::max(), 0),
            seconds(1000));
}

TEST(PerKeyLimiter, TimeGoingBackwardsChangesNothing) {
  PerKeyLimiter<int> limiter({.jitter = Jitter::none});
  EXPECT_EQ(limiter.when(1, kFailed, kStart, 0), milliseconds(5));
  EXPECT_EQ(limiter.when(1, kFailed, kStart - hours(1), 0), milliseconds(10));
  EXPECT_EQ(limiter.when(1, kFailed, Instant::min(), 0), milliseconds(20));
  EXPECT_EQ(limiter.when(2, kFailed, kNever, 0), milliseconds(5));
}

TEST(PerKeyLimiter, ShowsWhatItRemembers) {  // Invariant (2)
  PerKeyLimiter<int> limiter({.remembered = {.capacity = 2}});
  for (int key = 0; key < 5; ++key) (void)limiter.when(key, kFailed, kStart, 0);
  EXPECT_EQ(limiter.stats(), (LimiterStats{.keys = 2, .capacity = 2, .evicted = 3}));
}

TEST(PerKeyLimiter, BadOptionsAreNamedWithTheirBound) {
  EXPECT_EQ(find_error(PerKeyOptions{}), std::nullopt);
  EXPECT_EQ(find_error(PerKeyOptions{.base = Duration(0)}),
            "base is 0s; it must be from 1ns to 720h");
  EXPECT_EQ(find_error(PerKeyOptions{.base = seconds(1001)}),
            "cap is 1000s; it must be from 1001s to 720h");
  EXPECT_EQ(find_error(PerKeyOptions{.remembered = {.capacity = 0}}),
            "remembered.capacity is 0; it must be from 1 to 10000000");
  EXPECT_EQ(find_error(PerKeyOptions{.cap = hours(1)}), std::nullopt);
  EXPECT_EQ(find_error(PerKeyOptions{.cap = hours(2)}),
            "remembered.forget_after is 1h; it must be from 2h to 720h");
  EXPECT_DEATH({ PerKeyLimiter<int> limiter({.base = Duration(0)}); }, "check failed");
}

}  // namespace
}  // namespace damper::queue
