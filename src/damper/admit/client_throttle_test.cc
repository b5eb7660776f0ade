#include "damper/admit/client_throttle.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "damper/base/random.h"

namespace damper::admit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant at(Duration since_epoch) { return Instant{since_epoch}; }
constexpr Instant kStart = at(seconds(1200));  // The beginning of a slot of 12 s.

// The published formula: no minimum volume, no bound.
ClientThrottleOptions formula() { return {.minimum_volume = 1, .max_rejected = Percent(100)}; }

// The dependency answers `requests`, and accepts some of them.
void ask(ClientThrottle& throttle, Instant now, int requests, int accepts) {
  for (int i = 0; i < accepts; ++i) throttle.on_accept(now);
  for (int i = accepts; i < requests; ++i) throttle.on_reject(now);
}

void refuse(ClientThrottle& throttle, Instant now, int requests) {
  for (int i = 0; i < requests; ++i) EXPECT_FALSE(throttle.try_admit(now, -1.0));
}

TEST(ClientThrottle, ANewOneAdmits) {
  ClientThrottle throttle{formula()};
  EXPECT_EQ(throttle.reject_probability(kStart), 0);
  EXPECT_FALSE(throttle.active(kStart));
  EXPECT_TRUE(throttle.try_admit(kStart, 0));
}

TEST(ClientThrottle, RefusesNothingUpToKTimesTheAccepts) {  // Invariant (1)
  ClientThrottle throttle{formula()};
  ask(throttle, kStart, 10, 10);
  EXPECT_EQ(throttle.reject_probability(kStart), 0);  // Not less.
  ask(throttle, kStart, 10, 0);
  EXPECT_EQ(throttle.reject_probability(kStart), 0);
  EXPECT_FALSE(throttle.active(kStart));
  EXPECT_TRUE(throttle.try_admit(kStart, 0));
  ask(throttle, kStart, 1, 0);
  EXPECT_EQ(throttle.reject_probability(kStart), 1.0 / 22);  // (21 - 20) / 22
  EXPECT_TRUE(throttle.active(kStart));
}

TEST(ClientThrottle, RefusesWithTheProbabilityOfTheFormula) {  // Invariant (2)
  ClientThrottle throttle{formula()};
  ask(throttle, kStart, 99, 12);  // (99 - 24) / 100
  EXPECT_EQ(throttle.reject_probability(kStart), 0.75);
  EXPECT_TRUE(throttle.try_admit(kStart, 0.75));
  EXPECT_FALSE(throttle.try_admit(kStart, 0.7499));
}

TEST(ClientThrottle, TrapT2_OneFailureOfAColdClientRefusesNobody) {  // Invariant (1)
  ClientThrottle throttle{ClientThrottleOptions{}};
  for (int i = 0; i < 19; ++i) {
    EXPECT_TRUE(throttle.try_admit(kStart, 0)) << i;
    throttle.on_reject(kStart);
  }
  EXPECT_FALSE(throttle.active(kStart));
  EXPECT_TRUE(throttle.try_admit(kStart, 0));  // The 20th is judged on 19.
  throttle.on_reject(kStart);
  EXPECT_FALSE(throttle.try_admit(kStart, 0));
}

// Calls to a healthy dependency that begin at the same time: none is accepted yet.
TEST(ClientThrottle, TrapT2_ABurstOfAColdClientIsNotRefused) {  // Invariant (1)
  ClientThrottle throttle{ClientThrottleOptions{}};
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(throttle.try_admit(kStart, 0)) << i;
  EXPECT_FALSE(throttle.active(kStart));
  for (int i = 0; i < 1000; ++i) throttle.on_accept(kStart + milliseconds(1));
  EXPECT_FALSE(throttle.active(kStart + milliseconds(1)));
}

TEST(ClientThrottle, TheBoundIsNeverExceeded) {  // Invariant (2)
  ClientThrottle throttle{ClientThrottleOptions{}};
  ask(throttle, kStart, 100'000, 0);
  EXPECT_EQ(throttle.reject_probability(kStart), 0.92);
  EXPECT_TRUE(throttle.try_admit(kStart, 0.92));
  EXPECT_FALSE(throttle.try_admit(kStart, 0.919));
}

TEST(ClientThrottle, ThePastDoesNotOutvoteThePresent) {
  ClientThrottle throttle{formula()};
  ask(throttle, kStart, 1000, 0);
  const Instant later = kStart + seconds(10);
  EXPECT_EQ(throttle.reject_probability(later), 0);
  ask(throttle, later, 99, 12);  // (99 - 24) / 100, and not (1099 - 24) / 1100
  EXPECT_EQ(throttle.reject_probability(later), 0.75);
}

TEST(ClientThrottle, ThePresentDoesNotOutvoteThePast) {  // Invariant (1)
  ClientThrottle throttle{formula()};
  ask(throttle, kStart, 10, 10);
  const Instant later = kStart + seconds(10);
  ask(throttle, later, 10, 0);
  EXPECT_EQ(throttle.reject_probability(later), 0);  // 20 of the window's 20, though none lately.
  ask(throttle, later, 1, 0);
  EXPECT_EQ(throttle.reject_probability(later), 1.0 / 22);  // And not 11 / 12.
}

TEST(ClientThrottle, WhatIsAdmittedQuadruplesWhileAllOfItIsAccepted) {
  ClientThrottle throttle{formula()};
  ask(throttle, kStart, 1000, 0);
  const Instant later = kStart + seconds(10);
  ask(throttle, later, 1, 0);  // So that it refuses.
  refuse(throttle, later, 91);
  ask(throttle, later, 7, 6);
  EXPECT_EQ(throttle.reject_probability(later), 0.87);  // 6 of 8: (99 - 2 * 6) / 100
  ask(throttle, later, 1, 1);
  EXPECT_EQ(throttle.reject_probability(later), 44.0 / 101);  // 7 of 9: (100 - 8 * 7) / 101
}

// Over a steady 10, 100 and 1,000 calls a second, down for 3 minutes.
TEST(ClientThrottle, TrapT1_AfterAnOutageOfThreeMinutesItAdmitsNineOfTenWithinTenSeconds) {
  for (const int rate : {10, 100, 1000}) {
    for (std::uint64_t seed = 1; seed <= (rate == 1000 ? 3U : 10U); ++seed) {
      Random random(seed);
      ClientThrottle throttle{ClientThrottleOptions{}};
      Instant now = kStart;
      const auto run = [&](Duration length, bool up) {  // The share that is admitted.
        int calls = 0;
        int admitted = 0;
        for (const Instant end = now + length; now < end; now += Duration(seconds(1)) / rate) {
          ++calls;
          if (!throttle.try_admit(now, random.draw())) continue;
          ++admitted;
          up ? throttle.on_accept(now) : throttle.on_reject(now);
        }
        return static_cast<double>(admitted) / calls;
      };
      EXPECT_EQ(run(seconds(130), true), 1);
      (void)run(seconds(120), false);
      EXPECT_LT(run(seconds(60), false), 0.1 + 0.3 / rate) << rate << " seed " << seed;
      (void)run(seconds(9), true);
      EXPECT_GE(run(seconds(1), true), 0.9) << rate << " seed " << seed;
      EXPECT_GE(run(seconds(10), true), 0.99) << rate << " seed " << seed;
    }
  }
}

TEST(ClientThrottle, ARefusedCallCountsAsARequest) {
  ClientThrottle throttle{formula()};
  ask(throttle, kStart, 3, 0);
  EXPECT_EQ(throttle.reject_probability(kStart), 0.75);
  EXPECT_FALSE(throttle.try_admit(kStart, 0));
  EXPECT_EQ(throttle.reject_probability(kStart), 0.8);
}

TEST(ClientThrottle, NeverRefusesTheLargestDrawsOutright) {
  ClientThrottle throttle{formula()};
  ask(throttle, kStart, 100'000, 0);
  EXPECT_LT(throttle.reject_probability(kStart), 1);
  EXPECT_TRUE(throttle.try_admit(kStart, kLargestDraw));
}

TEST(ClientThrottle, KIsExactToAHundredthOfAPercent) {  // Invariant (1)
  ClientThrottleOptions options = formula();
  options.multiplier = Percent::from_hundredths(11'001);  // 110.01 %
  ClientThrottle throttle(options);
  ask(throttle, kStart, 11'001, 10'000);
  EXPECT_FALSE(throttle.active(kStart));
  ask(throttle, kStart, 1, 0);
  EXPECT_EQ(throttle.reject_probability(kStart), 1.0 / 11'003);
  ClientThrottle other(options);
  ask(other, kStart, 1099, 999);  // 1099 - 1.1001 * 999 is a ten-thousandth of a request.
  EXPECT_TRUE(other.active(kStart));
}

TEST(ClientThrottle, TrapB3_ForgetsAfterOneWindowHoweverOftenItIsAsked) {  // Invariant (3)
  ClientThrottle throttle{formula()};
  ask(throttle, kStart, 3, 0);
  Instant now = kStart;
  while (now < kStart + seconds(4)) {  // After 4 s the present outvotes it.
    EXPECT_EQ(throttle.reject_probability(now), 0.75);
    now += milliseconds(399);
  }
  EXPECT_EQ(throttle.reject_probability(kStart + seconds(4)), 0);
  ask(throttle, kStart + seconds(119), 1, 0);
  EXPECT_EQ(throttle.reject_probability(kStart + seconds(119)), 0.5);  // The last 4 s: 1 of 2.
  ask(throttle, kStart + seconds(119), 3, 2);
  EXPECT_EQ(throttle.reject_probability(kStart + seconds(119)), 0);  // 4 of 4.
  EXPECT_EQ(throttle.reject_probability(kStart + seconds(120)), 0);
}

TEST(ClientThrottle, AReloadKeepsWhatIsInTheWindow) {  // Invariant (4)
  ClientThrottle throttle{formula()};
  ask(throttle, kStart, 99, 12);
  ClientThrottleOptions options = formula();
  for (const Duration window : {seconds(3600), seconds(1), seconds(1), seconds(120)}) {
    options.window = window;
    throttle.reload(options, kStart);
    EXPECT_EQ(throttle.reject_probability(kStart), 0.75);
  }
  options.multiplier = Percent(400);
  throttle.reload(options, kStart);
  EXPECT_EQ(throttle.reject_probability(kStart), 0.51);  // (99 - 48) / 100
}

TEST(ClientThrottle, AReloadedWindowIsAsLongAsItsOption) {
  ClientThrottle throttle{formula()};
  ask(throttle, kStart, 99, 12);
  ClientThrottleOptions options = formula();
  options.window = seconds(1);
  throttle.reload(options, kStart);
  EXPECT_EQ(throttle.reject_probability(kStart + milliseconds(899)), 0.75);
  EXPECT_EQ(throttle.reject_probability(kStart + milliseconds(1100)), 0);
}

TEST(ClientThrottle, TimeAtItsEndsAndBackwardsIsHarmless) {
  ClientThrottle throttle{formula()};
  ask(throttle, kStart, 3, 0);
  for (const Instant now : {kStart - seconds(12), at(Duration(-1)), Instant::min(), kNever}) {
    (void)throttle.try_admit(now, 0.5);
    ask(throttle, now, 2, 1);
    EXPECT_LT(throttle.reject_probability(now), 1);
  }
  EXPECT_TRUE(throttle.active(kStart));
}

TEST(ClientThrottle, SettlesWhereTwoRequestsLeaveForEachOneAccepted) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Random random(seed);
    ClientThrottleOptions options;
    options.window = seconds(1);
    ClientThrottle throttle(options);
    int sent = 0;
    for (int ms = 0; ms < 20'000; ++ms) {  // Ten calls a ms; the dependency takes one of them.
      const Instant now = kStart + milliseconds(ms);
      bool room = true;
      for (int i = 0; i < 10; ++i) {
        if (!throttle.try_admit(now, random.draw())) continue;
        sent += ms >= 10'000 ? 1 : 0;
        std::exchange(room, false) ? throttle.on_accept(now) : throttle.on_reject(now);
      }
    }
    // Accepted: at most 10,000 in the second half. Sent: twice the accepted, not 100,000.
    ASSERT_GT(sent, 10'000) << "seed " << seed;
    ASSERT_LT(sent, 20'200) << "seed " << seed;
  }
}

TEST(ClientThrottle, CountsEveryCallUnderContention) {
  ClientThrottle throttle{formula()};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&throttle] { ask(throttle, kStart, 2500, 1000); });
    }
  }
  EXPECT_EQ(throttle.reject_probability(kStart), 2000.0 / 10'001);  // (10,000 - 2 * 4,000)
}

TEST(ClientThrottle, BadOptionsAreNamedWithTheirBound) {
  ClientThrottleOptions options;
  EXPECT_EQ(find_error(options), std::nullopt);
  options.multiplier = Percent::from_hundredths(9999);
  EXPECT_EQ(find_error(options), "multiplier is 99.99%; it must be from 100% to 1000%");
  options.multiplier = Percent::from_hundredths(100'001);
  EXPECT_EQ(find_error(options), "multiplier is 1000.01%; it must be from 100% to 1000%");
  options.multiplier = Percent(100);
  options.minimum_volume = 0;
  EXPECT_EQ(find_error(options), "minimum_volume is 0; it must be from 1 to 1000000");
  options.minimum_volume = 1;
  options.max_rejected = Percent(101);
  EXPECT_EQ(find_error(options), "max_rejected is 101%; it must be from 0.01% to 100%");
  options.max_rejected = Percent(100);
  options.window = milliseconds(999);
  EXPECT_EQ(find_error(options), "window is 999ms; it must be from 1s to 1h");
  options.window = std::chrono::hours(2);
  EXPECT_EQ(find_error(options), "window is 2h; it must be from 1s to 1h");
  EXPECT_DEATH({ ClientThrottle throttle(options); }, "window is 2h; it must be from 1s to 1h");
}

}  // namespace
}  // namespace damper::admit
