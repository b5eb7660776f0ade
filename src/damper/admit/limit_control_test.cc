#include "damper/admit/limit_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "damper/admit/limit_control_testing.h"
#include "damper/base/random.h"

namespace damper::admit {
namespace {

using std::chrono::milliseconds;

// The latency of a dependency that serves a fixed number at a time in 10 ms each; the rest waits.
Duration latency_with(std::int32_t workers, const LimitControl& control) {
  return milliseconds(10) * std::max(workers, control.limit()) / workers;
}

TEST(LimitControl, AFieldOutOfBoundsIsNamed) {
  EXPECT_EQ(find_error(ConcurrencyLimitOptions{}), std::nullopt);
  EXPECT_EQ(find_error({.min = 0}), "min is 0; it must be from 1 to 100000");
  EXPECT_EQ(find_error({.min = 100'001, .max = 100'001}),
            "min is 100001; it must be from 1 to 100000");
  EXPECT_EQ(find_error({.initial = 5, .min = 5, .max = 4}),
            "max is 4; it must be from 5 to 100000");
  EXPECT_EQ(find_error({.max = 100'001}), "max is 100001; it must be from 1 to 100000");
  EXPECT_EQ(find_error({.initial = 4, .min = 5}), "initial is 4; it must be from 5 to 1000");
  EXPECT_EQ(find_error({.initial = 1001}), "initial is 1001; it must be from 1 to 1000");
  EXPECT_EQ(find_error({.initial = 100'000, .min = 100'000, .max = 100'000}), std::nullopt);
  EXPECT_EQ(find_error({.window_samples = 0}), "window_samples is 0; it must be from 1 to 500");
  EXPECT_EQ(find_error({.window_samples = 501}), "window_samples is 501; it must be from 1 to 500");
  EXPECT_EQ(find_error({.tolerated_drops = Percent(51)}),
            "tolerated_drops is 51%; it must be from 0% to 50%");
  EXPECT_EQ(find_error({.backoff = Percent(9)}), "backoff is 9%; it must be from 10% to 95%");
  EXPECT_EQ(find_error({.backoff = Percent(96)}), "backoff is 96%; it must be from 10% to 95%");
  EXPECT_EQ(find_error({.latency_tolerance = Percent(99)}),
            "latency_tolerance is 99%; it must be from 100% to 1000%");
}

TEST(LimitControl, AFixedLimitNeverMoves) {  // Invariant (5)
  LimitControl control({.kind = LimitKind::fixed, .initial = 7});
  control.on_window(busy(control, milliseconds(1)));
  control.on_window(busy(control, milliseconds(900), 100));
  EXPECT_EQ(control.limit(), 7);
}

TEST(LimitControl, AimdAddsOneAndMultipliesByBackoff) {
  LimitControl control({.kind = LimitKind::aimd, .initial = 20});
  control.on_window(busy(control, milliseconds(5)));
  EXPECT_EQ(control.limit(), 21);
  control.on_window(busy(control, milliseconds(500)));  // Latency does not matter to it,
  EXPECT_EQ(control.limit(), 22);
  control.on_window(busy(control, milliseconds(1)));  // whichever way it goes.
  EXPECT_EQ(control.limit(), 23);
  control.on_window(busy(control, milliseconds(5), 100));
  EXPECT_EQ(control.limit(), 16);  // 23 * 0.7 = 16.1
}

TEST(LimitControl, AWindowWithExactlyTheToleratedDropsIsNoCut) {
  LimitControl control({.kind = LimitKind::aimd, .initial = 20});
  control.on_window(busy(control, milliseconds(5), 10));  // 10 % of 100
  EXPECT_EQ(control.limit(), 21);
  control.on_window(busy(control, milliseconds(5), 11));
  EXPECT_EQ(control.limit(), 14);  // 21 * 0.7 = 14.7
}

TEST(LimitControl, GrowsOnlyWhenHalfOfTheLimitIsInUse) {  // Invariant (3)
  for (const LimitKind kind : {LimitKind::aimd, LimitKind::vegas, LimitKind::gradient}) {
    LimitControl control({.kind = kind, .initial = 20});
    control.on_window({.answers = 100, .latency = milliseconds(5), .peak_in_flight = 9});
    EXPECT_EQ(control.limit(), 20) << name(kind);
    for (int i = 0; i < 3; ++i) {
      control.on_window({.answers = 100, .latency = milliseconds(5), .peak_in_flight = 10});
      if (control.limit() > 20) break;
    }
    EXPECT_GT(control.limit(), 20) << name(kind);
  }
}

TEST(LimitControl, VegasSteersTheQueueToSixSteps) {
  LimitControl control({.kind = LimitKind::vegas, .initial = 40});
  control.on_window(busy(control, milliseconds(30)));  // The floor; no queue: 6 steps of 1.
  EXPECT_EQ(control.limit(), 46);
  control.on_window(busy(control, milliseconds(31)));  // 46 * 1/31 = 1.5 waiting, over 1, under 3
  EXPECT_EQ(control.limit(), 47);
  control.on_window(busy(control, milliseconds(33)));  // 47 * 3/33 = 4.3 waiting
  EXPECT_EQ(control.limit(), 47);                      // 47.5
  control.on_window(busy(control, milliseconds(33)));
  EXPECT_EQ(control.limit(), 48);
  control.on_window(busy(control, milliseconds(36)));  // 48 * 6/36 = 8 waiting, over 6
  EXPECT_EQ(control.limit(), 47);
}

// The limit after a window in use with `latency` milliseconds, over a known floor.
std::int32_t vegas_after(std::int32_t limit, int floor, double latency) {
  LimitControl control({.kind = LimitKind::vegas, .initial = limit, .max = 2000});
  control.on_window({.answers = 10, .latency = milliseconds(floor), .peak_in_flight = 0});
  control.on_window(busy(control, Duration(static_cast<std::int64_t>(latency * 1e6))));
  return control.limit();
}

TEST(LimitControl, VegasHasExactBoundsOfItsQueue) {
  // Of 32: up to 1 waiting grows by 6, under 3 by 1, up to 6 by a half; over 6 falls by 1.
  EXPECT_EQ(vegas_after(32, 31, 32), 38);  // 1 waits
  EXPECT_EQ(vegas_after(32, 30, 32), 33);  // 2
  EXPECT_EQ(vegas_after(32, 26, 32), 32);  // 6
  EXPECT_EQ(vegas_after(32, 51, 64), 31);  // 6.5
  // Of 64 an eighth, 8, is more than 6 steps.
  EXPECT_EQ(vegas_after(64, 61, 64), 65);  // 3
  EXPECT_EQ(vegas_after(64, 60, 64), 64);  // 4: a half
  EXPECT_EQ(vegas_after(64, 56, 64), 64);  // 8: a half
  EXPECT_EQ(vegas_after(64, 55, 64), 63);  // 9
}

TEST(LimitControl, AStepOfVegasIsTheLogarithmOfTheLimit) {
  EXPECT_EQ(vegas_after(99, 10, 10), 105);
  EXPECT_EQ(vegas_after(100, 10, 10), 112);
  EXPECT_EQ(vegas_after(999, 10, 10), 1011);
  EXPECT_EQ(vegas_after(1000, 10, 10), 1018);
}

// A limit that grows by a quarter while latency stays: latency over the floor has another cause.
TEST(LimitControl, LatencyThatDoesNotRiseWithTheLimitBecomesTheFloor) {
  LimitControl control({.kind = LimitKind::gradient, .initial = 100});
  control.on_window({.answers = 10, .latency = milliseconds(10), .peak_in_flight = 1});
  while (control.limit() < 130) control.on_window(busy(control, milliseconds(12)));
  const std::int32_t before = control.limit();
  control.on_window(busy(control, milliseconds(13)));  // 1.2 * 11 by now; over 1.2 * 10
  EXPECT_GT(control.limit(), before);
}

// Feeds windows until drops have a floor of a quarter.
LimitControl with_drop_floor(LimitKind kind = LimitKind::aimd) {
  LimitControl control({.kind = kind, .initial = 1000});
  for (int i = 0; i < 12; ++i) control.on_window(busy(control, milliseconds(10), 25));
  return control;
}

TEST(LimitControl, DropsExceedTheirFloorByWhatIsToleratedAndTheirNoise) {
  // Of 100, with a floor of 25 %: 25 + 10 tolerated + 3 * 4.33 of noise = 47.99.
  LimitControl at = with_drop_floor();
  const std::int32_t limit = at.limit();
  at.on_window(busy(at, milliseconds(10), 47));
  EXPECT_GE(at.limit(), limit);
  LimitControl over = with_drop_floor();
  over.on_window(busy(over, milliseconds(10), 48));
  EXPECT_LT(over.limit(), limit);
}

TEST(LimitControl, AFewTooManyDropsForLongExceedTheFloorToo) {
  // Each window is within 48, but of the last 200 samples 70 + 3 * 6.1 = 88.4 are too many.
  for (const std::int32_t drops : {43, 46}) {
    LimitControl control = with_drop_floor();
    std::int32_t last = control.limit();
    bool fell = false;
    for (int i = 0; i < 20; ++i) {
      control.on_window(busy(control, milliseconds(10), drops));
      fell = fell || control.limit() < last;
      last = control.limit();
    }
    EXPECT_EQ(fell, drops == 46);
  }
}

TEST(LimitControl, TwoThirdsOfDropsAreTooManyWhateverTheFloor) {
  LimitControl control({.kind = LimitKind::aimd, .initial = 1000});
  for (int i = 0; i < 20; ++i) control.on_window(busy(control, milliseconds(10), 50));
  const std::int32_t limit = control.limit();
  control.on_window({.answers = 10, .drops = 20, .peak_in_flight = limit});
  EXPECT_GE(control.limit(), limit);
  control.on_window({.answers = 10, .drops = 21, .peak_in_flight = control.limit()});
  EXPECT_LT(control.limit(), limit);
}

TEST(LimitControl, AComparisonAfterACutTakesFiftySamples) {
  LimitControl control({.kind = LimitKind::aimd, .initial = 100});
  const auto window = [&](std::int32_t answers, std::int32_t drops) {
    control.on_window({.answers = answers, .drops = drops, .peak_in_flight = control.limit()});
  };
  window(50, 50);  // A cut: to 70.
  window(49, 0);   // 49 samples: compared still, so it does not grow.
  EXPECT_EQ(control.limit(), 70);
  window(1, 0);  // 50: the end of the comparison; it followed.
  EXPECT_EQ(control.limit(), 71);
  window(80, 20);  // So there is no floor.
  EXPECT_EQ(control.limit(), 49);
}

// In a deep overload the share of drops hardly falls, but that of the answers rises.
TEST(LimitControl, AnswersThatRiseAsTheLimitFallsHaveFollowedIt) {
  LimitControl control({.kind = LimitKind::aimd, .initial = 1000});
  const auto window = [&](std::int32_t answers, std::int32_t drops) {
    control.on_window({.answers = answers, .drops = drops, .peak_in_flight = control.limit()});
  };
  window(20, 80);  // To 700.
  window(28, 72);  // 1.4 times the answers: followed. To 490.
  window(41, 59);
  const std::int32_t limit = control.limit();
  window(70, 30);  // Without a floor that is too much.
  EXPECT_LT(control.limit(), limit);
}

TEST(LimitControl, AnEighthOfALargeLimitMayWait) {
  LimitControl control({.kind = LimitKind::vegas, .initial = 800});
  control.on_window({.answers = 10, .latency = milliseconds(100), .peak_in_flight = 1});
  control.on_window(busy(control, milliseconds(110)));  // 800 * 10/110 = 73 waiting, of 100
  EXPECT_EQ(control.limit(), 801);                      // Half a step of 2.
  control.on_window(busy(control, milliseconds(115)));  // 801 * 15/115 = 104 waiting
  EXPECT_EQ(control.limit(), 799);
}

TEST(LimitControl, GradientGoesAFifthOfTheWay) {
  LimitControl control({.kind = LimitKind::gradient, .initial = 100});
  control.on_window(busy(control, milliseconds(10)));  // To 100 + 10
  EXPECT_EQ(control.limit(), 102);
  LimitControl tolerant({.kind = LimitKind::gradient, .initial = 100});
  tolerant.on_window({.answers = 10, .latency = milliseconds(10), .peak_in_flight = 1});
  tolerant.on_window(busy(tolerant, milliseconds(12)));  // 1.2 * 10 / 12 = 1: no queue yet
  EXPECT_EQ(tolerant.limit(), 102);
  LimitControl queued({.kind = LimitKind::gradient, .initial = 100});
  queued.on_window({.answers = 10, .latency = milliseconds(10), .peak_in_flight = 1});
  queued.on_window(busy(queued, milliseconds(20)));  // 1.2 * 10 / 20: to 60 + 10
  EXPECT_EQ(queued.limit(), 94);
  LimitControl worst({.kind = LimitKind::gradient, .initial = 100});
  worst.on_window({.answers = 10, .latency = milliseconds(10), .peak_in_flight = 1});
  worst.on_window(busy(worst, milliseconds(900)));  // Held at a half: to 50 + 10
  EXPECT_EQ(worst.limit(), 92);
}

TEST(LimitControl, TrapL1_ALimitFedOnlyByTimeoutsShrinksToItsMinimum) {  // Invariant (2)
  for (const LimitKind kind : {LimitKind::aimd, LimitKind::vegas, LimitKind::gradient}) {
    LimitControl control({.kind = kind, .initial = 500, .min = 3});
    std::int32_t last = control.limit();
    for (int i = 0; i < 20; ++i) {
      control.on_window({.answers = 0, .drops = 100, .peak_in_flight = control.limit()});
      EXPECT_TRUE(control.limit() < last || control.limit() == 3) << name(kind) << " " << last;
      last = control.limit();
    }
    EXPECT_EQ(last, 3) << name(kind);
  }
}

TEST(LimitControl, TrapL6_AfterATotalOutageItIsBackWithinAFewWindows) {
  for (const LimitKind kind : {LimitKind::aimd, LimitKind::vegas, LimitKind::gradient}) {
    LimitControl control({.kind = kind, .initial = 256});
    control.on_window(busy(control, milliseconds(10)));
    const std::int32_t before = control.limit();
    for (int i = 0; i < 200; ++i) {
      control.on_window({.answers = 0, .drops = 100, .peak_in_flight = control.limit()});
    }
    ASSERT_EQ(control.limit(), 1) << name(kind);
    for (int i = 0; i < 8; ++i) {
      control.on_window(
          {.answers = 10, .latency = milliseconds(10), .peak_in_flight = control.limit()});
    }
    EXPECT_GE(control.limit(), before / 2) << name(kind);
    EXPECT_LE(control.limit(), before) << name(kind);
  }
}

TEST(LimitControl, ASlowStartStopsAtTheFirstSignOfAQueue) {
  LimitControl control({.kind = LimitKind::gradient, .initial = 256});
  control.on_window(busy(control, milliseconds(10)));
  for (int i = 0; i < 200; ++i) {
    control.on_window({.answers = 0, .drops = 100, .peak_in_flight = control.limit()});
  }
  for (int i = 0; i < 50; ++i) control.on_window(busy(control, latency_with(20, control)));
  EXPECT_GE(control.limit(), 20);
  EXPECT_LE(control.limit(), 40);
  control.on_window(busy(control, milliseconds(10), 100));  // And a cut ends it:
  const std::int32_t cut = control.limit();
  for (int i = 0; i < 50; ++i) control.on_window(busy(control, milliseconds(15)));
  EXPECT_LE(control.limit(), 2 * cut);  // half of what it was just now, not of 256.
}

// A closed loop: as many attempts as the limit allows, in rounds. A part of them is dropped
// whatever the limit, and all that exceed the capacity are.
struct Loop {
  double background = 0;
  std::int32_t capacity = 1'000'000;

  // The mean limit over the second half of the rounds.
  [[nodiscard]] double mean_limit(LimitKind kind, std::uint64_t seed, int rounds = 4000) const {
    LimitControl control({.kind = kind, .initial = 100});
    Random random(seed);
    LimitWindow window;
    double sum = 0;
    for (int round = 0; round < rounds; ++round) {
      const std::int32_t limit = control.limit();
      for (std::int32_t i = 0; i < limit; ++i) {
        const bool dropped = i >= capacity || random.draw() < background;
        ++(dropped ? window.drops : window.answers);
      }
      window.peak_in_flight = limit;
      window.latency = milliseconds(10);
      if (window.answers + window.drops >= 10) control.on_window(std::exchange(window, {}));
      if (2 * round >= rounds) sum += 2.0 * control.limit() / rounds;
    }
    return sum;
  }
};

TEST(LimitControl, TrapL4_DropsThatDoNotFollowTheLimitDoNotLowerIt) {
  for (const LimitKind kind : {LimitKind::aimd, LimitKind::vegas, LimitKind::gradient}) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const double without = Loop{}.mean_limit(kind, seed);
      for (const double background : {0.05, 0.125, 0.2, 0.375}) {
        EXPECT_GE(Loop{.background = background}.mean_limit(kind, seed), 0.9 * without)
            << name(kind) << ' ' << background << " seed " << seed;
      }
    }
  }
}

TEST(LimitControl, UnderAnOverloadItStillShrinksToTheCapacity) {
  for (const LimitKind kind : {LimitKind::aimd, LimitKind::vegas, LimitKind::gradient}) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      for (const double background : {0.0, 0.05, 0.125, 0.2}) {
        for (const std::int32_t capacity : {10, 50, 200}) {
          const double limit =
              Loop{.background = background, .capacity = capacity}.mean_limit(kind, seed);
          EXPECT_GE(limit, 0.5 * capacity) << name(kind) << ' ' << background << ' ' << capacity;
          // Vegas has no latency to steer by here, and its steps of 6 are large beside 10.
          const double most = kind == LimitKind::vegas && capacity == 10 ? 2.5 : 1.5;
          EXPECT_LE(limit, most * capacity) << name(kind) << ' ' << background << ' ' << capacity;
        }
      }
    }
  }
}

TEST(LimitControl, ADropFloorFallsWithTheDrops) {
  LimitControl control({.kind = LimitKind::aimd, .initial = 100});
  for (int i = 0; i < 20; ++i) control.on_window(busy(control, milliseconds(10), 30));
  const std::int32_t learnt = control.limit();
  control.on_window(busy(control, milliseconds(10), 30));
  EXPECT_EQ(control.limit(), learnt + 1);
  for (int i = 0; i < 20; ++i) control.on_window(busy(control, milliseconds(10)));
  const std::int32_t healthy = control.limit();
  control.on_window(busy(control, milliseconds(10), 30));
  EXPECT_LT(control.limit(), healthy);
}

TEST(LimitControl, TrapL2_SteadyLatencyNeverLowersTheLimit) {  // Invariant (4)
  for (const LimitKind kind : {LimitKind::aimd, LimitKind::vegas, LimitKind::gradient}) {
    LimitControl control({.kind = kind, .initial = 20, .max = 100});
    std::int32_t last = 20;
    for (int i = 0; i < 10'000; ++i) {
      control.on_window(busy(control, milliseconds(10), i % 11));
      ASSERT_GE(control.limit(), last) << name(kind) << " window " << i;
      last = control.limit();
    }
    EXPECT_EQ(last, 100) << name(kind);
  }
}

TEST(LimitControl, LatencyThatDoesNotFollowTheLimitBecomesTheFloor) {
  for (const LimitKind kind : {LimitKind::vegas, LimitKind::gradient}) {
    LimitControl control({.kind = kind, .initial = 100, .max = 100});
    control.on_window(busy(control, milliseconds(10)));
    std::int32_t lowest = 100;
    for (int i = 0; i < 1000; ++i) {  // Four times as slow, however few we send.
      control.on_window(busy(control, milliseconds(40)));
      lowest = std::min(lowest, control.limit());
    }
    EXPECT_LE(lowest, 64) << name(kind);  // It did try: two cuts of a fifth at least.
    EXPECT_EQ(control.limit(), 100) << name(kind);
  }
}

TEST(LimitControl, ALimitLoweredInVainReturnsAtOnce) {
  LimitControl control({.kind = LimitKind::gradient, .initial = 300});
  for (int i = 0; i < 3; ++i) control.on_window(busy(control, milliseconds(100)));
  const std::int32_t before = control.limit();
  int windows = 0;
  std::int32_t lowest = before;
  while (windows < 100 && (windows < 5 || control.limit() < before)) {
    control.on_window(busy(control, milliseconds(6000)));
    lowest = std::min(lowest, control.limit());
    ++windows;
  }
  EXPECT_LT(lowest, before * 8 / 10);
  EXPECT_LE(windows, 20);
}

TEST(LimitControl, ALastingQueueNeverBecomesTheFloor) {
  for (const LimitKind kind : {LimitKind::vegas, LimitKind::gradient}) {
    LimitControl control({.kind = kind, .initial = 10, .max = 100'000});
    for (int i = 0; i < 100'000; ++i) {
      control.on_window(busy(control, latency_with(50, control)));
    }
    EXPECT_GE(control.limit(), 50) << name(kind);
    EXPECT_LE(control.limit(), 100) << name(kind);
  }
}

TEST(LimitControl, AMuchLowerFloorIsLearntBeforeTheLimitGrows) {
  LimitControl control({.kind = LimitKind::gradient, .initial = 100});
  control.on_window({.answers = 10, .latency = milliseconds(100), .peak_in_flight = 1});
  control.on_window(busy(control, milliseconds(50)));  // Floor 93.75, 87.5 is 3/4 of what is left
  EXPECT_EQ(control.limit(), 100);
  for (int i = 0; i < 5; ++i) control.on_window(busy(control, milliseconds(50)));
  EXPECT_EQ(control.limit(), 100);                     // 50 * (1 + 0.875^6) = 72.4: still
  control.on_window(busy(control, milliseconds(50)));  // 69.6
  control.on_window(busy(control, milliseconds(50)));  // 67.2
  control.on_window(busy(control, milliseconds(50)));  // 65.04: 50 is over 3/4 of it
  EXPECT_EQ(control.limit(), 102);
}

TEST(LimitControl, AnIdleSpellAgesTheFloorSlowly) {
  LimitControl control({.kind = LimitKind::gradient, .initial = 100});
  control.on_window({.answers = 10, .latency = milliseconds(10), .peak_in_flight = 1});
  control.on_window({.answers = 10, .latency = milliseconds(26), .peak_in_flight = 1});  // 11 ms
  control.on_window(busy(control, Duration(13'200'000)));  // 1.2 * 11: no queue
  EXPECT_EQ(control.limit(), 102);
  LimitControl slow({.kind = LimitKind::gradient, .initial = 100});
  slow.on_window({.answers = 10, .latency = milliseconds(10), .peak_in_flight = 1});
  slow.on_window({.answers = 10, .latency = milliseconds(26), .peak_in_flight = 1});
  slow.on_window(busy(slow, milliseconds(22)));  // 1.2 * 11 / 22: to 60 + 10
  EXPECT_EQ(slow.limit(), 94);
}

TEST(LimitControl, ACapacityThatHalvesIsNotTakenForASlowerFloor) {
  for (const LimitKind kind : {LimitKind::vegas, LimitKind::gradient}) {
    LimitControl control({.kind = kind, .initial = 20});
    for (int i = 0; i < 1000; ++i) control.on_window(busy(control, latency_with(100, control)));
    const std::int32_t before = control.limit();
    for (int i = 0; i < 1000; ++i) control.on_window(busy(control, latency_with(50, control)));
    EXPECT_GE(control.limit(), 50) << name(kind);
    EXPECT_LE(control.limit(), before * 2 / 3) << name(kind) << " from " << before;
  }
}

TEST(LimitControl, LatencyAcrossACutByDropsIsNotCompared) {
  LimitControl control({.kind = LimitKind::gradient, .initial = 100});
  control.on_window(busy(control, milliseconds(10)));
  control.on_window(busy(control, milliseconds(10), 50));
  EXPECT_EQ(control.limit(), 71);                      // 102 * 0.7 = 71.4
  control.on_window(busy(control, milliseconds(24)));  // The floor is 10 still: to 35.7 + 8.4
  EXPECT_EQ(control.limit(), 65);
}

TEST(LimitControl, AReloadCarriesTheLimitOverWithinTheNewBounds) {
  LimitControl control({.kind = LimitKind::aimd, .initial = 50});
  control.reload({.kind = LimitKind::aimd, .initial = 10, .max = 40});
  EXPECT_EQ(control.limit(), 40);
  control.reload({.kind = LimitKind::gradient, .initial = 60, .min = 60, .max = 90});
  EXPECT_EQ(control.limit(), 60);
  control.reload({.kind = LimitKind::vegas, .initial = 20});
  EXPECT_EQ(control.limit(), 60);
  control.reload({.kind = LimitKind::fixed, .initial = 20});
  EXPECT_EQ(control.limit(), 20);
}

TEST(LimitControl, TheLimitStaysWithinItsBoundsWhateverIsMeasured) {  // Invariants (1), (2), (3)
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const auto upto = [&](std::int32_t most) {
      return static_cast<std::int32_t>(random.draw() * (most + 1));
    };
    const auto kind = static_cast<LimitKind>(1 + upto(2));
    const std::int32_t min = 1 + upto(20);
    const std::int32_t max = min + upto(200);
    LimitControl control({.kind = kind, .initial = min, .min = min, .max = max});
    for (int i = 0; i < 500; ++i) {
      const std::int32_t before = control.limit();
      const LimitWindow window{.answers = upto(50),
                               .drops = upto(1) * upto(50),
                               .latency = upto(3) == 0 ? Duration{0} : Duration{upto(50'000'000)},
                               .peak_in_flight = upto(max)};
      control.on_window(window);
      ASSERT_GE(control.limit(), min) << "seed " << seed;
      ASSERT_LE(control.limit(), max) << "seed " << seed;
      if (2 * window.peak_in_flight < before || window.answers == 0) {
        ASSERT_LE(control.limit(), before) << "seed " << seed;
      }
    }
  }
}

TEST(LimitControlDeathTest, InvalidOptionsAreASentence) {
  EXPECT_DEATH(LimitControl({.min = 0}), "min is 0; it must be from 1 to ");
  LimitControl control({});
  EXPECT_DEATH(control.reload({.min = 0}), "min is 0; it must be from 1 to ");
}

}  // namespace
}  // namespace damper::admit
