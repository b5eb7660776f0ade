#include "damper/admit/token_bucket.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "damper/base/random.h"

namespace damper::admit {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant at(Duration since_epoch) { return Instant{since_epoch}; }
constexpr Instant kStart = at(seconds(100));

TEST(TokenBucket, StartsFullAndRefillsAtItsRate) {
  TokenBucket bucket({.rate_per_second = 10, .burst = 3});
  EXPECT_EQ(bucket.balance(kStart), 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_FALSE(bucket.try_take(kStart));
  EXPECT_EQ(bucket.balance(kStart), 0);
  EXPECT_FALSE(bucket.try_take(kStart + milliseconds(100) - Duration(5)));  // A unit is 2 to 4 ns.
  EXPECT_TRUE(bucket.try_take(kStart + milliseconds(100)));
  EXPECT_FALSE(bucket.try_take(kStart + milliseconds(100)));
  EXPECT_EQ(bucket.balance(kStart + hours(1)), 3);  // Full, and no more.
}

TEST(TokenBucket, TakesAllOrNone) {  // Invariant (2)
  TokenBucket bucket({.rate_per_second = 1, .burst = 5});
  EXPECT_FALSE(bucket.try_take(kStart, 6));
  EXPECT_EQ(bucket.balance(kStart), 5);
  EXPECT_TRUE(bucket.try_take(kStart, 3));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(bucket.try_take(kStart, 3));
  EXPECT_EQ(bucket.balance(kStart), 2);
  EXPECT_TRUE(bucket.try_take(kStart, 2));
  EXPECT_FALSE(bucket.try_take(kStart, std::numeric_limits<std::int32_t>::max()));
}

TEST(TokenBucket, ARateThatDoesNotDivideASecondDoesNotDrift) {
  for (const double rate : {3.0, 7.0, 0.3, 999'983.0}) {
    TokenBucket bucket({.rate_per_second = rate, .burst = 1});
    ASSERT_TRUE(bucket.try_take(kStart));
    for (std::int64_t n = 1; n <= 3000; ++n) {  // Taken as soon as it is there, again and again.
      const auto due = static_cast<std::int64_t>(static_cast<double>(n) * 1e9 / rate);
      ASSERT_FALSE(bucket.try_take(kStart + Duration(due - 5))) << rate << " token " << n;
      ASSERT_TRUE(bucket.try_take(kStart + Duration(due + 1))) << rate << " token " << n;
    }
  }
}

TEST(TokenBucket, GivesExactlyTheRateAtItsEnds) {
  TokenBucket slow({.rate_per_second = 0.001, .burst = 1});
  EXPECT_TRUE(slow.try_take(kStart));
  EXPECT_FALSE(slow.try_take(kStart + seconds(1000) - Duration(5)));
  EXPECT_TRUE(slow.try_take(kStart + seconds(1000)));

  TokenBucket fast({.rate_per_second = 100e6, .burst = 1'000'000});
  EXPECT_TRUE(fast.try_take(kStart, 1'000'000));
  EXPECT_FALSE(fast.try_take(kStart + Duration(9)));
  EXPECT_TRUE(fast.try_take(kStart + Duration(10)));
  EXPECT_EQ(fast.balance(kStart + milliseconds(10)), 999'999);
  EXPECT_EQ(fast.balance(kStart + Duration(10'000'010)), 1'000'000);

  TokenBucket large({.rate_per_second = 0.001, .burst = 1'000'000});
  EXPECT_TRUE(large.try_take(kStart, 1'000'000));
  EXPECT_FALSE(large.try_take(kStart));
  EXPECT_EQ(large.balance(kStart + seconds(5000)), 5);
}

TEST(TokenBucket, AReservationSaysHowLongToWait) {  // Invariant (3)
  TokenBucket bucket({.rate_per_second = 10, .burst = 2});
  EXPECT_EQ(bucket.reserve(kStart, Duration(0)), Duration(0));
  EXPECT_EQ(bucket.reserve(kStart, Duration(0)), Duration(0));
  EXPECT_EQ(bucket.reserve(kStart, seconds(1)), milliseconds(100));
  EXPECT_EQ(bucket.reserve(kStart, seconds(1)), milliseconds(200));
  EXPECT_EQ(bucket.balance(kStart), 0);
  EXPECT_FALSE(bucket.try_take(kStart + milliseconds(200)));  // Both have been promised.
  EXPECT_TRUE(bucket.try_take(kStart + milliseconds(300)));
}

TEST(TokenBucket, TrapQ5_AReservationTooFarAheadIsRefusedAndChangesNothing) {  // Invariant (2)
  TokenBucket bucket({.rate_per_second = 10, .burst = 1});
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_EQ(bucket.reserve(kStart, milliseconds(100)), milliseconds(100));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(bucket.reserve(kStart, milliseconds(200) - Duration(1)), std::nullopt);
  }
  EXPECT_EQ(bucket.reserve(kStart, Duration(-1)), std::nullopt);
  EXPECT_EQ(bucket.reserve(kStart, milliseconds(200)), milliseconds(200));  // Exactly the bound.
}

TEST(TokenBucket, AWaitThatIsNotWholeIsRoundedUpAndThenTheTokenIsThere) {  // Invariant (3)
  for (const double rate : {3.0, 7.0, 999'983.0, 0.0017}) {
    TokenBucket bucket({.rate_per_second = rate, .burst = 1});
    TokenBucket twin({.rate_per_second = rate, .burst = 1});
    EXPECT_TRUE(bucket.try_take(kStart) && twin.try_take(kStart));
    const std::optional<Duration> wait = bucket.reserve(kStart, kForever);
    ASSERT_TRUE(wait.has_value());
    EXPECT_FALSE(twin.try_take(kStart + *wait - Duration(5)));
    EXPECT_TRUE(twin.try_take(kStart + *wait));
  }
}

TEST(TokenBucket, SaysHowLongUntilThereIsATokenAndTakesNone) {
  TokenBucket bucket({.rate_per_second = 10, .burst = 2});
  EXPECT_EQ(bucket.wait(kStart), Duration(0));
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_EQ(bucket.wait(kStart), Duration(0));
  EXPECT_TRUE(bucket.try_take(kStart));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.wait(kStart), milliseconds(100));
  EXPECT_EQ(bucket.wait(kStart + milliseconds(30)), milliseconds(70));
  EXPECT_EQ(bucket.wait(kStart + milliseconds(100)), Duration(0));
  EXPECT_EQ(bucket.wait(kStart + hours(1)), Duration(0));
  EXPECT_EQ(bucket.reserve(kStart, seconds(1)), milliseconds(100));
  EXPECT_EQ(bucket.wait(kStart), milliseconds(200));  // The first to come is promised.
  EXPECT_EQ(bucket.wait(kStart - seconds(1)), milliseconds(1200));  // Time went backwards.
}

TEST(TokenBucket, TheWaitIsExactToTheNanosecondOverManySeeds) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    const double rate = std::pow(10.0, -3 + 11 * random.draw());
    const auto burst = static_cast<std::int32_t>(1 + random.bits() % 20);
    TokenBucket bucket({.rate_per_second = rate, .burst = burst});
    const auto interval = static_cast<std::uint64_t>(1e9 / rate) + 1;
    Instant now = kStart + Duration(random.bits() % 1'000'000'000);
    for (int step = 0; step < 40; ++step) {
      now += Duration(random.bits() % interval);
      if (random.draw() < 0.3) (void)bucket.reserve(now, kForever);  // Promised ahead.
      const Duration wait = bucket.wait(now);
      ASSERT_FALSE(wait > Duration(0) && bucket.try_take(now + wait - Duration(1))) << seed;
      now += wait;
      ASSERT_EQ(bucket.wait(now), Duration(0)) << seed;
      ASSERT_TRUE(bucket.try_take(now)) << seed;
    }
  }
}

TEST(TokenBucket, AWaitThatIsWholeIsNotRounded) {
  TokenBucket bucket({.rate_per_second = 1e9 / 1024, .burst = 1});  // A unit is 4 ns.
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_EQ(bucket.wait(kStart), Duration(1024));
}

TEST(TokenBucket, TheWaitHoldsAtTheEndsOfTime) {
  TokenBucket bucket({.rate_per_second = 1, .burst = 1});
  EXPECT_EQ(bucket.wait(Instant::min()), Duration(0));
  EXPECT_TRUE(bucket.try_take(Instant::min()));  // Counts as the epoch.
  EXPECT_EQ(bucket.wait(at(Duration(0))), seconds(1));
  EXPECT_EQ(bucket.wait(at(seconds(-5))), seconds(6));
  EXPECT_FALSE(bucket.try_take(at(seconds(1)) - Duration(1)));
  EXPECT_EQ(bucket.wait(Instant::min()), kForever);
  EXPECT_TRUE(bucket.try_take(kNever));
  EXPECT_GT(bucket.wait(kNever), seconds(1) - Duration(10));
}

TEST(TokenBucket, ReservationsAheadEndAtThirtyDays) {
  TokenBucket bucket({.rate_per_second = 0.001, .burst = 1});
  int promised = -1;  // The first is there at once.
  while (bucket.reserve(kStart, kForever)) ++promised;
  EXPECT_EQ(promised, 2592);  // 30 days of 1000 s each.
}

TEST(TokenBucket, TimeGoingBackwardsGivesNoTokens) {
  TokenBucket bucket({.rate_per_second = 10, .burst = 2});
  EXPECT_TRUE(bucket.try_take(kStart, 2));
  EXPECT_FALSE(bucket.try_take(kStart - seconds(50)));
  EXPECT_FALSE(bucket.try_take(Instant::min()));
  EXPECT_EQ(bucket.balance(at(seconds(-1))), 0);
  EXPECT_TRUE(bucket.try_take(kStart + milliseconds(100)));
}

TEST(TokenBucket, WorksAtTheEndsOfTime) {
  for (const double rate : {0.001, 3.0, 100e6}) {
    for (const Instant end : {Instant::min(), at(Duration(0)), kNever}) {
      TokenBucket bucket({.rate_per_second = rate, .burst = 1'000'000});
      EXPECT_TRUE(bucket.try_take(end, 1'000'000));
      EXPECT_FALSE(bucket.try_take(end));
      EXPECT_TRUE(bucket.reserve(end, kForever).has_value());
      bucket.reload({.rate_per_second = 3, .burst = 1}, end);
      EXPECT_FALSE(bucket.try_take(end));
    }
  }
}

TEST(TokenBucket, AReloadKeepsTheFillInProportion) {  // Invariant (4)
  TokenBucket bucket({.rate_per_second = 1, .burst = 100});
  EXPECT_TRUE(bucket.try_take(kStart, 40));
  bucket.reload({.rate_per_second = 1000, .burst = 10}, kStart);
  EXPECT_EQ(bucket.balance(kStart), 6);  // 60 of 100
  EXPECT_EQ(bucket.balance(kStart + milliseconds(2)), 8);
  bucket.reload({.rate_per_second = 0.5, .burst = 1000}, kStart);
  EXPECT_EQ(bucket.balance(kStart), 600);
  for (int i = 0; i < 1000; ++i) bucket.reload({.rate_per_second = 3, .burst = 7 + i}, kStart);
  EXPECT_LE(bucket.balance(kStart), 603);  // 60 % of 1006: reloading makes no tokens.
}

TEST(TokenBucket, AReloadKeepsWhatWasPromised) {  // Invariant (4)
  TokenBucket bucket({.rate_per_second = 10, .burst = 1});
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_EQ(bucket.reserve(kStart, seconds(1)), milliseconds(100));
  EXPECT_EQ(bucket.reserve(kStart, seconds(1)), milliseconds(200));
  bucket.reload({.rate_per_second = 1, .burst = 5}, kStart);
  EXPECT_EQ(bucket.reserve(kStart, seconds(9)), seconds(3));  // Two are promised.
}

TEST(TokenBucket, NeverGivesMoreThanBurstAndRateOverManySeeds) {  // Invariant (1)
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const double rate = 1 + random.draw() * 50;
    const auto burst = static_cast<std::int32_t>(1 + random.bits() % 20);
    TokenBucket bucket({.rate_per_second = rate, .burst = burst});
    Instant now = kStart;
    std::vector<Instant> taken;
    for (int step = 0; step < 300; ++step) {
      now += Duration(random.bits() % 200'000'000);
      if (bucket.try_take(now)) taken.push_back(now);
    }
    for (std::size_t first = 0; first < taken.size(); ++first) {
      for (std::size_t last = first; last < taken.size(); ++last) {
        const double t = static_cast<double>((taken[last] - taken[first]).count() + 4) / 1e9;
        ASSERT_LE(static_cast<double>(last - first + 1), burst + rate * t) << "seed " << seed;
      }
    }
  }
}

TEST(TokenBucket, NeverOverdrawnUnderContention) {  // Invariant (1)
  TokenBucket bucket({.rate_per_second = 1'000'000, .burst = 50});
  std::atomic<std::int64_t> time{0}, taken{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20'000; ++i) {
          const Instant now = kStart + Duration(time.fetch_add(100));  // 10 asks an interval.
          taken += t == 0 ? bucket.reserve(now, Duration(0)).has_value() : bucket.try_take(now);
        }
      });
    }
  }
  EXPECT_LE(taken, 50 + 8000);  // 80,000 asks in 8 ms.
  EXPECT_GE(taken, 7000);       // Threads that are behind are refused: fewer, not none.
}

TEST(TokenBucket, AtOneInstantExactlyTheBurstIsTakenUnderContentionAndReload) {
  constexpr int kBurst = 1'000'000;  // Invariant (4): nobody's token is forgotten.
  TokenBucket bucket({.rate_per_second = 10, .burst = kBurst});
  std::atomic<int> taken{0}, started{0};
  std::atomic<bool> stop{false};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        ++started;
        int mine = 0;
        while (!stop && bucket.try_take(kStart)) ++mine;
        taken += mine;
      });
    }
    while (started < 2) std::this_thread::yield();
    for (int i = 0; i < 200'000; ++i) {
      bucket.reload({.rate_per_second = i % 2 == 0 ? 20.0 : 10.0, .burst = kBurst}, kStart);
    }
    stop = true;
  }
  EXPECT_EQ(bucket.balance(kStart), kBurst - taken);
}

TEST(TokenBucket, AReloadRoundsAgainstTheTaker) {
  TokenBucket bucket({.rate_per_second = 100e6, .burst = 3});  // A token is 4 units, 10 ns.
  EXPECT_TRUE(bucket.try_take(kStart));
  bucket.reload({.rate_per_second = 100e6, .burst = 1}, kStart);  // 1.33 units missing, so 2: 5 ns.
  EXPECT_FALSE(bucket.try_take(kStart + Duration(4)));
  EXPECT_TRUE(bucket.try_take(kStart + Duration(5)));
}

TEST(TokenBucket, BadOptionsAreNamedWithTheirBound) {
  const auto error = [](double rate, std::int32_t burst) {
    return find_error({.rate_per_second = rate, .burst = burst}).value_or("none");
  };
  const std::string bound = "; it must be from 0.001 to 100000000";
  EXPECT_EQ(error(10, 1), "none");
  EXPECT_EQ(error(0.0009, 1), "rate_per_second is 0.0009" + bound);
  EXPECT_EQ(error(100e6 + 1, 1), "rate_per_second is 100000001" + bound);
  EXPECT_EQ(error(std::nan(""), 1), "rate_per_second is nan" + bound);
  EXPECT_EQ(error(10, 0), "burst is 0; it must be from 1 to 1000000");
  EXPECT_EQ(error(10, 1'000'001), "burst is 1000001; it must be from 1 to 1000000");
  EXPECT_DEATH({ TokenBucket bucket({.rate_per_second = 0, .burst = 1}); }, "check failed");
}

}  // namespace
}  // namespace damper::admit
