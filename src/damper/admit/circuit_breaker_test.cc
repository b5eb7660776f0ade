#include "damper/admit/circuit_breaker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <vector>

#include "damper/base/random.h"

namespace damper::admit {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Permit = CircuitBreaker::Permit;

constexpr Instant at(Duration since_epoch) { return Instant{since_epoch}; }
constexpr Instant kStart = at(seconds(100));

// Trips at the first failure, opens for U[0.5 s, 1 s) doubled up to 4 s, probes 3 with leases of
// 6 s (staggered by 2 s), ramps for 10 s.
CircuitBreakerOptions hasty() {
  CircuitBreakerOptions options;
  options.consecutive_failures = 1;
  options.open_base = seconds(1);
  options.open_cap = seconds(4);
  options.probe_lease = seconds(6);
  options.ramp = seconds(10);
  return options;
}

CircuitBreakerOptions rates() {  // 50 % of at least 4 calls in 10 s.
  CircuitBreakerOptions options = hasty();
  options.consecutive_failures = 0;
  options.minimum_volume = 4;
  return options;
}

Permit admitted(CircuitBreaker& breaker, Instant now, double draw = 0) {
  const Permit permit = breaker.try_admit(now, draw);
  EXPECT_TRUE(permit.admitted);
  return permit;
}

Transition fail(CircuitBreaker& breaker, Instant now, double draw = 0) {
  return breaker.on_failure(admitted(breaker, now), Duration(1), now, draw);
}
Transition succeed(CircuitBreaker& breaker, Instant now, Duration latency = Duration(1)) {
  return breaker.on_success(admitted(breaker, now), latency, now, 0);
}

// Trips it and lets its open time pass; returns the instant at which it will be half-open.
Instant trip(CircuitBreaker& breaker, Instant now) {
  EXPECT_EQ(fail(breaker, now), Transition::opened);
  return now + breaker.open_for(now);
}

// Trips it, lets it recover with three probes; returns when it closed.
Instant trip_and_close(CircuitBreaker& breaker, Instant now) {
  const Instant half_open = trip(breaker, now);
  EXPECT_EQ(succeed(breaker, half_open), Transition::none);
  EXPECT_EQ(succeed(breaker, half_open), Transition::none);
  EXPECT_EQ(succeed(breaker, half_open), Transition::closed);
  return half_open;
}

TEST(CircuitBreaker, ANewOneIsClosedAndCalm) {
  CircuitBreaker breaker{CircuitBreakerOptions{}};
  EXPECT_EQ(breaker.state(kStart), BreakerState::closed);
  EXPECT_TRUE(breaker.calm(kStart));
  EXPECT_EQ(breaker.open_for(kStart), Duration(0));
  EXPECT_TRUE(breaker.try_admit(kStart, kLargestDraw).admitted);
}

TEST(CircuitBreaker, TripsWhenTheWindowReachesTheFailureRateAtTheMinimumVolume) {
  CircuitBreaker breaker(rates());
  EXPECT_EQ(succeed(breaker, kStart), Transition::none);  // 0 of 1
  EXPECT_EQ(succeed(breaker, kStart), Transition::none);  // 0 of 2
  EXPECT_EQ(fail(breaker, kStart), Transition::none);     // 1 of 3
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);   // 2 of 4: exactly half
  EXPECT_EQ(breaker.state(kStart), BreakerState::open);
  EXPECT_FALSE(breaker.calm(kStart));
  EXPECT_FALSE(breaker.try_admit(kStart, 0).admitted);
}

TEST(CircuitBreaker, DoesNotTripUnderTheMinimumVolumeNorUnderTheRate) {
  CircuitBreaker breaker(rates());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);  // 3 of 3
  CircuitBreakerOptions options = rates();
  options.failure_rate = Percent::from_hundredths(5001);
  CircuitBreaker picky(options);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(succeed(picky, kStart), Transition::none);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fail(picky, kStart), Transition::none);  // 2 of 4: 50 %
  EXPECT_EQ(fail(picky, kStart), Transition::opened);                            // 3 of 5
}

TEST(CircuitBreaker, AFastSuccessNeverTrips) {
  CircuitBreaker breaker(rates());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  EXPECT_EQ(succeed(breaker, kStart), Transition::none);  // 3 of 4
  EXPECT_EQ(breaker.state(kStart), BreakerState::closed);
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);
}

TEST(CircuitBreaker, ForgetsWhatIsOlderThanTheWindow) {
  CircuitBreaker breaker(rates());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  EXPECT_EQ(fail(breaker, kStart + seconds(10)), Transition::none);  // Alone in the window.
  CircuitBreaker other(rates());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(other, kStart), Transition::none);
  EXPECT_EQ(fail(other, kStart + seconds(10) - Duration(1)), Transition::opened);
}

TEST(CircuitBreaker, TripsAtSoManyFailuresInARowAndASuccessBreaksTheRow) {
  CircuitBreakerOptions options = hasty();
  options.consecutive_failures = 3;
  CircuitBreaker breaker(options);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  EXPECT_EQ(succeed(breaker, kStart), Transition::none);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fail(breaker, kStart + hours(1)), Transition::none);
  EXPECT_EQ(fail(breaker, kStart + hours(2)), Transition::opened);
}

TEST(CircuitBreaker, ASlowSuccessBreaksTheRowOfFailuresToo) {
  CircuitBreakerOptions options = hasty();
  options.consecutive_failures = 2;
  options.slow_call_duration = seconds(1);
  CircuitBreaker breaker(options);
  EXPECT_EQ(fail(breaker, kStart), Transition::none);
  EXPECT_EQ(succeed(breaker, kStart, seconds(2)), Transition::none);
  EXPECT_EQ(fail(breaker, kStart), Transition::none);
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);
}

TEST(CircuitBreaker, TripsOnTheRateOfCallsOverTheSlowDuration) {
  CircuitBreakerOptions options = rates();
  options.slow_call_duration = seconds(1);
  options.slow_call_rate = Percent(75);
  CircuitBreaker breaker(options);
  EXPECT_EQ(succeed(breaker, kStart, seconds(1)), Transition::none);  // Not over it.
  EXPECT_EQ(succeed(breaker, kStart, seconds(1) + Duration(1)), Transition::none);
  EXPECT_EQ(succeed(breaker, kStart, seconds(2)), Transition::none);
  EXPECT_EQ(succeed(breaker, kStart, seconds(2)), Transition::opened);  // 3 of 4
}

TEST(CircuitBreaker, ASlowFailureCountsAsBoth) {
  CircuitBreakerOptions options = rates();
  options.failure_rate = Percent(100);
  options.slow_call_duration = seconds(1);
  options.slow_call_rate = Percent(50);
  CircuitBreaker breaker(options);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(succeed(breaker, kStart), Transition::none);
  EXPECT_EQ(succeed(breaker, kStart, seconds(2)), Transition::none);
  EXPECT_EQ(breaker.on_failure(admitted(breaker, kStart), seconds(2), kStart, 0),
            Transition::opened);  // 2 slow of 4, 1 failed.
}

TEST(CircuitBreaker, CallsAreNeverSlowByDefault) {
  CircuitBreaker breaker(rates());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(succeed(breaker, kStart, kForever), Transition::none);
}

TEST(CircuitBreaker, TrapC4_TheOpenTimeIsJitteredGrowsAndHasNoAtomAtTheCap) {  // Invariant (5)
  for (const double draw : {0.0, 0.5, kLargestDraw}) {
    CircuitBreaker breaker(hasty());
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

TEST(CircuitBreaker, TheOpenTimeSaturatesAtAnyNumberOfTripsAndAnyDraw) {
  CircuitBreakerOptions options = hasty();
  options.open_base = milliseconds(1);
  options.open_cap = kLongest;
  CircuitBreaker breaker(options);
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

TEST(CircuitBreaker, TheFirstCallAfterTheOpenTimeTurnsItHalfOpenAndSaysSo) {  // Invariant (6)
  CircuitBreaker breaker(hasty());
  const Instant half_open = trip(breaker, kStart);
  const Permit early = breaker.try_admit(half_open - Duration(1), 0);
  EXPECT_FALSE(early.admitted || early.half_opened);
  const Permit first = breaker.try_admit(half_open, 0);
  EXPECT_TRUE(first.admitted && first.half_opened);
  EXPECT_EQ(first.probe, 1);
  EXPECT_FALSE(breaker.try_admit(half_open, 0).half_opened);
  EXPECT_EQ(breaker.state(half_open), BreakerState::half_open);
  EXPECT_FALSE(breaker.calm(half_open + hours(1)));
}

TEST(CircuitBreaker, TrapC3_HalfOpenAdmitsOneProbeThenOneMoreForEachStepOfTheStagger) {
  CircuitBreaker breaker(hasty());  // Invariant (1): 3 places, one every 6 s / 3.
  const Instant half_open = trip(breaker, kStart);
  int admitted = 0;
  const auto ask = [&](Instant now) {
    for (int i = 0; i < 50; ++i) admitted += breaker.try_admit(now, 0).admitted ? 1 : 0;
    return admitted;
  };
  EXPECT_EQ(ask(half_open), 1);
  EXPECT_EQ(ask(half_open + seconds(2) - Duration(1)), 1);
  EXPECT_EQ(ask(half_open + seconds(2)), 2);
  EXPECT_EQ(ask(half_open + seconds(4)), 3);
  EXPECT_EQ(ask(half_open + seconds(6) - microseconds(1)), 3);
}

TEST(CircuitBreaker, EachSuccessOpensOneMorePlaceAndTheLastOneCloses) {
  CircuitBreaker breaker(hasty());
  const Instant now = trip(breaker, kStart);
  EXPECT_EQ(succeed(breaker, now), Transition::none);
  const Permit second = admitted(breaker, now);
  const Permit third = admitted(breaker, now);
  EXPECT_FALSE(breaker.try_admit(now, 0).admitted);
  EXPECT_EQ(breaker.on_success(second, Duration(1), now, 0), Transition::none);
  EXPECT_EQ(breaker.on_success(third, Duration(1), now, 0), Transition::closed);
  EXPECT_EQ(breaker.state(now), BreakerState::closed);
}

TEST(CircuitBreaker, TrapC1_AHungProbeGivesItsPlaceBackAndItsLateResultIsIgnored) {
  CircuitBreakerOptions options = hasty();  // Invariant (2)
  options.probes = 1;
  CircuitBreaker breaker(options);
  const Instant half_open = trip(breaker, kStart);
  const Permit hung = admitted(breaker, half_open);
  EXPECT_FALSE(breaker.try_admit(half_open + seconds(6) - microseconds(1), 0).admitted);
  const Instant later = half_open + seconds(6);
  const Permit second = admitted(breaker, later);
  EXPECT_EQ(second.probe, hung.probe);  // The same place, another lease.
  EXPECT_EQ(breaker.on_success(hung, seconds(6), later, 0), Transition::none);
  EXPECT_EQ(breaker.on_failure(hung, seconds(6), later, 0), Transition::none);
  breaker.on_cancel(hung, later);
  EXPECT_EQ(breaker.state(later), BreakerState::half_open);
  EXPECT_FALSE(breaker.try_admit(later, 0).admitted);  // The second still has the place.
  EXPECT_EQ(breaker.on_success(second, Duration(1), later, 0), Transition::closed);
}

TEST(CircuitBreaker, AResultAtTheEndOfTheLeaseIsTooLateEvenWhenNobodyTookThePlace) {
  CircuitBreakerOptions options = hasty();  // Invariant (2)
  options.probes = 1;
  CircuitBreaker breaker(options);
  const Instant half_open = trip(breaker, kStart);
  const Permit late = admitted(breaker, half_open);
  EXPECT_EQ(breaker.on_success(late, seconds(6), half_open + seconds(6), 0), Transition::none);
  const Permit next = admitted(breaker, half_open + seconds(6));
  EXPECT_EQ(breaker.on_success(next, seconds(6), half_open + seconds(12) - microseconds(1), 0),
            Transition::closed);
}

TEST(CircuitBreaker, TrapC2_ACancelledProbeReturnsItsLeaseWithoutAVerdict) {  // Invariant (3)
  CircuitBreakerOptions options = hasty();
  options.probes = 1;
  CircuitBreaker breaker(options);
  const Instant now = trip(breaker, kStart);
  for (int i = 0; i < 5; ++i) {
    const Permit probe = admitted(breaker, now);
    EXPECT_FALSE(breaker.try_admit(now, 0).admitted);
    breaker.on_cancel(probe, now);
    EXPECT_EQ(breaker.state(now), BreakerState::half_open);
    EXPECT_EQ(breaker.on_success(probe, Duration(1), now, 0), Transition::none);  // Spent.
  }
  EXPECT_EQ(succeed(breaker, now), Transition::closed);
}

TEST(CircuitBreaker, ACancelledCallCountsForNothingWhileClosed) {
  CircuitBreakerOptions options = rates();
  CircuitBreaker breaker(options);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  for (int i = 0; i < 9; ++i) breaker.on_cancel(admitted(breaker, kStart), kStart);
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);  // 4 of 4
}

TEST(CircuitBreaker, OneFailedProbeOpensItAgainForTwiceAsLong) {
  CircuitBreaker breaker(hasty());
  const Instant now = trip(breaker, kStart);
  EXPECT_EQ(succeed(breaker, now), Transition::none);
  EXPECT_EQ(fail(breaker, now), Transition::opened);
  EXPECT_EQ(breaker.open_for(now), seconds(1));
}

TEST(CircuitBreaker, ASlowProbeIsAFailedOne) {
  CircuitBreakerOptions options = hasty();
  options.slow_call_duration = seconds(1);
  CircuitBreaker breaker(options);
  const Instant now = trip(breaker, kStart);
  EXPECT_EQ(succeed(breaker, now, seconds(1) + Duration(1)), Transition::opened);
}

TEST(CircuitBreaker, TrapC5_ResultsFromBeforeTheTripAreIgnored) {  // Invariant (4)
  CircuitBreaker breaker(hasty());
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

TEST(CircuitBreaker, AProbeOfAnEarlierHalfOpenTimeKeepsItsPlaceButHasNoVerdict) {
  CircuitBreakerOptions options = hasty();  // Invariants (1) and (4)
  options.probes = 2;                       // Staggered by 3 s.
  CircuitBreaker breaker(options);
  const Instant first = trip(breaker, kStart);
  const Permit hung = admitted(breaker, first);
  EXPECT_EQ(fail(breaker, first + seconds(3)), Transition::opened);  // Open for 1 s.
  const Instant second = first + seconds(4);
  const Permit turned = breaker.try_admit(second, 0);
  EXPECT_TRUE(turned.half_opened);
  EXPECT_FALSE(turned.admitted);  // The one place there is at first is the hung probe's.
  EXPECT_EQ(breaker.on_failure(hung, seconds(4), second, 0), Transition::none);
  EXPECT_EQ(breaker.state(second), BreakerState::half_open);
  EXPECT_TRUE(breaker.try_admit(second, 0).admitted);  // Its place came back.
  EXPECT_FALSE(breaker.try_admit(second, 0).admitted);
}

TEST(CircuitBreaker, TheWindowStartsEmptyAfterClosing) {  // Invariant (4)
  CircuitBreaker breaker(rates());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  const Instant now = trip_and_close(breaker, kStart);
  EXPECT_LT(now, kStart + seconds(1));  // The same slot of the window.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, now), Transition::none);
  EXPECT_EQ(fail(breaker, now), Transition::opened);
}

TEST(CircuitBreaker, TrapC6_AfterClosingTrafficGrowsLinearlyFromATenth) {
  CircuitBreaker breaker(hasty());
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

TEST(CircuitBreaker, WithoutARampAllTrafficComesBackAtOnce) {
  CircuitBreakerOptions options = hasty();
  options.ramp = Duration(0);
  CircuitBreaker breaker(options);
  const Instant closed = trip_and_close(breaker, kStart);
  EXPECT_TRUE(breaker.calm(closed));
  EXPECT_TRUE(breaker.try_admit(closed, kLargestDraw).admitted);
  EXPECT_EQ(fail(breaker, closed), Transition::opened);
  EXPECT_EQ(breaker.open_for(closed), milliseconds(500));
}

TEST(CircuitBreaker, ATripDuringTheRampIsInARowAndOneAfterItIsNot) {
  CircuitBreaker breaker(hasty());
  Instant closed = trip_and_close(breaker, kStart);
  Instant now = closed + seconds(10) - Duration(1);
  EXPECT_EQ(fail(breaker, now), Transition::opened);
  EXPECT_EQ(breaker.open_for(now), seconds(1));  // The second in a row.

  CircuitBreaker other(hasty());
  closed = trip_and_close(other, kStart);
  now = closed + seconds(10);
  EXPECT_EQ(fail(other, now), Transition::opened);
  EXPECT_EQ(other.open_for(now), milliseconds(500));  // The first again.

  CircuitBreaker quiet(hasty());  // Nobody asked after the ramp, but an old call fails.
  closed = trip_and_close(quiet, kStart);
  const Permit during = admitted(quiet, closed);
  EXPECT_EQ(quiet.on_failure(during, Duration(1), closed + seconds(10), 0), Transition::opened);
  EXPECT_EQ(quiet.open_for(closed + seconds(10)), milliseconds(500));
}

TEST(CircuitBreaker, ARefusedPermitIsHarmless) {
  CircuitBreaker breaker(hasty());
  EXPECT_EQ(breaker.on_failure(Permit{}, Duration(1), kStart, 0), Transition::none);
  EXPECT_EQ(breaker.on_success(Permit{}, Duration(1), kStart, 0), Transition::none);
  breaker.on_cancel(Permit{}, kStart);
  EXPECT_EQ(breaker.state(kStart), BreakerState::closed);
}

TEST(CircuitBreaker, AReloadKeepsTheOpenTimeTheTripsAndTheLeases) {  // Invariant (7)
  CircuitBreaker breaker(hasty());
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

TEST(CircuitBreaker, AReloadKeepsTheCountsAndTheStreak) {  // Invariant (7)
  for (const Duration window : {seconds(10), seconds(1), seconds(3600)}) {
    // Slot 112 of 1 s and slot 0 of 360 s lie in the same word of the ring.
    const Instant now = at(seconds(112));
    CircuitBreaker breaker(rates());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, now), Transition::none);
    CircuitBreakerOptions options = rates();
    options.window = window;
    for (int i = 0; i < 2; ++i) breaker.reload(options, now);  // The second changes nothing.
    EXPECT_EQ(fail(breaker, now), Transition::opened) << window.count();  // 4 of 4
  }
  CircuitBreakerOptions options = hasty();
  options.consecutive_failures = 10'000;
  options.minimum_volume = 1000;
  CircuitBreaker breaker(options);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  options.consecutive_failures = 4;
  breaker.reload(options, kStart);
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);
}

TEST(CircuitBreaker, AShorterWindowAfterAReloadForgetsWhatIsOlder) {
  CircuitBreaker breaker(rates());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fail(breaker, kStart), Transition::none);
  CircuitBreakerOptions options = rates();
  options.window = seconds(2);
  breaker.reload(options, kStart + seconds(5));
  EXPECT_EQ(fail(breaker, kStart + seconds(5)), Transition::none);  // Alone.
  EXPECT_EQ(fail(breaker, kStart + seconds(6)), Transition::none);
  EXPECT_EQ(fail(breaker, kStart + seconds(7)), Transition::none);  // 2 s later: 2 are left.
}

TEST(CircuitBreaker, TimeAtItsEndsAndBackwardsIsHarmless) {
  for (const Instant strange : {Instant::min(), at(Duration(-1)), at(Duration(0)), kNever}) {
    CircuitBreaker breaker(hasty());
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

// A walk over all that can happen, in one thread, against the numbered invariants.
TEST(CircuitBreaker, KeepsItsInvariantsOverManySeeds) {  // Invariants (1) to (6)
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    CircuitBreakerOptions options = hasty();
    options.probes = 1 + static_cast<std::int32_t>(random.bits() % 4);
    options.consecutive_failures = 2;
    CircuitBreaker breaker(options);
    struct Out {
      Permit permit;
      Instant since;
    };
    std::vector<Out> out;
    Instant now = kStart;
    BreakerState state = BreakerState::closed;  // As the reported transitions have it.
    std::uint32_t generation = 0;
    for (int step = 0; step < 600; ++step) {
      now += microseconds(random.bits() % 1'500'000);
      if (random.bits() % 2 == 0) {
        const Permit permit = breaker.try_admit(now, random.draw());
        if (permit.half_opened) {
          ASSERT_EQ(state, BreakerState::open) << "seed " << seed;
          state = BreakerState::half_open;
        }
        if (permit.admitted) {
          ASSERT_NE(state, BreakerState::open) << "seed " << seed;
          ASSERT_EQ(permit.probe != 0, state == BreakerState::half_open) << "seed " << seed;
          out.push_back({permit, now});
          generation = permit.generation;
        }
      } else if (!out.empty()) {
        const std::size_t i = random.bits() % out.size();
        const Out ended = out[i];
        out[i] = out.back();
        out.pop_back();
        const std::uint64_t how = random.bits() % 8;
        Transition transition = Transition::none;
        if (how == 0) {
          breaker.on_cancel(ended.permit, now);
        } else if (how < 3) {
          transition = breaker.on_failure(ended.permit, Duration(1), now, random.draw());
        } else {
          transition = breaker.on_success(ended.permit, Duration(1), now, random.draw());
        }
        if (transition != Transition::none) {
          ASSERT_EQ(ended.permit.generation, generation) << "seed " << seed;
          ASSERT_NE(state, BreakerState::open) << "seed " << seed;
          ASSERT_TRUE(ended.permit.probe == 0 || now - ended.since < options.probe_lease);
          state = transition == Transition::opened ? BreakerState::open : BreakerState::closed;
        }
      }
      std::int32_t leases = 0;
      for (const Out& o : out) {
        leases += o.permit.probe != 0 && now - o.since < options.probe_lease ? 1 : 0;
      }
      ASSERT_LE(leases, options.probes) << "seed " << seed << " step " << step;
    }
  }
}

TEST(CircuitBreaker, EachTripIsReportedOnceUnderContention) {  // Invariants (1) and (6)
  CircuitBreakerOptions options = hasty();
  options.open_base = options.open_cap = milliseconds(1);
  options.probes = 2;
  options.ramp = Duration(0);
  CircuitBreaker breaker(options);
  std::atomic<std::int64_t> time{kStart.time_since_epoch().count()};
  std::atomic<int> opened{0}, half_opened{0}, closed{0}, probes_out{0}, most_out{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Random random(t);
        for (int i = 0; i < 20'000; ++i) {
          const Instant now = at(Duration(time.fetch_add(5'000)));
          const Permit permit = breaker.try_admit(now, random.draw());
          half_opened += permit.half_opened ? 1 : 0;
          if (!permit.admitted) continue;
          if (permit.probe != 0) {
            const int out = ++probes_out;
            if (out > most_out) most_out = out;
            --probes_out;  // Before the lease goes back, so as never to count one too many.
          }
          Transition transition = Transition::none;
          switch (random.bits() % 4) {
            case 0:
              transition = breaker.on_failure(permit, Duration(1), now, random.draw());
              break;
            case 1:
              breaker.on_cancel(permit, now);
              break;
            default:
              transition = breaker.on_success(permit, Duration(1), now, random.draw());
          }
          opened += transition == Transition::opened ? 1 : 0;
          closed += transition == Transition::closed ? 1 : 0;
        }
      });
    }
  }
  EXPECT_LE(most_out, 2);
  EXPECT_GT(closed, 10);
  // Every half-open time but the last ends in one report, and begins with one.
  EXPECT_GE(opened, half_opened);
  EXPECT_LE(opened - half_opened, 1);
  EXPECT_LE(closed, half_opened);
}

TEST(CircuitBreaker, OneOfManyFailuresAtOnceReportsTheTripAndOneOfManyCallsTheHalfOpening) {
  for (int round = 0; round < 50; ++round) {  // Invariant (6)
    CircuitBreaker breaker(hasty());
    std::vector<Permit> permits;
    for (int t = 0; t < 4; ++t) permits.push_back(admitted(breaker, kStart));
    std::atomic<int> ready{0}, opened{0}, half_opened{0}, probes{0};
    {
      std::vector<std::jthread> threads;
      for (const Permit permit : permits) {
        threads.emplace_back([&, permit] {
          ++ready;
          while (ready < 4) {
          }
          const Transition seen = breaker.on_failure(permit, Duration(1), kStart, 0);
          opened += seen == Transition::opened ? 1 : 0;
          ++ready;
          while (ready < 8) {
          }
          const Permit probe = breaker.try_admit(kStart + milliseconds(500), 0);
          half_opened += probe.half_opened ? 1 : 0;
          probes += probe.admitted ? 1 : 0;
        });
      }
    }
    ASSERT_EQ(opened, 1);
    ASSERT_EQ(half_opened, 1);
    ASSERT_EQ(probes, 1);
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
            "failure_rate must be over 0 and at most 100 %.");
  EXPECT_EQ(error([](O& o) { o.failure_rate = Percent(101); }),
            "failure_rate must be over 0 and at most 100 %.");
  EXPECT_EQ(error([](O& o) { o.slow_call_rate = Percent(101); }),
            "slow_call_rate must be over 0 and at most 100 %.");
  EXPECT_EQ(error([](O& o) { o.slow_call_duration = Duration(-1); }),
            "slow_call_duration must be 0 (off) to 30 days.");
  EXPECT_EQ(error([](O& o) { o.consecutive_failures = 10'001; }),
            "consecutive_failures must be 0 (off) to 10,000.");
  EXPECT_EQ(error([](O& o) { o.window = milliseconds(999); }), "window must be 1 s to 1 h.");
  EXPECT_EQ(error([](O& o) { o.minimum_volume = 0; }), "minimum_volume must be 1 to 1,000,000.");
  EXPECT_EQ(error([](O& o) { o.open_base = microseconds(999); }),
            "open_base must be 1 ms to 30 days.");
  EXPECT_EQ(error([](O& o) { o.open_cap = milliseconds(999); }),
            "open_cap must be open_base to 30 days.");
  EXPECT_EQ(error([](O& o) { o.probes = 17; }), "probes must be 1 to 16.");
  EXPECT_EQ(error([](O& o) { o.probe_lease = Duration(0); }), "probe_lease must be 1 ms to 1 h.");
  EXPECT_EQ(error([](O& o) { o.ramp = hours(2); }), "ramp must be 0 (off) to 1 h.");
  EXPECT_DEATH(
      {
        CircuitBreakerOptions options;
        options.probes = 0;
        CircuitBreaker breaker(options);
      },
      "check failed");
}

}  // namespace
}  // namespace damper::admit
