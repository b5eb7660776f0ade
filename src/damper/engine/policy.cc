#include "damper/engine/policy.h"

#include <algorithm>

namespace damper::engine {
namespace {

std::optional<std::string> find_error(const CallPolicy& call) {
  return BoundsCheck()
      .field("timeout", call.timeout, call.kTimeout)
      .field("per_try_timeout", call.per_try_timeout, call.kPerTryTimeout)
      .field("needed", call.needed, Range<Duration>{Duration{0}, call.timeout})
      .field("reserve", call.reserve, Range<Duration>{Duration{0}, kLongest})
      .less("reserve", call.reserve, "timeout", call.timeout)
      .field("max_attempts", call.max_attempts, call.kMaxAttempts)
      .part("backoff", schedule::find_error(call.backoff))
      .part("adaptive_timeout", schedule::find_error(call.adaptive_timeout))
      .part("hedge", schedule::find_error(call.hedge))
      .error();
}

}  // namespace

Duration longest_attempt(const CallPolicy& call) noexcept {
  Duration most = call.timeout - call.reserve;
  if (call.adaptive_timeout.on) most = std::min(most, call.adaptive_timeout.upper);
  return call.per_try_timeout > Duration{0} ? std::min(most, call.per_try_timeout) : most;
}

Duration derived_lease(const CallPolicy& call) noexcept {
  constexpr Range<Duration> kLease = admit::CircuitBreakerOptions::kProbeLease;
  return std::clamp(times(longest_attempt(call), 3) / 2, kLease.low, kLease.high);
}

std::optional<std::string> find_error(const Policy& policy, Footprint footprint) {
  BoundsCheck check;
  check.part("call", find_error(policy.call)).part("budget", admit::find_error(policy.budget));
  if (policy.breaker) check.part("breaker", admit::find_error(*policy.breaker));
  if (policy.throttle) check.part("throttle", admit::find_error(*policy.throttle));
  if (policy.limit) check.part("limit", admit::find_error(*policy.limit));
  if (policy.attempt_rate) check.part("attempt_rate", admit::find_error(*policy.attempt_rate));
  if (footprint == Footprint::small) {
    check.require(!policy.attempt_rate, "attempt_rate is set; a small dependency has none");
    check.require(!policy.throttle, "throttle is set; a small dependency has none")
        .require(!policy.limit, "limit is set; a small dependency has none")
        .require(!policy.call.adaptive_timeout.on,
                 "call.adaptive_timeout.on is true; a small dependency has no live quantile")
        .field("call.hedge.max_hedges", policy.call.hedge.max_hedges, Range<std::int32_t>{0, 0});
    if (policy.breaker) {
      check.field("breaker.probes", policy.breaker->probes,
                  Range<std::int32_t>{1, admit::SmallCircuitBreaker::kMostProbes});
    }
  }
  return check.error();
}

}  // namespace damper::engine
