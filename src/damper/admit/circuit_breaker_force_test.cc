#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "damper/admit/circuit_breaker.h"
#include "damper/admit/circuit_breaker_testing.h"
#include "damper/base/random.h"

namespace damper::admit {
namespace {

// A state held by hand.

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

BreakerForceSetting open_for_10s(std::string_view reason = "INC-42") {
  return {.force = BreakerForce::open, .length = seconds(10), .reason = reason};
}
BreakerForceSetting closed_for_10s() {
  return {.force = BreakerForce::closed, .length = seconds(10), .reason = "false alarm"};
}
constexpr Instant kExpiry = kStart + seconds(10);

TYPED_TEST(AnyCircuitBreaker, AForcedOpenOneRefusesEveryCallUntilItsExpiryAndThenProbes) {
  TypeParam breaker(hasty());
  EXPECT_EQ(breaker.force(open_for_10s(), kStart), Transition::opened);
  EXPECT_EQ(breaker.state(kStart), BreakerState::open);
  EXPECT_TRUE(breaker.forced_open(kExpiry - Duration(1)));
  EXPECT_FALSE(breaker.calm(kStart));
  EXPECT_EQ(breaker.open_for(kStart), seconds(10));
  EXPECT_FALSE(breaker.try_admit(kStart, 0).admitted);
  EXPECT_FALSE(breaker.try_admit(kExpiry - Duration(1), 0).admitted);

  EXPECT_EQ(breaker.state(kExpiry), BreakerState::half_open);
  EXPECT_FALSE(breaker.forced_open(kExpiry));
  const BreakerPermit permit = breaker.try_admit(kExpiry, 0);
  EXPECT_TRUE(permit.admitted);
  EXPECT_TRUE(permit.half_opened);
  EXPECT_EQ(permit.probe, 1);
  EXPECT_EQ(breaker.on_success(permit, Duration(1), kExpiry, 0), Transition::none);
  EXPECT_EQ(succeed(breaker, kExpiry), Transition::none);
  EXPECT_EQ(succeed(breaker, kExpiry), Transition::closed);
}

TYPED_TEST(AnyCircuitBreaker, OnlyAStateHeldByHandIsForcedOpen) {
  TypeParam breaker(hasty());
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);
  EXPECT_FALSE(breaker.forced_open(kStart));
  EXPECT_EQ(breaker.force(open_for_10s(), kStart), Transition::none);  // It was open.
  EXPECT_TRUE(breaker.forced_open(kStart));
}

TYPED_TEST(AnyCircuitBreaker, NoResultTripOrCloseEndsAForcedOpenState) {  // Invariant (8)
  TypeParam breaker(hasty());
  const BreakerPermit before = admitted(breaker, kStart);
  EXPECT_EQ(breaker.force(open_for_10s(), kStart), Transition::opened);
  EXPECT_EQ(breaker.on_success(before, Duration(1), kStart, 0), Transition::none);
  EXPECT_EQ(breaker.on_failure(before, Duration(1), kStart, 0), Transition::none);
  EXPECT_EQ(breaker.close(kStart), Transition::none);
  EXPECT_EQ(breaker.trip(kStart, 0), Transition::none);
  breaker.reload(hasty(), kStart);
  EXPECT_EQ(breaker.open_for(kStart), seconds(10));
  EXPECT_EQ(breaker.close(kExpiry), Transition::closed);  // By then it is half-open.
}

TYPED_TEST(AnyCircuitBreaker, TheSuccessOfALateProbeDoesNotRevokeAForcedOpenState) {
  TypeParam breaker(hasty());
  const Instant half_open = trip(breaker, kStart);
  const BreakerPermit probe = admitted(breaker, half_open);
  EXPECT_EQ(probe.probe, 1);
  EXPECT_EQ(breaker.force(open_for_10s(), half_open), Transition::opened);
  EXPECT_EQ(breaker.on_success(probe, Duration(1), half_open, 0), Transition::none);
  EXPECT_TRUE(breaker.forced_open(half_open));
}

TYPED_TEST(AnyCircuitBreaker, AForcedClosedOneAdmitsAllAndCountsUntilItsExpiry) {
  CircuitBreakerOptions options = hasty();
  options.consecutive_failures = 3;
  TypeParam breaker(options);
  EXPECT_EQ(breaker.force(closed_for_10s(), kStart), Transition::none);
  EXPECT_EQ(breaker.state(kStart), BreakerState::closed);
  EXPECT_TRUE(breaker.calm(kStart));
  const Instant late = kExpiry - Duration(1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(fail(breaker, late), Transition::none);
  EXPECT_EQ(breaker.trip(late, 0), Transition::none);
  EXPECT_EQ(breaker.state(late), BreakerState::closed);
  // At the expiry the next failure is the sixth in a row.
  EXPECT_EQ(fail(breaker, kExpiry), Transition::opened);
  EXPECT_EQ(breaker.state(kExpiry), BreakerState::open);
}

TYPED_TEST(AnyCircuitBreaker, AResultAtTheExpiryOfAForcedClosedStateTripsAsAnyOther) {
  TypeParam breaker(hasty());
  EXPECT_EQ(breaker.force(closed_for_10s(), kStart), Transition::none);
  const BreakerPermit permit = admitted(breaker, kStart);
  EXPECT_EQ(breaker.on_failure(permit, Duration(1), kExpiry, 0), Transition::opened);
}

TYPED_TEST(AnyCircuitBreaker, ForcingClosedEndsAnOpenTimeAtOnceWithoutARamp) {
  TypeParam breaker(hasty());
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);
  EXPECT_EQ(breaker.force(closed_for_10s(), kStart), Transition::closed);
  EXPECT_TRUE(breaker.try_admit(kStart, 0.999).admitted);
}

TYPED_TEST(AnyCircuitBreaker, AResetForgetsCountsTripsAndTheForcedState) {
  CircuitBreakerOptions options = hasty();
  options.consecutive_failures = 2;
  TypeParam breaker(options);
  EXPECT_EQ(breaker.force(open_for_10s(), kStart), Transition::opened);
  EXPECT_EQ(breaker.force({}, kStart), Transition::closed);
  EXPECT_EQ(breaker.forced(kStart), BreakerForceStatus{});
  EXPECT_TRUE(breaker.try_admit(kStart, 0.999).admitted);

  EXPECT_EQ(fail(breaker, kStart), Transition::none);  // 1 of 2
  EXPECT_EQ(breaker.force({}, kStart), Transition::none);
  EXPECT_EQ(fail(breaker, kStart), Transition::none);    // 1 of 2 again
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);  // For the first time: under 1 s.
  EXPECT_LT(breaker.open_for(kStart), seconds(1));
}

TYPED_TEST(AnyCircuitBreaker, AForcedStateAlwaysHasAnExpiry) {
  TypeParam breaker(hasty());
  (void)breaker.force({.force = BreakerForce::open, .reason = "x"}, kStart);
  EXPECT_EQ(breaker.open_for(kStart), minutes(10));
  (void)breaker.force({.force = BreakerForce::open, .length = kForever, .reason = "x"}, kStart);
  EXPECT_EQ(breaker.open_for(kStart), hours(24));
  (void)breaker.force({.force = BreakerForce::open, .length = -hours(1), .reason = "x"}, kStart);
  EXPECT_EQ(breaker.open_for(kStart), std::chrono::milliseconds(1));
}

TEST(CircuitBreakerForce, ShowsStateReasonAndRemainingTime) {
  CircuitBreaker breaker(hasty());
  EXPECT_EQ(breaker.forced(kStart), BreakerForceStatus{});
  (void)breaker.force(open_for_10s(), kStart);
  EXPECT_EQ(breaker.forced(kStart + seconds(4)),
            (BreakerForceStatus{BreakerForce::open, seconds(6), "INC-42"}));
  (void)breaker.force(closed_for_10s(), kStart);
  EXPECT_EQ(breaker.forced(kStart),
            (BreakerForceStatus{BreakerForce::closed, seconds(10), "false alarm"}));
  // A force without a reason does not show the reason of the one before.
  (void)breaker.force(open_for_10s(""), kStart);
  EXPECT_EQ(breaker.forced(kStart), (BreakerForceStatus{BreakerForce::open, seconds(10), ""}));
  EXPECT_EQ(breaker.forced(kExpiry), BreakerForceStatus{});
  (void)breaker.force(open_for_10s(std::string(500, 'x')), kStart);
  EXPECT_EQ(breaker.forced(kStart).reason, std::string(Reason::kLongest, 'x'));
}

// While threads trip, probe and close it, a forced open state admits no call, and each reason
// belongs to its state.
TYPED_TEST(AnyCircuitBreaker, AForceHoldsUnderContention) {  // Invariant (8)
  CircuitBreakerOptions options = hasty();
  options.open_base = options.open_cap = std::chrono::milliseconds(1);
  options.probes = 2;
  options.ramp = Duration(0);
  TypeParam breaker(options);
  std::atomic<std::int64_t> time{kStart.time_since_epoch().count()};
  std::atomic<bool> done{false};
  const auto stop = [&done](void*) { done = true; };
  std::vector<std::jthread> threads;
  const std::unique_ptr<void, decltype(stop)> at_end(&done, stop);  // Also if an assertion fails.
  for (std::uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Random random(t);
      while (!done) {
        const Instant now = at(Duration(time.fetch_add(5'000)));
        const BreakerPermit permit = breaker.try_admit(now, random.draw());
        if (!permit.admitted) continue;
        if (random.bits() % 2 == 0) {
          (void)breaker.on_failure(permit, Duration(1), now, random.draw());
        } else {
          (void)breaker.on_success(permit, Duration(1), now, random.draw());
        }
      }
    });
  }
  for (int round = 0; round < 300; ++round) {
    const Instant now = at(Duration(time));
    (void)breaker.force({.force = BreakerForce::open, .length = hours(1), .reason = "open"}, now);
    for (int i = 0; i < 50; ++i) {
      ASSERT_FALSE(breaker.try_admit(at(Duration(time)), 0).admitted);
      const BreakerForceStatus status = breaker.forced(now);
      ASSERT_EQ(status.force, BreakerForce::open);
      if constexpr (TypeParam::kMostProbes == CircuitBreaker::kMostProbes) {
        ASSERT_EQ(status.reason, "open");
      }
    }
    (void)breaker.force({}, now);
    std::this_thread::yield();
  }
}

TYPED_TEST(AnyCircuitBreaker, TrapC9_HeldClosedItShowsWhatItsCountsSay) {
  TypeParam breaker({.minimum_volume = 4});
  (void)breaker.force(closed_for_10s(), kStart);
  EXPECT_EQ(breaker.forced(kStart).own, BreakerState::closed);
  for (int i = 0; i < 2; ++i) (void)succeed(breaker, kStart);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(breaker.forced(kStart).own, BreakerState::closed) << i;
    EXPECT_EQ(fail(breaker, kStart), Transition::none);
  }
  EXPECT_EQ(breaker.forced(kStart).own, BreakerState::open);  // Two of four.
  EXPECT_EQ(breaker.forced(kStart).force, BreakerForce::closed);
  EXPECT_EQ(breaker.state(kStart), BreakerState::closed);
  (void)succeed(breaker, kStart);
  EXPECT_EQ(breaker.forced(kStart).own, BreakerState::closed);  // Two of five.
}

TYPED_TEST(AnyCircuitBreaker, TrapC9_HeldClosedTheFailuresInARowCountToo) {
  TypeParam breaker({.consecutive_failures = 3});
  (void)breaker.force(closed_for_10s(), kStart);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(breaker.forced(kStart).own, BreakerState::closed) << i;
    (void)fail(breaker, kStart);
  }
  EXPECT_EQ(breaker.forced(kStart).own, BreakerState::open);
}

TYPED_TEST(AnyCircuitBreaker, TrapC9_UntilItLearnsMoreItsOwnStateIsTheOneBefore) {
  TypeParam breaker({.consecutive_failures = 1, .minimum_volume = 4});
  EXPECT_EQ(fail(breaker, kStart), Transition::opened);
  (void)breaker.force(open_for_10s(), kStart);
  EXPECT_EQ(breaker.forced(kStart).own, BreakerState::open);
  (void)breaker.force(open_for_10s(), kStart + seconds(5));  // Prolonged: it has learned nothing.
  EXPECT_EQ(breaker.forced(kStart + seconds(14)).own, BreakerState::open);
  (void)breaker.force(closed_for_10s(), kStart + seconds(5));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(breaker.forced(kStart + seconds(5)).own, BreakerState::open) << i;
    (void)succeed(breaker, kStart + seconds(5));
  }
  EXPECT_EQ(breaker.forced(kStart + seconds(5)).own, BreakerState::closed);
  EXPECT_EQ(breaker.forced(kStart + seconds(15)), BreakerForceStatus{});

  TypeParam half_open(hasty());
  const Instant then = trip(half_open, kStart);
  (void)half_open.force(open_for_10s(), then);
  EXPECT_EQ(half_open.forced(then).own, BreakerState::half_open);
  (void)half_open.force({}, then);
  EXPECT_EQ(half_open.state(then), BreakerState::closed);
}

// The byte that keeps it is that of the successes of probes.
TYPED_TEST(AnyCircuitBreaker, TrapC9_ItsOwnStateIsForgottenWithTheForcedOne) {
  for (const BreakerForceSetting& setting : {open_for_10s(), closed_for_10s()}) {
    TypeParam breaker(hasty());
    const Instant then = trip(breaker, kStart);  // half_open is 2.
    (void)breaker.force(setting, then);
    const Instant expiry = then + seconds(10);
    Instant probing = expiry;
    if (setting.force == BreakerForce::closed) {
      (void)succeed(breaker, expiry);
      probing = trip(breaker, expiry);
    }
    EXPECT_EQ(succeed(breaker, probing), Transition::none);
    EXPECT_EQ(succeed(breaker, probing), Transition::none);
    EXPECT_EQ(succeed(breaker, probing), Transition::closed);
  }
}

// What a look changes: nothing.

// Every query, as a dashboard makes them.
void look_at(const auto& breaker, Instant now) {
  for (int i = 0; i < 3; ++i) {
    (void)breaker.state(now);
    (void)breaker.calm(now);
    (void)breaker.open_for(now);
    (void)breaker.forced(now);
    (void)breaker.forced_open(now);
    (void)breaker.save();
  }
}

// Twins with the same calls, one of which is looked at: they answer every call alike.
TYPED_TEST(AnyCircuitBreaker, TrapC8_AQueryNeverChangesTheState) {  // Invariant (9)
  TypeParam alone(hasty());
  TypeParam watched(hasty());
  Random random(1);
  std::vector<BreakerPermit> permits;
  Instant now = kStart;
  int moved = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += std::chrono::milliseconds(static_cast<std::int64_t>(random.draw() * 1000));
    look_at(watched, now);
    ASSERT_EQ(alone.state(now), watched.state(now)) << i;
    const double draw = random.draw();
    const BreakerPermit permit = alone.try_admit(now, draw);
    const BreakerPermit same = watched.try_admit(now, draw);
    ASSERT_EQ(permit.generation, same.generation) << i;
    ASSERT_EQ(permit.probe, same.probe) << i;
    ASSERT_EQ(permit.admitted, same.admitted) << i;
    ASSERT_EQ(permit.opened, same.opened) << i;
    ASSERT_EQ(permit.half_opened, same.half_opened) << i;
    moved += permit.moved() ? 1 : 0;
    if (permit.admitted) permits.push_back(permit);
    if (permits.empty() || random.draw() < 0.3) continue;  // Some never report: their lease ends.
    const BreakerPermit done = permits.back();
    permits.pop_back();
    look_at(watched, now);
    if (random.draw() < 0.1) {
      ASSERT_EQ(alone.on_failure(done, Duration(1), now, draw),
                watched.on_failure(done, Duration(1), now, draw));
    } else {
      ASSERT_EQ(alone.on_success(done, Duration(1), now, draw),
                watched.on_success(done, Duration(1), now, draw));
    }
  }
  EXPECT_GT(moved, 100);
}

// What Hystrix does not: at the end of the open time a look leaves the transition to the next call.
TYPED_TEST(AnyCircuitBreaker, TrapC8_TheCallNotTheLookTurnsItHalfOpen) {
  TypeParam breaker(hasty());
  const Instant half_open = trip(breaker, kStart);
  look_at(breaker, half_open);
  EXPECT_EQ(breaker.state(half_open), BreakerState::half_open);
  EXPECT_TRUE(breaker.try_admit(half_open, 0).half_opened);
  const Instant expired = half_open + std::chrono::seconds(6);
  look_at(breaker, expired);
  EXPECT_EQ(breaker.state(expired), BreakerState::half_open);
  EXPECT_TRUE(breaker.try_admit(expired, 0).opened);
}

}  // namespace
}  // namespace damper::admit
