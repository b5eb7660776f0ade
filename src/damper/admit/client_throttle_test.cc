#include "damper/admit/client_throttle.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "damper/base/random.h"

namespace damper::admit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant at(Duration since_epoch) { return Instant{since_epoch}; }
constexpr Instant kStart = at(seconds(1200));  // The beginning of a slot of 12 s.

void ask(ClientThrottle& throttle, Instant now, int requests, int accepts) {
  for (int i = 0; i < requests; ++i) (void)throttle.try_admit(now, kLargestDraw);
  for (int i = 0; i < accepts; ++i) throttle.on_accept(now);
}

TEST(ClientThrottle, ANewOneAdmits) {
  ClientThrottle throttle{ClientThrottleOptions{}};
  EXPECT_EQ(throttle.reject_probability(kStart), 0);
  EXPECT_FALSE(throttle.active(kStart));
  EXPECT_TRUE(throttle.try_admit(kStart, 0));
}

TEST(ClientThrottle, RefusesNothingUpToKTimesTheAccepts) {  // Invariant (1)
  ClientThrottle throttle{ClientThrottleOptions{}};
  ask(throttle, kStart, 10, 10);
  EXPECT_EQ(throttle.reject_probability(kStart), 0);  // Not less.
  ask(throttle, kStart, 10, 0);
  EXPECT_EQ(throttle.reject_probability(kStart), 0);
  EXPECT_FALSE(throttle.active(kStart));
  EXPECT_TRUE(throttle.try_admit(kStart, 0));                // The 21st is judged on 20.
  EXPECT_EQ(throttle.reject_probability(kStart), 1.0 / 22);  // (21 - 20) / 22
  EXPECT_TRUE(throttle.active(kStart));
}

TEST(ClientThrottle, RefusesWithTheProbabilityOfTheFormula) {  // Invariant (2)
  ClientThrottle throttle{ClientThrottleOptions{}};
  ask(throttle, kStart, 99, 12);  // (99 - 24) / 100
  EXPECT_EQ(throttle.reject_probability(kStart), 0.75);
  EXPECT_TRUE(throttle.try_admit(kStart, 0.75));  // Now (100 - 24) / 101 = 0.7525
  EXPECT_FALSE(throttle.try_admit(kStart, 0.7524));
}

TEST(ClientThrottle, ARefusedCallCountsAsARequest) {
  ClientThrottle throttle{ClientThrottleOptions{}};
  ask(throttle, kStart, 3, 0);
  EXPECT_EQ(throttle.reject_probability(kStart), 0.75);
  EXPECT_FALSE(throttle.try_admit(kStart, 0));
  EXPECT_EQ(throttle.reject_probability(kStart), 0.8);
}

TEST(ClientThrottle, NeverRefusesTheLargestDrawsOutright) {
  ClientThrottle throttle{ClientThrottleOptions{}};
  ask(throttle, kStart, 100'000, 0);
  EXPECT_LT(throttle.reject_probability(kStart), 1);
  EXPECT_TRUE(throttle.try_admit(kStart, kLargestDraw));
}

TEST(ClientThrottle, KIsExactToAHundredthOfAPercent) {  // Invariant (1)
  ClientThrottleOptions options;
  options.multiplier = Percent::from_hundredths(11'001);  // 110.01 %
  ClientThrottle throttle(options);
  ask(throttle, kStart, 11'001, 10'000);
  EXPECT_FALSE(throttle.active(kStart));
  ask(throttle, kStart, 1, 0);
  EXPECT_EQ(throttle.reject_probability(kStart), 1.0 / 11'003);
}

TEST(ClientThrottle, TrapB3_ForgetsAfterOneWindowHoweverOftenItIsAsked) {  // Invariant (3)
  ClientThrottle throttle{ClientThrottleOptions{}};
  ask(throttle, kStart, 3, 0);
  Instant now = kStart;
  while (now < kStart + seconds(120)) {
    EXPECT_EQ(throttle.reject_probability(now), 0.75);
    now += milliseconds(11'999);
  }
  EXPECT_EQ(throttle.reject_probability(kStart + seconds(120)), 0);
}

TEST(ClientThrottle, AReloadKeepsWhatIsInTheWindow) {  // Invariant (4)
  ClientThrottle throttle{ClientThrottleOptions{}};
  ask(throttle, kStart, 99, 12);
  ClientThrottleOptions options;
  for (const Duration window : {seconds(3600), seconds(1), seconds(1), seconds(120)}) {
    options.window = window;
    throttle.reload(options, kStart);
    EXPECT_EQ(throttle.reject_probability(kStart), 0.75);
  }
  options.multiplier = Percent(400);
  throttle.reload(options, kStart);
  EXPECT_EQ(throttle.reject_probability(kStart), 0.51);  // (99 - 48) / 100
}

TEST(ClientThrottle, TimeAtItsEndsAndBackwardsIsHarmless) {
  ClientThrottle throttle{ClientThrottleOptions{}};
  ask(throttle, kStart, 3, 0);
  for (const Instant now : {kStart - seconds(12), at(Duration(-1)), Instant::min(), kNever}) {
    (void)throttle.try_admit(now, 0.5);
    throttle.on_accept(now);
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
        if (room) throttle.on_accept(now);
        room = false;
      }
    }
    // Accepted: at most 10,000 in the second half. Sent: twice the accepted, not 100,000.
    ASSERT_GT(sent, 10'000) << "seed " << seed;
    ASSERT_LT(sent, 20'200) << "seed " << seed;
  }
}

TEST(ClientThrottle, CountsEveryCallUnderContention) {
  ClientThrottle throttle{ClientThrottleOptions{}};
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
  options.window = milliseconds(999);
  EXPECT_EQ(find_error(options), "window is 999ms; it must be from 1s to 1h");
  options.window = std::chrono::hours(2);
  EXPECT_EQ(find_error(options), "window is 2h; it must be from 1s to 1h");
  EXPECT_DEATH({ ClientThrottle throttle(options); }, "check failed");
}

}  // namespace
}  // namespace damper::admit
