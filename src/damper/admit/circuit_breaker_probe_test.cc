#include "damper/admit/circuit_breaker.h"

#include <gtest/gtest.h>

#include "damper/admit/circuit_breaker_testing.h"

namespace damper::admit {
namespace {

// Half-open: probes and their leases.

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;
using Permit = BreakerPermit;

TYPED_TEST(AnyCircuitBreaker,
           TheFirstCallAfterTheOpenTimeTurnsItHalfOpenAndSaysSo) {  // Invariant (6)
  TypeParam breaker(hasty());
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

TYPED_TEST(AnyCircuitBreaker, TrapC3_HalfOpenAdmitsOneProbeThenOneMoreForEachStepOfTheStagger) {
  TypeParam breaker(hasty());  // Invariant (1): 3 places, one every 6 s / 3.
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

TYPED_TEST(AnyCircuitBreaker, EachSuccessOpensOneMorePlaceAndTheLastOneCloses) {
  TypeParam breaker(hasty());
  const Instant now = trip(breaker, kStart);
  EXPECT_EQ(succeed(breaker, now), Transition::none);
  const Permit second = admitted(breaker, now);
  const Permit third = admitted(breaker, now);
  EXPECT_FALSE(breaker.try_admit(now, 0).admitted);
  EXPECT_EQ(breaker.on_success(second, Duration(1), now, 0), Transition::none);
  EXPECT_EQ(breaker.on_success(third, Duration(1), now, 0), Transition::closed);
  EXPECT_EQ(breaker.state(now), BreakerState::closed);
}

TYPED_TEST(AnyCircuitBreaker, TrapC1_AProbeThatNeverReportsIsAFailedOneAtTheEndOfItsLease) {
  TypeParam breaker(hasty(1));  // Invariant (2)
  Instant half_open = trip(breaker, kStart);
  for (const std::int64_t open : {1, 2, 2, 2}) {  // Seconds: half of 2, 4, 4, 4.
    const Permit hung = admitted(breaker, half_open);
    EXPECT_FALSE(breaker.try_admit(half_open + seconds(6) - microseconds(1), 0).moved());
    const Instant end = half_open + seconds(6);
    const Permit finder = breaker.try_admit(end, 0);
    EXPECT_TRUE(finder.opened && !finder.admitted && !finder.half_opened);  // Invariant (6)
    EXPECT_EQ(breaker.open_for(end), seconds(open));
    EXPECT_FALSE(breaker.try_admit(end, 0).opened);
    EXPECT_EQ(breaker.on_failure(hung, seconds(6), end, 0), Transition::none);  // It was known.
    half_open = end + seconds(open);
  }
}

TYPED_TEST(AnyCircuitBreaker, TrapC7_AResultAfterTheEndOfTheLeaseCounts) {
  const CircuitBreakerOptions options = hasty(1);
  for (const Duration late : {Duration(0), Duration(seconds(1)), Duration(hours(1))}) {
    TypeParam succeeds(options);
    Instant now = trip(succeeds, kStart);
    Permit probe = admitted(succeeds, now);
    EXPECT_EQ(succeeds.on_success(probe, seconds(6) + late, now + seconds(6) + late, 0),
              Transition::closed);
    TypeParam fails(options);
    now = trip(fails, kStart);
    probe = admitted(fails, now);
    EXPECT_EQ(fails.on_failure(probe, seconds(6) + late, now + seconds(6) + late, 0),
              Transition::opened);
    EXPECT_EQ(fails.open_for(now + seconds(6) + late), seconds(1));
  }
}

TYPED_TEST(AnyCircuitBreaker, ALateSuccessRevokesTheEndOfItsOwnLease) {  // Invariant (4)
  TypeParam breaker(hasty(2));                                           // Staggered by 3 s.
  const Instant half_open = trip(breaker, kStart);
  const Permit first = admitted(breaker, half_open);
  const Permit second = admitted(breaker, half_open + seconds(3));
  const Instant end = half_open + seconds(6);
  EXPECT_TRUE(breaker.try_admit(end, 0).opened);
  const Instant late = end + std::chrono::milliseconds(100);
  EXPECT_EQ(breaker.on_success(second, seconds(3), late, 0), Transition::none);  // Not its own.
  EXPECT_EQ(breaker.state(late), BreakerState::open);
  EXPECT_EQ(breaker.on_success(first, seconds(6), late, 0), Transition::half_opened);
  EXPECT_EQ(breaker.state(late), BreakerState::half_open);
  EXPECT_EQ(breaker.on_success(first, seconds(6), late, 0), Transition::none);  // Once.
  EXPECT_EQ(succeed(breaker, late), Transition::closed);  // The second of two.

  TypeParam again(hasty(2));  // The trip is revoked, too.
  (void)trip(again, kStart);
  const Permit slow = admitted(again, half_open);
  EXPECT_TRUE(again.try_admit(end, 0).opened);
  EXPECT_EQ(again.on_success(slow, seconds(6), late, 0), Transition::half_opened);
  EXPECT_EQ(fail(again, late), Transition::opened);
  EXPECT_EQ(again.open_for(late), seconds(1));  // The second in a row, not the third.
}

TYPED_TEST(AnyCircuitBreaker, ALateSuccessOfTheOnlyProbeCloses) {
  TypeParam breaker(hasty(1));
  const Instant half_open = trip(breaker, kStart);
  const Permit hung = admitted(breaker, half_open);
  const Instant end = half_open + seconds(6);
  const Permit refused = breaker.try_admit(end, 0);
  EXPECT_TRUE(refused.opened);
  EXPECT_TRUE(refused.moved());
  EXPECT_EQ(breaker.on_success(hung, seconds(6), end, 0), Transition::closed);
  EXPECT_EQ(breaker.state(end), BreakerState::closed);
}

TYPED_TEST(AnyCircuitBreaker, ALateFailureOrCancellationRevokesNothing) {
  TypeParam breaker(hasty(1));
  const Instant half_open = trip(breaker, kStart);
  const Permit hung = admitted(breaker, half_open);
  const Instant end = half_open + seconds(6);
  EXPECT_TRUE(breaker.try_admit(end, 0).opened);
  breaker.on_cancel(hung, end);
  EXPECT_EQ(breaker.on_success(hung, seconds(6), end, 0), Transition::none);  // Spent.
  EXPECT_EQ(breaker.open_for(end), seconds(1));
}

TYPED_TEST(AnyCircuitBreaker, ALateSuccessAfterTheNextHalfOpenTimeHasBegunHasNoVerdict) {
  TypeParam breaker(hasty(1));  // Invariant (4)
  const Instant half_open = trip(breaker, kStart);
  const Permit hung = admitted(breaker, half_open);
  EXPECT_TRUE(breaker.try_admit(half_open + seconds(6), 0).opened);
  const Instant later = half_open + seconds(7);
  const Permit next = admitted(breaker, later);
  EXPECT_EQ(next.probe, hung.probe);  // The same place, another lease.
  EXPECT_EQ(breaker.on_success(hung, seconds(7), later, 0), Transition::none);
  breaker.on_cancel(hung, later);
  EXPECT_FALSE(breaker.try_admit(later, 0).admitted);  // The next one has the place.
  EXPECT_EQ(breaker.on_success(next, Duration(1), later, 0), Transition::closed);
}

TYPED_TEST(AnyCircuitBreaker, AfterARevokedEndTheOtherProbesOfTheTimeBeforeHaveNoVerdict) {
  TypeParam breaker(hasty(2));
  const Instant half_open = trip(breaker, kStart);
  const Permit first = admitted(breaker, half_open);
  const Permit second = admitted(breaker, half_open + seconds(3));
  const Instant end = half_open + seconds(6);
  EXPECT_TRUE(breaker.try_admit(end, 0).opened);
  EXPECT_EQ(breaker.on_success(first, seconds(6), end, 0), Transition::half_opened);
  EXPECT_EQ(breaker.on_success(second, seconds(3), end, 0), Transition::none);
  EXPECT_EQ(breaker.state(end), BreakerState::half_open);
}

TYPED_TEST(AnyCircuitBreaker, AProbeThatOutlivesItsHalfOpenTimeHasNoVerdictInTheNextOpenTime) {
  const CircuitBreakerOptions options = hasty(2);  // Invariant (4)
  for (const bool by_hand : {false, true}) {
    TypeParam breaker(options);
    const Instant half_open = trip(breaker, kStart);
    const Permit hung = admitted(breaker, half_open);
    const Instant now = half_open + seconds(3);
    if (by_hand) {
      EXPECT_EQ(breaker.close(now), Transition::closed);
    } else {
      EXPECT_EQ(succeed(breaker, now), Transition::none);
      EXPECT_EQ(succeed(breaker, now), Transition::closed);
    }
    EXPECT_EQ(fail(breaker, now), Transition::opened);
    EXPECT_EQ(breaker.on_failure(hung, seconds(3), now, 0), Transition::none);
  }
}

TYPED_TEST(AnyCircuitBreaker, AQuietClientFindsTheEndOfALeaseAndTheRestOfTheOpenTime) {
  TypeParam breaker(hasty(1));
  const Instant half_open = trip(breaker, kStart);
  (void)admitted(breaker, half_open);
  // Open from the end of the lease, 6 s, for 1 s.
  const Instant now = half_open + std::chrono::milliseconds(6500);
  const Permit finder = breaker.try_admit(now, 0);
  EXPECT_TRUE(finder.opened && !finder.admitted && !finder.half_opened);
  EXPECT_EQ(breaker.open_for(now), std::chrono::milliseconds(500));
}

TYPED_TEST(AnyCircuitBreaker, AQuietClientFindsTheEndOfALeaseAndTheOpenTimeOverAtOnce) {
  TypeParam breaker(hasty(1));
  const Instant half_open = trip(breaker, kStart);
  (void)admitted(breaker, half_open);
  // Open from the end of the lease, 6 s, for 1 s.
  const Permit next = breaker.try_admit(half_open + seconds(7), 0);
  EXPECT_TRUE(next.opened && next.half_opened && next.admitted);
  EXPECT_EQ(breaker.on_failure(next, Duration(1), half_open + seconds(7), 0), Transition::opened);
  EXPECT_EQ(breaker.open_for(half_open + seconds(7)), seconds(2));  // The third in a row.
}

TYPED_TEST(AnyCircuitBreaker, ABreakerThatIsUsedAloneHasALongLease) {
  CircuitBreakerOptions options;  // No timeout is known, so none is assumed to be short.
  EXPECT_EQ(options.lease(), seconds(30));
  options.consecutive_failures = 1;
  TypeParam breaker(options);
  Instant now = trip(breaker, kStart);
  for (int i = 0; i < 3; ++i) {  // Every answer takes 6 s, and calls come in between.
    const Permit probe = admitted(breaker, now);
    for (int second = 1; second < 6; ++second) {
      EXPECT_FALSE(breaker.try_admit(now + seconds(second), 0).moved());
    }
    now += seconds(6);
    EXPECT_EQ(breaker.on_success(probe, seconds(6), now, 0),
              i == 2 ? Transition::closed : Transition::none);
  }
}

TYPED_TEST(AnyCircuitBreaker,
           TrapC2_ACancelledProbeReturnsItsLeaseWithoutAVerdict) {  // Invariant (3)
  TypeParam breaker(hasty(1));
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

TYPED_TEST(AnyCircuitBreaker, OneFailedProbeOpensItAgainForTwiceAsLong) {
  TypeParam breaker(hasty());
  const Instant now = trip(breaker, kStart);
  EXPECT_EQ(succeed(breaker, now), Transition::none);
  EXPECT_EQ(fail(breaker, now), Transition::opened);
  EXPECT_EQ(breaker.open_for(now), seconds(1));
}

TYPED_TEST(AnyCircuitBreaker, ASlowProbeIsAFailedOne) {
  CircuitBreakerOptions options = hasty();
  options.slow_call_duration = seconds(1);
  TypeParam breaker(options);
  const Instant now = trip(breaker, kStart);
  EXPECT_EQ(succeed(breaker, now, seconds(1) + Duration(1)), Transition::opened);
}

TYPED_TEST(AnyCircuitBreaker, AProbeOfAnEarlierHalfOpenTimeKeepsItsPlaceButHasNoVerdict) {
  TypeParam breaker(hasty(2));  // Invariants (1) and (4). Staggered by 3 s.
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

// save() and restore(): the open time survives a restart of the process.

// The instant at which it is half-open for the third time.
Instant fail_a_probe(auto& breaker, Instant now) {
  EXPECT_EQ(fail(breaker, now), Transition::opened);
  return now + breaker.open_for(now);
}

TYPED_TEST(AnyCircuitBreaker, ARestoredOneContinuesTheOpenTimeAndItsTrips) {
  for (const int trips : {1, 2}) {
    TypeParam before(hasty());
    Instant now = kStart;
    Instant half_open = trip(before, now);
    if (trips == 2) {
      now = half_open;
      half_open = fail_a_probe(before, now);
    }
    const auto saved = before.save();
    EXPECT_EQ(saved.trips, trips);
    EXPECT_EQ(saved.open_until, half_open);

    TypeParam after(hasty());
    after.restore(saved);
    EXPECT_EQ(after.state(now), BreakerState::open);
    EXPECT_EQ(after.open_for(now), half_open - now);
    EXPECT_FALSE(after.try_admit(half_open - Duration(1), 0).admitted);
    // The next open time is twice as long, as it is without the restart.
    EXPECT_EQ(fail_a_probe(after, half_open), fail_a_probe(before, half_open));
    EXPECT_EQ(after.open_for(half_open), trips * seconds(1));
  }
}

TYPED_TEST(AnyCircuitBreaker, ARestoredOneClosesAfterItsProbes) {
  TypeParam breaker(hasty());
  breaker.restore({.trips = 1, .open_until = kStart});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(succeed(breaker, kStart), Transition::none);
  EXPECT_EQ(succeed(breaker, kStart), Transition::closed);
}

TYPED_TEST(AnyCircuitBreaker, AResultFromBeforeARestoreDoesNotCount) {
  TypeParam breaker(hasty());
  const BreakerPermit before = admitted(breaker, kStart);
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);
  breaker.restore({.trips = 1, .open_until = kStart + seconds(10)});
  EXPECT_EQ(breaker.on_failure(before, Duration(1), kStart, 0), Transition::none);
  EXPECT_EQ(breaker.open_for(kStart), seconds(10));
}

TYPED_TEST(AnyCircuitBreaker, WithoutTripsARestoreHasNoEffect) {
  TypeParam breaker(hasty());
  breaker.restore({.trips = 0, .open_until = kStart + seconds(1)});
  EXPECT_EQ(breaker.state(kStart), BreakerState::closed);
  EXPECT_EQ(trip(breaker, kStart), kStart + std::chrono::milliseconds(500));
}

TYPED_TEST(AnyCircuitBreaker, MoreTripsThanThereCanBeAreRestoredAsTheMost) {
  TypeParam breaker(hasty());
  breaker.restore({.trips = 255, .open_until = kStart});
  EXPECT_EQ(fail_a_probe(breaker, kStart), kStart + seconds(2));  // Half of the cap.
}

TYPED_TEST(AnyCircuitBreaker, OnlyAnOpenOneSavesAnOpenTime) {
  TypeParam breaker(hasty());
  EXPECT_EQ(breaker.save().trips, 0);
  EXPECT_EQ(breaker.save().open_until, Instant::min());
  const Instant half_open = trip(breaker, kStart);
  const BreakerPermit probe = admitted(breaker, half_open);
  EXPECT_EQ(breaker.save().trips, 1);
  EXPECT_EQ(breaker.save().open_until, Instant::min());
  breaker.on_cancel(probe, half_open);
}

}  // namespace
}  // namespace damper::admit
