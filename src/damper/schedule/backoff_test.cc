#include "damper/schedule/backoff.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "damper/base/random.h"

namespace damper::schedule {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kLastRetry = std::numeric_limits<std::uint32_t>::max();

BackoffOptions options(Jitter jitter) { return {.jitter = jitter, .base = 100ms, .cap = 800ms}; }

Duration first_delay(Jitter jitter, std::uint32_t retry, double draw) {
  return Backoff().next(options(jitter), retry, draw);
}

TEST(Backoff, TheCeilingDoublesUpToTheCap) {
  EXPECT_EQ(ceiling(options(Jitter::none), 0), 100ms);
  EXPECT_EQ(ceiling(options(Jitter::none), 1), 200ms);
  EXPECT_EQ(ceiling(options(Jitter::none), 3), 800ms);
  EXPECT_EQ(ceiling(options(Jitter::none), 4), 800ms);
}

TEST(Backoff, TrapJ7_TheCeilingSaturatesAtTheLargestRetryAndDuration) {
  EXPECT_EQ(ceiling(options(Jitter::none), 62), 800ms);
  EXPECT_EQ(ceiling(options(Jitter::none), 1024), 800ms);
  EXPECT_EQ(ceiling(options(Jitter::none), kLastRetry), 800ms);
  const BackoffOptions longest = {.jitter = Jitter::none, .base = 1ns, .cap = kLongest};
  EXPECT_EQ(ceiling(longest, 61), kLongest);
  EXPECT_EQ(ceiling(longest, kLastRetry), kLongest);
  EXPECT_EQ(ceiling({.base = kLongest, .cap = kLongest}, 1), kLongest);
}

// Trap J6: a jitter test must not accept any value.
TEST(Backoff, TrapJ6_DelaysAreExactForDrawsZeroHalfAndJustUnderOne) {
  EXPECT_EQ(first_delay(Jitter::none, 1, 0.5), 200ms);

  EXPECT_EQ(first_delay(Jitter::full, 1, 0.0), 0ms);
  EXPECT_EQ(first_delay(Jitter::full, 1, 0.5), 100ms);
  EXPECT_EQ(first_delay(Jitter::full, 1, kLargestDraw), 200ms - 1ns);

  EXPECT_EQ(first_delay(Jitter::equal, 1, 0.0), 100ms);
  EXPECT_EQ(first_delay(Jitter::equal, 1, 0.5), 150ms);
  EXPECT_EQ(first_delay(Jitter::equal, 1, kLargestDraw), 200ms - 1ns);

  EXPECT_EQ(first_delay(Jitter::decorrelated, 0, 0.0), 100ms);
  EXPECT_EQ(first_delay(Jitter::decorrelated, 0, 0.5), 200ms);  // U[100, 300)
  EXPECT_EQ(first_delay(Jitter::decorrelated, 0, kLargestDraw), 300ms - 1ns);
}

TEST(Backoff, TrapJ3_TheFirstDelayIsJittered) {
  for (const Jitter jitter : {Jitter::full, Jitter::equal, Jitter::decorrelated}) {
    EXPECT_NE(first_delay(jitter, 0, 0.25), first_delay(jitter, 0, 0.75)) << name(jitter);
  }
}

TEST(Backoff, TrapJ1_TheDrawSpansItsIntervalAtTheCapToo) {
  EXPECT_EQ(first_delay(Jitter::full, kLastRetry, 0.25), 200ms);
  EXPECT_EQ(first_delay(Jitter::full, kLastRetry, 0.75), 600ms);
  EXPECT_EQ(first_delay(Jitter::equal, kLastRetry, 0.25), 500ms);
  EXPECT_EQ(first_delay(Jitter::equal, kLastRetry, 0.75), 700ms);
  Backoff backoff;  // After a draw near the cap the interval is U[100, 800).
  for (int i = 0; i < 9; ++i) (void)backoff.next(options(Jitter::decorrelated), 0, kLargestDraw);
  EXPECT_EQ(backoff.next(options(Jitter::decorrelated), 9, 0.5), 450ms);
}

// Invariant (1). The textbook's min(cap, U(base, 3 * previous)) fails this at the third retry.
TEST(Backoff, TrapJ2_NoStrategyHasAnAtomAtAnyAttempt) {
  constexpr int kClients = 20'000;
  for (const Jitter jitter : {Jitter::full, Jitter::equal, Jitter::decorrelated}) {
    Random random(11);
    std::vector<Backoff> clients(kClients);
    for (std::uint32_t retry = 0; retry < 12; ++retry) {
      std::set<Duration> different;
      for (Backoff& client : clients) {
        const Duration delay = client.next(options(jitter), retry, random.draw());
        ASSERT_LT(delay, 800ms);
        ASSERT_GE(delay, 0ms);
        different.insert(delay);
      }
      // 20,000 draws of at least 50 million nanoseconds: a few collide, thousands do not.
      EXPECT_GT(different.size(), kClients * 99 / 100) << name(jitter) << " at retry " << retry;
    }
  }
}

TEST(Backoff, TrapJ5_DecorrelatedGoesDownAsWellAsUp) {
  Backoff backoff;
  EXPECT_EQ(backoff.next(options(Jitter::decorrelated), 0, 0.75), 250ms);  // U[100, 300)
  EXPECT_EQ(backoff.next(options(Jitter::decorrelated), 1, 0.0), 100ms);   // U[100, 750)
  EXPECT_EQ(backoff.next(options(Jitter::decorrelated), 2, 0.5), 200ms);   // U[100, 300)
}

// Trap J8: nothing but Backoff::next computes a delay.
TEST(Backoff, TrapJ8_TheDelayIsAFunctionOfItsArgumentsAlone) {  // Invariant (2).
  for (const Jitter jitter : {Jitter::none, Jitter::full, Jitter::equal, Jitter::decorrelated}) {
    EXPECT_EQ(first_delay(jitter, 2, 0.3), first_delay(jitter, 2, 0.3)) << name(jitter);
  }
}

TEST(Backoff, AShorterCapAfterAReloadHoldsForADelayThatWasDrawnBefore) {
  Backoff backoff;
  (void)backoff.next({.jitter = Jitter::decorrelated, .base = 1s, .cap = 60s}, 0, kLargestDraw);
  EXPECT_LT(backoff.next(options(Jitter::decorrelated), 1, kLargestDraw), 800ms);
}

TEST(Backoff, BadOptionsGetASentence) {
  EXPECT_EQ(find_error(BackoffOptions{}), std::nullopt);
  EXPECT_EQ(find_error(BackoffOptions{.base = 100ms, .cap = 100ms}), std::nullopt);
  EXPECT_EQ(find_error(BackoffOptions{.base = kLongest, .cap = kLongest}), std::nullopt);
  for (const BackoffOptions& bad :
       {BackoffOptions{.base = 0ms}, BackoffOptions{.base = -1ms},
        BackoffOptions{.base = 2s, .cap = 1s}, BackoffOptions{.cap = kLongest + 1ns},
        BackoffOptions{.jitter = Jitter::decorrelated, .base = 1s, .cap = 1s}}) {
    EXPECT_NE(find_error(bad), std::nullopt);
  }
}

}  // namespace
}  // namespace damper::schedule
