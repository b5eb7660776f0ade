#include "damper/queue/limiters/rate_limiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "damper/base/random.h"
#include "damper/queue/limiters/limiters.h"
#include "damper/queue/limiters/limiters_testing.h"

// What holds for every limiter, tried on random compositions of all that there are.
namespace damper::queue {
namespace {

constexpr std::size_t kCapacity = 50;  // of each part that remembers

Duration up_to(Random& random, Duration most) {  // Short ones as often as long ones.
  const auto shift = random.bits() % 50;
  return Duration(
      1 + static_cast<std::int64_t>(random.bits() % static_cast<std::uint64_t>(most.count())) /
              (std::int64_t{1} << shift));
}

Limiter<int> compose(Random& random, int depth) {
  const FailureTableOptions remembered{.capacity = 1 + random.bits() % kCapacity,
                                       .forget_after = kLongest};
  const auto jitter = static_cast<Jitter>(random.bits() % 3);
  switch (random.bits() % (depth == 0 ? 3 : 5)) {
    case 0: {
      const Duration base = up_to(random, kLongest / 2);
      return per_key<int>({.jitter = static_cast<Jitter>(random.bits() % 4),
                           .base = base,
                           .cap = base + up_to(random, kLongest - base),
                           .remembered = remembered});
    }
    case 1:
      return bucket<int>({.rate_per_second = 0.001 + 1000 * random.draw(),
                          .burst = static_cast<std::int32_t>(1 + random.bits() % 100),
                          .most_ahead = up_to(random, kLongest),
                          .excess = static_cast<Excess>(random.bits() % 2)});
    case 2: {
      const Duration fast = up_to(random, kLongest / 2);
      return fast_slow<int>({.fast = fast,
                             .slow = fast + up_to(random, kLongest - fast),
                             .fast_failures = static_cast<std::uint32_t>(random.bits() % 5),
                             .jitter = jitter,
                             .remembered = remembered});
    }
    case 3: {
      auto first = compose(random, depth - 1);
      auto second = compose(random, depth - 1);
      return max_of<int>(std::move(first), std::move(second), compose(random, depth - 1));
    }
    default: return with_max_wait<int>(compose(random, depth - 1), up_to(random, kLongest), jitter);
  }
}

decide::Report random_report(Random& random) {
  switch (random.bits() % 4) {
    case 0: return told(up_to(random, hours(24 * 30)));
    case 1: return told(random.draw() < 0.5 ? Duration(0) : kForever - Duration(random.bits() % 5));
    default: return kFailed;
  }
}

double random_draw(Random& random) {
  const double draw = random.draw();
  return draw < 0.1 ? 0 : draw > 0.9 ? kLargestDraw : draw;
}

TEST(RateLimiter, NoCompositionComesBeforeTheServerSaidOrKeepsMoreThanItMay) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {  // Invariants (1), (2)
    Random random(seed);
    const Limiter<int> limiter = compose(random, 2);
    Instant now = kStart;
    for (int step = 0; step < 300; ++step) {
      now += Duration(random.bits() % 2'000'000'000);
      if (random.draw() < 0.05) now -= seconds(5);  // Backwards.
      const auto key = static_cast<int>(random.bits() % 200);
      if (random.draw() < 0.1) {
        limiter->forget(key);
        ASSERT_EQ(limiter->failures(key), 0u) << "seed " << seed;
        continue;
      }
      const decide::Report why = random_report(random);
      const auto wait = limiter->when(key, why, now, random_draw(random));
      if (wait) {
        ASSERT_GE(*wait, Duration(0)) << "seed " << seed;
        ASSERT_GE(*wait, why.retry_after) << "seed " << seed;
      }
      const LimiterStats stats = limiter->stats();
      ASSERT_LE(stats.keys, stats.capacity) << "seed " << seed;
      ASSERT_LE(stats.capacity, 9 * kCapacity) << "seed " << seed;
      ASSERT_TRUE(wait || stats.refused > 0) << "seed " << seed;
    }
  }
}

TEST(RateLimiter, TheSameArgumentsGiveTheSameWaits) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random first(seed), second(seed);
    const Limiter<int> one = compose(first, 2);
    const Limiter<int> other = compose(second, 2);
    for (int step = 0; step < 50; ++step) {
      const auto key = static_cast<int>(first.bits() % 20);
      const decide::Report why = random_report(first);
      const double draw = random_draw(first);
      ASSERT_EQ(one->when(key, why, kStart, draw), other->when(key, why, kStart, draw)) << seed;
    }
  }
}

TEST(RateLimiter, OneThatKeepsAndCountsNothingNeedsNoStats) {
  class Constant final : public RateLimiter<int> {
   public:
    std::optional<Duration> when(const int& /*key*/, const decide::Report& why, Instant /*now*/,
                                 double /*draw*/) override {
      return wait_after(why.retry_after, seconds(1));
    }
    void forget(const int& /*key*/) noexcept override {}
    [[nodiscard]] std::uint32_t failures(const int& /*key*/) const override { return 0; }
  };
  Constant limiter;
  EXPECT_EQ(limiter.when(1, told(seconds(5)), kStart, 0), seconds(6));
  EXPECT_EQ(limiter.stats(), LimiterStats{});
}

TEST(RateLimiter, WaitAfterCountsFromRetryAfter) {
  EXPECT_EQ(wait_after(seconds(30), seconds(2)), seconds(32));
  EXPECT_EQ(wait_after(seconds(30), Duration(0)), seconds(30));
  EXPECT_EQ(wait_after(Duration(0), seconds(2)), seconds(2));
}

TEST(RateLimiter, AMissingOrNegativeRetryAfterAddsNothing) {
  EXPECT_EQ(wait_after(decide::Report::kUnsaid, seconds(2)), seconds(2));
  EXPECT_EQ(wait_after(seconds(-5), seconds(2)), seconds(2));
}

TEST(RateLimiter, WaitAfterSaturates) {
  EXPECT_EQ(wait_after(kForever, seconds(2)), kForever);
  EXPECT_EQ(wait_after(seconds(2), kForever), kForever);
  EXPECT_EQ(wait_after(hours(24 * 30), kLongest), hours(24 * 60));
}

TEST(RateLimiter, SpreadUsesTheJitterOfBackoff) {
  EXPECT_EQ(spread(seconds(10), Jitter::none, 0.5), seconds(10));
  EXPECT_EQ(spread(seconds(10), Jitter::full, 0), Duration(0));
  EXPECT_EQ(spread(seconds(10), Jitter::full, 0.5), seconds(5));
  EXPECT_EQ(spread(seconds(10), Jitter::full, kLargestDraw), seconds(10) - Duration(1));
  EXPECT_EQ(spread(seconds(10), Jitter::equal, 0), seconds(5));
  EXPECT_EQ(spread(seconds(10), Jitter::equal, 0.5), Duration(7'500'000'000));
  EXPECT_EQ(spread(seconds(10), Jitter::equal, kLargestDraw), seconds(10) - Duration(1));
  EXPECT_EQ(spread(kLongest, Jitter::full, kLargestDraw), kLongest - Duration(1));
}

TEST(RateLimiter, DecorrelatedJitterCannotSpreadOneLength) {
  EXPECT_TRUE(can_spread(Jitter::none) && can_spread(Jitter::full) && can_spread(Jitter::equal));
  EXPECT_FALSE(can_spread(Jitter::decorrelated));
}

}  // namespace
}  // namespace damper::queue
