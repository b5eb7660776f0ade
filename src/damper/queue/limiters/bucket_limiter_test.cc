#include "damper/queue/limiters/bucket_limiter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "damper/base/random.h"
#include "damper/queue/limiters/limiters_testing.h"

namespace damper::queue {
namespace {

TEST(BucketLimiter, TheBurstGoesAtOnceAndTheOthersAtTheRate) {
  for (const double draw : {0.0, 0.5, kLargestDraw}) {  // Reserved times are not jittered.
    BucketLimiter<std::string> limiter;
    for (int i = 0; i < 100; ++i) ASSERT_EQ(limiter.when("a", kFailed, kStart, draw), Duration(0));
    for (int i = 1; i <= 600; ++i) {
      ASSERT_EQ(limiter.when("b", kFailed, kStart, draw), milliseconds(100 * i));
    }
  }
}

TEST(BucketLimiter, TrapQ5_TheDelayIsBoundedWhereClientGosGrowsForEver) {
  admit::TokenBucket client_go({.rate_per_second = 10, .burst = 100});  // Reserves without bound.
  BucketLimiter<int> limiter;
  Random random(1);
  Duration theirs{0}, ours{0};
  for (int key = 0; key < 36'100; ++key) {
    theirs = std::max(theirs, client_go.reserve(kStart, kForever).value());
    ours = std::max(ours, limiter.when(key, kFailed, kStart, random.draw()).value());
  }
  EXPECT_EQ(theirs, hours(1));  // And the next one a tenth of a second more.
  EXPECT_LT(ours, seconds(120));
  EXPECT_EQ(limiter.stats().coalesced, 36'100u - 700u);
  // A minute later the debt is paid, and a key waits as if nothing had been.
  const Instant later = kStart + seconds(60) + milliseconds(100);
  EXPECT_EQ(limiter.when(1, kFailed, later, 0.5), Duration(0));
  EXPECT_EQ(client_go.reserve(later, kForever), hours(1) - seconds(60));
}

TEST(BucketLimiter, TrapQ5_TheExcessIsRefusedIfOneWishes) {  // Invariant (4)
  BucketLimiter<int> limiter({.rate_per_second = 10,
                              .burst = 1,
                              .most_ahead = milliseconds(200),
                              .excess = Excess::refuse});
  EXPECT_EQ(limiter.when(1, kFailed, kStart, 0.5), Duration(0));
  EXPECT_EQ(limiter.when(2, kFailed, kStart, 0.5), milliseconds(100));
  EXPECT_EQ(limiter.when(3, kFailed, kStart, 0.5), milliseconds(200));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(limiter.when(4, kFailed, kStart, 0.5), std::nullopt);
  EXPECT_EQ(limiter.when(4, told(seconds(9)), kStart, 0.5), std::nullopt);
  EXPECT_EQ(limiter.when(5, kFailed, kStart + milliseconds(100), 0.5), milliseconds(200));
  EXPECT_EQ(limiter.stats(), (LimiterStats{.refused = 51}));
}

TEST(BucketLimiter, TheExcessComesAfterTheReserveSpreadAndTakesNoToken) {  // Invariants (3), (4)
  BucketLimiter<int> limiter({.rate_per_second = 1, .burst = 1, .most_ahead = seconds(2)});
  for (int i = 0; i <= 2; ++i) EXPECT_EQ(limiter.when(i, kFailed, kStart, 0), seconds(i));
  EXPECT_EQ(limiter.when(3, kFailed, kStart, 0), seconds(2));
  EXPECT_EQ(limiter.when(3, kFailed, kStart, 0.5), seconds(3));
  EXPECT_EQ(limiter.when(3, kFailed, kStart, kLargestDraw), seconds(4) - Duration(1));
  EXPECT_EQ(limiter.stats(), (LimiterStats{.coalesced = 3}));
  EXPECT_EQ(limiter.when(4, kFailed, kStart + seconds(1), 0.5), seconds(2));
  Random random(7);
  std::set<Duration> waits;
  for (int i = 0; i < 1000; ++i) {
    waits.insert(limiter.when(i, kFailed, kStart, random.draw()).value());
  }
  EXPECT_GT(waits.size(), 990u);  // No herd.
}

TEST(BucketLimiter, TheWaitCountsFromWhenTheServerSaid) {  // Invariants (1), (3)
  BucketLimiter<int> limiter({.rate_per_second = 1, .burst = 1, .most_ahead = seconds(1)});
  EXPECT_EQ(limiter.when(1, told(seconds(30)), kStart, 0.5), seconds(30));
  EXPECT_EQ(limiter.when(2, told(seconds(30)), kStart, 0.5), seconds(31));  // Not all at once.
  EXPECT_EQ(limiter.when(3, told(hours(720)), kStart, 0.5), hours(720) + milliseconds(1500));
  EXPECT_EQ(limiter.when(4, told(kForever), kStart, 0.5), kForever);
  EXPECT_EQ(limiter.when(5, told(Duration(0)), kStart, 0), seconds(1));
}

TEST(BucketLimiter, KeepsNothingOfSingleKeys) {  // Invariant (2)
  BucketLimiter<int> limiter;
  for (int i = 0; i < 5; ++i) (void)limiter.when(1, kFailed, kStart, 0);
  EXPECT_EQ(limiter.failures(1), 0u);
  limiter.forget(1);
  EXPECT_EQ(limiter.stats(), LimiterStats{});
}

TEST(BucketLimiter, TimeGoingBackwardsGivesNoTokens) {
  BucketLimiter<int> limiter({.rate_per_second = 10, .burst = 1});
  EXPECT_EQ(limiter.when(1, kFailed, kStart, 0), Duration(0));
  EXPECT_EQ(limiter.when(1, kFailed, kStart - seconds(1), 0), milliseconds(1100));
  EXPECT_EQ(limiter.when(1, kFailed, kStart, 0), milliseconds(200));
}

TEST(BucketLimiter, BadOptionsAreNamedWithTheirBound) {
  EXPECT_EQ(find_error(BucketOptions{}), std::nullopt);
  EXPECT_EQ(find_error(BucketOptions{.rate_per_second = std::nan("")}),
            "rate_per_second is nan; it must be from 0.001 to 100000000");
  EXPECT_EQ(find_error(BucketOptions{.burst = 0}), "burst is 0; it must be from 1 to 1000000");
  EXPECT_EQ(find_error(BucketOptions{.most_ahead = Duration(0)}),
            "most_ahead is 0s; it must be from 1ns to 720h");
  EXPECT_EQ(find_error(BucketOptions{.most_ahead = kLongest}), std::nullopt);
  EXPECT_EQ(find_error(BucketOptions{.most_ahead = hours(721)}),
            "most_ahead is 721h; it must be from 1ns to 720h");
  EXPECT_DEATH({ BucketLimiter<int> limiter({.most_ahead = Duration(0)}); }, "check failed");
}

}  // namespace
}  // namespace damper::queue
