#include "damper/queue/limiters/max_wait.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "damper/queue/limiters/limiters_testing.h"

namespace damper::queue {
namespace {

// The result for the inner delay `wait`, with a bound of a minute.
std::optional<Duration> bounded(std::optional<Duration> wait, const decide::Report& why,
                                double draw = 0, Jitter jitter = Jitter::none) {
  MaxWait<int> limiter(std::make_unique<Fixed>(wait), minutes(1), jitter);
  return limiter.when(1, why, kStart, draw);
}

TEST(MaxWait, LeavesAWaitWithinTheBoundAlone) {  // Invariant (4)
  for (const Jitter jitter : {Jitter::none, Jitter::full, Jitter::equal}) {
    EXPECT_EQ(bounded(Duration(0), kFailed, 0.5, jitter), Duration(0));
    EXPECT_EQ(bounded(seconds(59), kFailed, 0.5, jitter), seconds(59));
    EXPECT_EQ(bounded(minutes(1), kFailed, 0.5, jitter), minutes(1));
    EXPECT_EQ(bounded(std::nullopt, kFailed, 0.5, jitter), std::nullopt);
  }
}

TEST(MaxWait, AWaitOverTheBoundIsDrawnAnew) {  // Invariant (3)
  for (const double draw : {0.0, 0.5, kLargestDraw}) {
    const double other = another_draw(draw);
    const auto part = [&](Duration top) {
      return Duration(static_cast<std::int64_t>(static_cast<double>(top.count()) * other));
    };
    for (const Duration wait : {minutes(1) + Duration(1), kForever}) {
      EXPECT_EQ(bounded(wait, kFailed, draw), minutes(1));
      EXPECT_EQ(bounded(wait, kFailed, draw, Jitter::full), part(minutes(1)));
      EXPECT_EQ(bounded(wait, kFailed, draw, Jitter::equal), seconds(30) + part(seconds(30)));
    }
  }
}

TEST(MaxWait, TrapJ1_KeysAtTheBoundComeBackSpread) {
  MaxWait<int> limiter(std::make_unique<Fixed>(hours(1)), minutes(1));
  Random random(1);
  std::set<Duration> waits;
  for (int key = 0; key < 1000; ++key) {
    const Duration wait = limiter.when(key, kFailed, kStart, random.draw()).value();
    EXPECT_GE(wait, seconds(30));
    EXPECT_LT(wait, minutes(1));
    waits.insert(wait);
  }
  EXPECT_GT(waits.size(), 990u);
}

TEST(MaxWait, ItsSpreadIsThatOfAllDrawsNotOfTheLongOnes) {
  int lower = 0;
  Random random(1);
  for (int i = 0; i < 1000; ++i) {  // As if the other one was over the bound for draws over 0.9.
    const double draw = 0.9 + 0.1 * random.draw();
    lower += bounded(hours(1), kFailed, draw, Jitter::full) < seconds(30) ? 1 : 0;
  }
  EXPECT_GT(lower, 400);
  EXPECT_LT(lower, 600);
}

TEST(MaxWait, NeverComesBeforeTheServerSaid) {  // Invariants (1), (3)
  EXPECT_EQ(bounded(hours(2) + seconds(3), told(hours(2))), hours(2) + seconds(3));
  EXPECT_EQ(bounded(hours(3), told(hours(2))), hours(2) + minutes(1));
  EXPECT_EQ(bounded(hours(721), told(hours(720))), hours(720) + minutes(1));
  EXPECT_EQ(bounded(kForever, told(kForever)), kForever);
  EXPECT_EQ(bounded(hours(1), told(Duration(0))), minutes(1));
  EXPECT_EQ(bounded(hours(1), told(seconds(10))), seconds(70));
  EXPECT_EQ(bounded(seconds(40), told(seconds(10))), seconds(40));
  EXPECT_EQ(bounded(seconds(1), told(hours(2))), hours(2));  // The other one broke the rule.
}

TEST(MaxWait, PassesTheRestOn) {
  auto fixed = std::make_unique<Fixed>(seconds(1), 7);
  Fixed& inner = *fixed;
  inner.stats_of_its_own.keys = 5;
  MaxWait<int> limiter(std::move(fixed), minutes(1));
  EXPECT_EQ(limiter.failures(3), 7u);
  EXPECT_EQ(limiter.stats().keys, 5u);
  limiter.forget(3);
  EXPECT_EQ(inner.forgotten, 3);
}

TEST(MaxWait, NeedsALimiterABoundAndAJitterThatSpreads) {
  const auto make = [](Duration longest, Jitter jitter) {
    MaxWait<int> limiter(std::make_unique<Fixed>(seconds(1)), longest, jitter);
  };
  make(kLongest, Jitter::full);
  EXPECT_DEATH(make(Duration(0), Jitter::full), "check failed");
  EXPECT_DEATH(make(kLongest + Duration(1), Jitter::full), "check failed");
  EXPECT_DEATH(make(minutes(1), Jitter::decorrelated), "check failed");
  EXPECT_DEATH({ MaxWait<int> limiter(nullptr, minutes(1)); }, "check failed");
}

}  // namespace
}  // namespace damper::queue
