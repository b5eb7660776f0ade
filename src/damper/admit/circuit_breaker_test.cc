#include "damper/admit/circuit_breaker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "damper/admit/circuit_breaker_testing.h"
#include "damper/base/random.h"

namespace damper::admit {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Permit = BreakerPermit;

CircuitBreakerOptions rates() {  // 50 % of at least 4 calls in 10 s.
  CircuitBreakerOptions options = hasty();
  options.consecutive_failures = 0;
  options.minimum_volume = 4;
  return options;
}

// Trips it, lets it recover with three probes; returns when it closed.
Instant trip_and_close(auto& breaker, Instant now) {
  const Instant half_open = trip(breaker, now);
  EXPECT_EQ(succeed(breaker, half_open), Transition::none);
  EXPECT_EQ(succeed(breaker, half_open), Transition::none);
  EXPECT_EQ(succeed(breaker, half_open), Transition::closed);
  return half_open;
}

TYPED_TEST(AnyCircuitBreaker, ANewOneIsClosedAndCalm) {
  TypeParam breaker{CircuitBreakerOptions{}};
  EXPECT_EQ(breaker.state(kStart), BreakerState::closed);
  EXPECT_TRUE(breaker.calm(kStart));
  EXPECT_EQ(breaker.open_for(kStart), Duration(0));
  EXPECT_TRUE(breaker.try_admit(kStart, kLargestDraw).admitted);
}

TYPED_TEST(AnyCircuitBreaker, TripsWhenTheWindowReachesTheFailureRateAtTheMinimumVolume) {
  TypeParam breaker(rates());
  EXPECT_EQ(succeed(breaker, kStart), Transition::none);  // 0 of 1
  EXPECT_EQ(succeed(breaker, kStart), Transition::none);  // 0 of 2
  EXPECT_EQ(fail(breaker, kStart), Transition::none);     // 1 of 3
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);   // 2 of 4: exactly half
  EXPECT_EQ(breaker.state(kStart), BreakerState::open);
  EXPECT_FALSE(breaker.calm(kStart));
  EXPECT_FALSE(breaker.try_admit(kStart, 0).admitted);
}

TYPED_TEST(AnyCircuitBreaker, DoesNotTripUnderTheMinimumVolumeNorUnderTheRate) {
  TypeParam breaker(rates());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);  // 3 of 3
  CircuitBreakerOptions options = rates();
  options.failure_rate = Percent::from_hundredths(5001);
  TypeParam picky(options);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(succeed(picky, kStart), Transition::none);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fail(picky, kStart), Transition::none);  // 2 of 4: 50 %
  EXPECT_EQ(fail(picky, kStart), Transition::opened);                            // 3 of 5
}

TYPED_TEST(AnyCircuitBreaker, AFastSuccessNeverTrips) {
  TypeParam breaker(rates());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  EXPECT_EQ(succeed(breaker, kStart), Transition::none);  // 3 of 4
  EXPECT_EQ(breaker.state(kStart), BreakerState::closed);
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);
}

TYPED_TEST(AnyCircuitBreaker, ForgetsWhatIsOlderThanTheWindow) {
  TypeParam breaker(rates());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  EXPECT_EQ(fail(breaker, kStart + seconds(10)), Transition::none);  // Alone in the window.
  TypeParam other(rates());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(other, kStart), Transition::none);
  EXPECT_EQ(fail(other, kStart + seconds(10) - Duration(1)), Transition::opened);
}

TYPED_TEST(AnyCircuitBreaker, TripsAtSoManyFailuresInARowAndASuccessBreaksTheRow) {
  CircuitBreakerOptions options = hasty();
  options.consecutive_failures = 3;
  TypeParam breaker(options);
  for (const int failures : {2, 1}) {
    for (int i = 0; i < failures; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
    EXPECT_EQ(succeed(breaker, kStart), Transition::none);
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fail(breaker, kStart + hours(1)), Transition::none);
  EXPECT_EQ(fail(breaker, kStart + hours(2)), Transition::opened);
}

TYPED_TEST(AnyCircuitBreaker, ARowOfFailuresTripsAlsoWhereTheRateDoesNot) {
  CircuitBreakerOptions options = rates();
  options.consecutive_failures = 3;
  TypeParam breaker(options);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(succeed(breaker, kStart), Transition::none);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);  // 3 of 13.
}

TYPED_TEST(AnyCircuitBreaker, ASlowSuccessBreaksTheRowOfFailuresToo) {
  CircuitBreakerOptions options = hasty();
  options.consecutive_failures = 2;
  options.slow_call_duration = seconds(1);
  TypeParam breaker(options);
  EXPECT_EQ(fail(breaker, kStart), Transition::none);
  EXPECT_EQ(succeed(breaker, kStart, seconds(2)), Transition::none);
  EXPECT_EQ(fail(breaker, kStart), Transition::none);
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);
}

TYPED_TEST(AnyCircuitBreaker, ASlowSuccessIsNoFailureInARow) {
  CircuitBreakerOptions options = hasty();  // Trips at the first failure.
  options.slow_call_duration = seconds(1);
  options.slow_call_rate = Percent(50);
  options.minimum_volume = 10;
  TypeParam breaker(options);
  EXPECT_EQ(succeed(breaker, kStart, seconds(2)), Transition::none);
  EXPECT_EQ(breaker.state(kStart), BreakerState::closed);
}

TYPED_TEST(AnyCircuitBreaker, TripsOnTheRateOfCallsOverTheSlowDuration) {
  CircuitBreakerOptions options = rates();
  options.slow_call_duration = seconds(1);
  options.slow_call_rate = Percent(75);
  TypeParam breaker(options);
  EXPECT_EQ(succeed(breaker, kStart, seconds(1)), Transition::none);  // Not over it.
  EXPECT_EQ(succeed(breaker, kStart, seconds(1) + Duration(1)), Transition::none);
  EXPECT_EQ(succeed(breaker, kStart, seconds(2)), Transition::none);
  EXPECT_EQ(succeed(breaker, kStart, seconds(2)), Transition::opened);  // 3 of 4
}

TYPED_TEST(AnyCircuitBreaker, ASlowFailureCountsAsBoth) {
  CircuitBreakerOptions options = rates();
  options.failure_rate = Percent(100);
  options.slow_call_duration = seconds(1);
  options.slow_call_rate = Percent(50);
  TypeParam breaker(options);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(succeed(breaker, kStart), Transition::none);
  EXPECT_EQ(succeed(breaker, kStart, seconds(2)), Transition::none);
  EXPECT_EQ(breaker.on_failure(admitted(breaker, kStart), seconds(2), kStart, 0),
            Transition::opened);  // 2 slow of 4, 1 failed.
}

TYPED_TEST(AnyCircuitBreaker, AFailureUpToTheSlowDurationIsNotSlow) {
  CircuitBreakerOptions options = rates();
  options.failure_rate = Percent(100);
  options.slow_call_duration = seconds(1);
  options.slow_call_rate = Percent(50);
  TypeParam breaker(options);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(succeed(breaker, kStart), Transition::none);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(breaker.on_failure(admitted(breaker, kStart), seconds(1), kStart, 0),
              Transition::none);
  }
}

TYPED_TEST(AnyCircuitBreaker, AReloadKeepsTheSlowCalls) {  // Invariant (7)
  const Instant now = at(seconds(112));
  CircuitBreakerOptions options = rates();
  options.slow_call_duration = seconds(1);
  options.slow_call_rate = Percent(100);
  TypeParam breaker(options);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(succeed(breaker, now, seconds(2)), Transition::none);
  options.window = seconds(60);
  breaker.reload(options, now);
  EXPECT_EQ(succeed(breaker, now, seconds(2)), Transition::opened);  // 4 of 4
}

TYPED_TEST(AnyCircuitBreaker, ADrawOutsideOfItsRangeIsTheShortestOpenTime) {
  for (const double draw : {-1.0, 1.0, 1.5, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()}) {
    TypeParam breaker(hasty());
    EXPECT_EQ(breaker.trip(kStart, draw), Transition::opened);
    EXPECT_EQ(breaker.open_for(kStart), milliseconds(500)) << draw;
  }
}

TYPED_TEST(AnyCircuitBreaker, TimeBeforeAHalfOpenOneIsTheTimeOfItsFirstProbe) {
  TypeParam breaker(hasty());
  EXPECT_EQ(breaker.open_for(at(-seconds(5))), Duration(0));  // Closed since 0 s.
  const Instant half_open = trip(breaker, kStart);
  const Permit first = admitted(breaker, half_open);
  EXPECT_TRUE(first.moved());
  breaker.on_cancel(first, half_open);
  EXPECT_TRUE(breaker.try_admit(half_open - milliseconds(1), 0).admitted);
  EXPECT_EQ(breaker.open_for(half_open - milliseconds(1)), Duration(0));
}

TYPED_TEST(AnyCircuitBreaker, CallsAreNeverSlowByDefault) {
  TypeParam breaker(rates());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(succeed(breaker, kStart, kForever), Transition::none);
}

TYPED_TEST(AnyCircuitBreaker,
           TrapC4_TheOpenTimeIsJitteredGrowsAndHasNoAtomAtTheCap) {  // Invariant (5)
  for (const double draw : {0.0, 0.5, kLargestDraw}) {
    TypeParam breaker(hasty());
    Instant now = kStart;
    for (const std::int64_t d : {1, 2, 4, 4, 4}) {  // Seconds: doubled, then held at the cap.
      EXPECT_EQ(fail(breaker, now, draw), Transition::opened);
      const Duration half = milliseconds(d * 500);
      const Duration expected = draw == 0.0   ? half
                                : draw == 0.5 ? half + half / 2
                                              : 2 * half - Duration(1);
      EXPECT_EQ(breaker.open_for(now), expected) << d << " s, draw " << draw;
      EXPECT_EQ(breaker.state(now + expected - Duration(1)), BreakerState::open);
      EXPECT_FALSE(breaker.try_admit(now + expected - Duration(1), 0).admitted);
      now += expected;
      EXPECT_EQ(breaker.state(now), BreakerState::half_open);
      EXPECT_EQ(breaker.open_for(now + seconds(1)), Duration(0));
    }
  }
}

TYPED_TEST(AnyCircuitBreaker, TheOpenTimeSaturatesAtAnyNumberOfTripsAndAnyDraw) {
  CircuitBreakerOptions options = hasty();
  options.open_base = milliseconds(1);
  options.open_cap = kLongest;
  TypeParam breaker(options);
  Instant now = kStart;
  for (int trips = 0; trips < 100; ++trips) {
    EXPECT_EQ(fail(breaker, now, kLargestDraw), Transition::opened);
    const Duration d = trips < 32 ? milliseconds(std::int64_t{1} << trips) : kLongest;
    EXPECT_EQ(breaker.open_for(now), std::min(d, kLongest) - Duration(1)) << trips;
    now += kLongest;
  }
  EXPECT_EQ(fail(breaker, now, std::numeric_limits<double>::quiet_NaN()), Transition::opened);
  EXPECT_EQ(breaker.open_for(now), kLongest / 2);  // A draw that is none counts as 0.
}

TYPED_TEST(AnyCircuitBreaker, ACancelledCallCountsForNothingWhileClosed) {
  CircuitBreakerOptions options = rates();
  TypeParam breaker(options);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  for (int i = 0; i < 9; ++i) breaker.on_cancel(admitted(breaker, kStart), kStart);
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);  // 4 of 4
}

TYPED_TEST(AnyCircuitBreaker, TrapC5_ResultsFromBeforeTheTripAreIgnored) {  // Invariant (4)
  TypeParam breaker(hasty());
  std::vector<Permit> old;
  for (int i = 0; i < 8; ++i) old.push_back(admitted(breaker, kStart));
  const Instant half_open = trip(breaker, kStart);
  EXPECT_EQ(breaker.on_success(old[0], Duration(1), kStart, 0), Transition::none);
  EXPECT_EQ(breaker.on_failure(old[1], Duration(1), kStart, 0), Transition::none);
  EXPECT_EQ(breaker.open_for(kStart), milliseconds(500));
  const Permit probe = admitted(breaker, half_open);
  for (int i = 2; i < 6; ++i) {  // More than the three successes that close it.
    const Permit permit = old[static_cast<std::size_t>(i)];
    EXPECT_EQ(breaker.on_success(permit, Duration(1), half_open, 0), Transition::none);
  }
  EXPECT_EQ(breaker.on_failure(old[6], Duration(1), half_open, 0), Transition::none);
  EXPECT_EQ(breaker.state(half_open), BreakerState::half_open);
  EXPECT_EQ(breaker.on_success(probe, Duration(1), half_open, 0), Transition::none);
  EXPECT_EQ(succeed(breaker, half_open), Transition::none);
  EXPECT_EQ(succeed(breaker, half_open), Transition::closed);
  EXPECT_EQ(breaker.on_failure(old[7], Duration(1), half_open, 0), Transition::none);
  EXPECT_EQ(breaker.on_failure(probe, Duration(1), half_open, 0), Transition::none);
  EXPECT_EQ(breaker.state(half_open), BreakerState::closed);
}

TYPED_TEST(AnyCircuitBreaker, TheWindowStartsEmptyAfterClosing) {  // Invariant (4)
  TypeParam breaker(rates());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  const Instant now = trip_and_close(breaker, kStart);
  EXPECT_LT(now, kStart + seconds(1));  // The same slot of the window.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, now), Transition::none);
  EXPECT_EQ(fail(breaker, now), Transition::opened);
}

TYPED_TEST(AnyCircuitBreaker, TrapC6_AfterClosingTrafficGrowsLinearlyFromATenth) {
  TypeParam breaker(hasty());
  const Instant closed = trip_and_close(breaker, kStart);
  const auto admits = [&](Duration after, double draw) {
    return breaker.try_admit(closed + after, draw).admitted;
  };
  EXPECT_TRUE(admits(seconds(0), 0.0999));
  EXPECT_FALSE(admits(seconds(0), 0.1));
  EXPECT_TRUE(admits(seconds(5), 0.5499));  // 0.1 + 0.9 / 2
  EXPECT_FALSE(admits(seconds(5), 0.5501));
  EXPECT_FALSE(breaker.calm(closed + seconds(10) - Duration(1)));
  EXPECT_FALSE(admits(seconds(10) - Duration(1), kLargestDraw));
  EXPECT_FALSE(admits(seconds(-3), 0.1));  // Time went backwards.
  EXPECT_TRUE(breaker.calm(closed + seconds(10)));
  EXPECT_TRUE(admits(seconds(10), kLargestDraw));
  EXPECT_TRUE(admits(seconds(1), kLargestDraw));  // Over for good.
  EXPECT_EQ(breaker.state(closed), BreakerState::closed);
}

TYPED_TEST(AnyCircuitBreaker, WithoutARampAllTrafficComesBackAtOnce) {
  CircuitBreakerOptions options = hasty();
  options.ramp = Duration(0);
  TypeParam breaker(options);
  const Instant closed = trip_and_close(breaker, kStart);
  EXPECT_TRUE(breaker.calm(closed));
  EXPECT_TRUE(breaker.try_admit(closed, kLargestDraw).admitted);
  EXPECT_EQ(fail(breaker, closed), Transition::opened);
  EXPECT_EQ(breaker.open_for(closed), milliseconds(500));
}

TYPED_TEST(AnyCircuitBreaker, ATripDuringTheRampIsInARowAndOneAfterItIsNot) {
  TypeParam breaker(hasty());
  Instant closed = trip_and_close(breaker, kStart);
  Instant now = closed + seconds(10) - Duration(1);
  EXPECT_EQ(fail(breaker, now), Transition::opened);
  EXPECT_EQ(breaker.open_for(now), seconds(1));  // The second in a row.

  TypeParam other(hasty());
  closed = trip_and_close(other, kStart);
  now = closed + seconds(10);
  EXPECT_EQ(fail(other, now), Transition::opened);
  EXPECT_EQ(other.open_for(now), milliseconds(500));  // The first again.

  TypeParam quiet(hasty());  // Nobody asked after the ramp, but an old call fails.
  closed = trip_and_close(quiet, kStart);
  const Permit during = admitted(quiet, closed);
  EXPECT_EQ(quiet.on_failure(during, Duration(1), closed + seconds(10), 0), Transition::opened);
  EXPECT_EQ(quiet.open_for(closed + seconds(10)), milliseconds(500));
}

TYPED_TEST(AnyCircuitBreaker, ARefusedPermitIsHarmless) {
  TypeParam breaker(hasty());
  EXPECT_EQ(breaker.on_failure(Permit{}, Duration(1), kStart, 0), Transition::none);
  EXPECT_EQ(breaker.on_success(Permit{}, Duration(1), kStart, 0), Transition::none);
  breaker.on_cancel(Permit{}, kStart);
  EXPECT_EQ(breaker.state(kStart), BreakerState::closed);
}

TYPED_TEST(AnyCircuitBreaker, AReloadKeepsTheOpenTimeTheTripsAndTheLeases) {  // Invariant (7)
  TypeParam breaker(hasty());
  const Instant half_open = trip(breaker, kStart);
  CircuitBreakerOptions options = hasty();
  options.open_base = seconds(2);
  options.window = seconds(60);
  breaker.reload(options, kStart);
  EXPECT_EQ(breaker.open_for(kStart), milliseconds(500));
  const Permit probe = admitted(breaker, half_open);
  breaker.reload(hasty(), half_open);
  EXPECT_FALSE(breaker.try_admit(half_open, 0).admitted);
  EXPECT_EQ(breaker.on_failure(probe, Duration(1), half_open, 0), Transition::opened);
  EXPECT_EQ(breaker.open_for(half_open), seconds(1));  // The second in a row.
}

TYPED_TEST(AnyCircuitBreaker, AReloadKeepsTheCountsAndTheStreak) {  // Invariant (7)
  for (const Duration window : {seconds(10), seconds(1), seconds(3600)}) {
    // Slot 112 of 1 s and slot 0 of 360 s lie in the same word of the ring.
    const Instant now = at(seconds(112));
    TypeParam breaker(rates());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, now), Transition::none);
    CircuitBreakerOptions options = rates();
    options.window = window;
    for (int i = 0; i < 2; ++i) breaker.reload(options, now);  // The second changes nothing.
    EXPECT_EQ(fail(breaker, now), Transition::opened) << window.count();  // 4 of 4
  }
  CircuitBreakerOptions options = hasty();
  options.consecutive_failures = 10'000;
  options.minimum_volume = 1000;
  TypeParam breaker(options);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  options.consecutive_failures = 4;
  breaker.reload(options, kStart);
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);
}

TYPED_TEST(AnyCircuitBreaker, AShorterWindowAfterAReloadForgetsWhatIsOlder) {
  TypeParam breaker(rates());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  CircuitBreakerOptions options = rates();
  options.window = seconds(2);
  breaker.reload(options, kStart + seconds(5));
  EXPECT_EQ(fail(breaker, kStart + seconds(5)), Transition::none);  // Alone.
  EXPECT_EQ(fail(breaker, kStart + seconds(6)), Transition::none);
  EXPECT_EQ(fail(breaker, kStart + seconds(7)), Transition::none);  // 2 s later: 2 are left.
}

TYPED_TEST(AnyCircuitBreaker, TimeAtItsEndsAndBackwardsIsHarmless) {
  for (const Instant strange : {Instant::min(), at(Duration(-1)), at(Duration(0)), kNever}) {
    TypeParam breaker(hasty());
    EXPECT_EQ(succeed(breaker, strange), Transition::none);
    EXPECT_EQ(fail(breaker, strange), Transition::opened);
    (void)breaker.try_admit(strange, 0);
    const Permit permit = breaker.try_admit(kStart, 0);
    if (permit.admitted) (void)breaker.on_success(permit, Duration(-5), strange, 0);
    breaker.reload(rates(), strange);
    (void)breaker.state(strange);
    EXPECT_GE(breaker.open_for(strange), Duration(0));
  }
}

TEST(CircuitBreaker, BadOptionsAreNamedWithTheirBound) {
  const auto error = [](auto change) {
    CircuitBreakerOptions options;
    change(options);
    return find_error(options).value_or("");
  };
  using O = CircuitBreakerOptions;
  EXPECT_EQ(error([](O&) {}), "");
  EXPECT_EQ(error([](O& o) { o.failure_rate = Percent(0); }),
            "failure_rate is 0%; it must be from 0.01% to 100%");
  EXPECT_EQ(error([](O& o) { o.failure_rate = Percent(101); }),
            "failure_rate is 101%; it must be from 0.01% to 100%");
  EXPECT_EQ(error([](O& o) { o.slow_call_rate = Percent(101); }),
            "slow_call_rate is 101%; it must be from 0.01% to 100%");
  EXPECT_EQ(error([](O& o) { o.slow_call_duration = Duration(-1); }),
            "slow_call_duration is -1ns; it must be from 0s to 720h");
  EXPECT_EQ(error([](O& o) { o.consecutive_failures = 10'001; }),
            "consecutive_failures is 10001; it must be from 0 to 10000");
  EXPECT_EQ(error([](O& o) { o.window = milliseconds(999); }),
            "window is 999ms; it must be from 1s to 1h");
  EXPECT_EQ(error([](O& o) { o.minimum_volume = 0; }),
            "minimum_volume is 0; it must be from 1 to 1000000");
  EXPECT_EQ(error([](O& o) { o.open_base = microseconds(999); }),
            "open_base is 999us; it must be from 1ms to 720h");
  EXPECT_EQ(error([](O& o) { o.open_cap = milliseconds(999); }),
            "open_cap is 999ms; it must be from 1s to 720h");
  EXPECT_EQ(error([](O& o) { o.probes = 17; }), "probes is 17; it must be from 1 to 16");
  EXPECT_EQ(error([](O& o) { o.probe_lease = Duration(0); }), "");  // Derived.
  EXPECT_EQ(error([](O& o) { o.probe_lease = microseconds(999); }),
            "probe_lease is 999us; it must be from 1ms to 1h");
  EXPECT_EQ(error([](O& o) { o.probe_lease = Duration(-1); }),
            "probe_lease is -1ns; it must be from 1ms to 1h");
  EXPECT_EQ(error([](O& o) { o.ramp = hours(2); }), "ramp is 2h; it must be from 0s to 1h");
  EXPECT_DEATH(
      {
        CircuitBreakerOptions options;
        options.probes = 0;
        CircuitBreaker breaker(options);
      },
      "probes is 0; it must be from 1 to 16");
}

TYPED_TEST(AnyCircuitBreaker, ATripOpensOneThatIsClosedAndGrowsInARow) {
  TypeParam breaker({.probes = 1});
  EXPECT_EQ(breaker.trip(kStart, 0), Transition::opened);
  EXPECT_EQ(breaker.state(kStart), BreakerState::open);
  EXPECT_EQ(breaker.open_for(kStart), std::chrono::milliseconds(500));
  EXPECT_EQ(breaker.trip(kStart, 0), Transition::none);
  const Instant later = kStart + std::chrono::seconds(1);
  const auto probe = breaker.try_admit(later, 0);
  ASSERT_TRUE(probe.admitted);
  EXPECT_EQ(breaker.trip(later, 0), Transition::none);  // Half-open: the probe decides.
  EXPECT_EQ(breaker.on_success(probe, {}, later, 0), Transition::closed);
  EXPECT_EQ(breaker.trip(later, 0), Transition::opened);  // On its ramp: in a row.
  EXPECT_EQ(breaker.open_for(later), std::chrono::seconds(1));
}

TYPED_TEST(AnyCircuitBreaker, ACloseForgetsTheTripsAndHasNoRamp) {
  TypeParam breaker(hasty());
  EXPECT_EQ(breaker.close(kStart), Transition::none);
  EXPECT_EQ(breaker.trip(kStart, 0), Transition::opened);
  EXPECT_EQ(breaker.close(kStart), Transition::closed);
  EXPECT_TRUE(breaker.calm(kStart));
  EXPECT_TRUE(breaker.try_admit(kStart, kLargestDraw).admitted);
  const Instant half_open = trip(breaker, kStart);
  const Permit probe = breaker.try_admit(half_open, 0);
  EXPECT_EQ(breaker.close(half_open), Transition::closed);
  EXPECT_EQ(breaker.on_failure(probe, Duration(0), half_open, 0), Transition::none);  // Too late.
  EXPECT_EQ(breaker.trip(half_open, 0), Transition::opened);
  EXPECT_LE(breaker.open_for(half_open), hasty().open_base);
}

}  // namespace
}  // namespace damper::admit
