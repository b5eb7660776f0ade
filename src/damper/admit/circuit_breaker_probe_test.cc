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

TYPED_TEST(AnyCircuitBreaker, TrapC1_AHungProbeGivesItsPlaceBackAndItsLateResultIsIgnored) {
  CircuitBreakerOptions options = hasty();  // Invariant (2)
  options.probes = 1;
  TypeParam breaker(options);
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

TYPED_TEST(AnyCircuitBreaker, AResultAtTheEndOfTheLeaseIsTooLateEvenWhenNobodyTookThePlace) {
  CircuitBreakerOptions options = hasty();  // Invariant (2)
  options.probes = 1;
  TypeParam breaker(options);
  const Instant half_open = trip(breaker, kStart);
  const Permit late = admitted(breaker, half_open);
  EXPECT_EQ(breaker.on_success(late, seconds(6), half_open + seconds(6), 0), Transition::none);
  const Permit next = admitted(breaker, half_open + seconds(6));
  EXPECT_EQ(breaker.on_success(next, seconds(6), half_open + seconds(12) - microseconds(1), 0),
            Transition::closed);
}

TYPED_TEST(AnyCircuitBreaker,
           TrapC2_ACancelledProbeReturnsItsLeaseWithoutAVerdict) {  // Invariant (3)
  CircuitBreakerOptions options = hasty();
  options.probes = 1;
  TypeParam breaker(options);
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
  CircuitBreakerOptions options = hasty();  // Invariants (1) and (4)
  options.probes = 2;                       // Staggered by 3 s.
  TypeParam breaker(options);
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

}  // namespace
}  // namespace damper::admit
