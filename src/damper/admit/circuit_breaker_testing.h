#pragma once

#include <gtest/gtest.h>

#include "damper/admit/circuit_breaker.h"

namespace damper::admit {

// What the breaker's tests have in common.

template <class Breaker>
class AnyCircuitBreaker : public testing::Test {};
using Breakers = testing::Types<CircuitBreaker, SmallCircuitBreaker>;
TYPED_TEST_SUITE(AnyCircuitBreaker, Breakers);

[[nodiscard]] constexpr Instant at(Duration since_epoch) { return Instant{since_epoch}; }
inline constexpr Instant kStart = at(std::chrono::seconds(100));

// Trips at the first failure, opens for U[0.5 s, 1 s) doubled up to 4 s, probes 3 with leases of
// 6 s (staggered by 6 s / probes), ramps for 10 s.
[[nodiscard]] inline CircuitBreakerOptions hasty(std::int32_t probes = 3) {
  CircuitBreakerOptions options;
  options.probes = probes;
  options.consecutive_failures = 1;
  options.open_base = std::chrono::seconds(1);
  options.open_cap = std::chrono::seconds(4);
  options.probe_lease = std::chrono::seconds(6);
  options.ramp = std::chrono::seconds(10);
  return options;
}

[[nodiscard]] inline BreakerPermit admitted(auto& breaker, Instant now, double draw = 0) {
  const BreakerPermit permit = breaker.try_admit(now, draw);
  EXPECT_TRUE(permit.admitted);
  return permit;
}

inline Transition fail(auto& breaker, Instant now, double draw = 0) {
  return breaker.on_failure(admitted(breaker, now), Duration(1), now, draw);
}
inline Transition succeed(auto& breaker, Instant now, Duration latency = Duration(1)) {
  return breaker.on_success(admitted(breaker, now), latency, now, 0);
}

// Trips it and lets its open time pass; returns the instant at which it will be half-open.
inline Instant trip(auto& breaker, Instant now) {
  EXPECT_EQ(fail(breaker, now), Transition::opened);
  return now + breaker.open_for(now);
}

}  // namespace damper::admit
