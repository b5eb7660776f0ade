#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "damper/admit/attempt_rate.h"
#include "damper/admit/circuit_breaker.h"
#include "damper/admit/client_throttle.h"
#include "damper/admit/concurrency_limit.h"
#include "damper/admit/retry_budget.h"
#include "damper/base/bounds.h"
#include "damper/base/slot_ring.h"
#include "damper/decide/outcome.h"
#include "damper/schedule/adaptive_timeout.h"
#include "damper/schedule/backoff.h"
#include "damper/schedule/hedge.h"

namespace damper::engine {

// A CallPolicy is the part of a Policy that a call reads at each decision after its first attempt,
// so a reload reaches running calls. A call keeps only its Terms (see Dependency) from its start to
// its end: timeouts, and which parts admit its attempts. Trivially copyable.
struct CallPolicy {
  static constexpr Range<Duration> kTimeout{Duration{1}, kLongest};
  static constexpr Range<Duration> kPerTryTimeout{Duration{0}, kLongest};
  static constexpr Range<std::int32_t> kMaxAttempts{1, 100};

  Duration timeout = std::chrono::seconds(5);  // of the whole call
  Duration per_try_timeout{0};                 // of one attempt; 0: the remaining time of the call
  Duration needed = std::chrono::milliseconds(1);  // with less time left no attempt is started;
                                                   // [0, timeout]
  Duration reserve{0};            // subtracted from the deadline for this hop's cost; [0, timeout)
  std::int32_t max_attempts = 3;  // the first and hedges included
  decide::OutcomeSet retryable = decide::kRetryableByDefault;
  schedule::BackoffOptions backoff;
  schedule::AdaptiveTimeoutOptions adaptive_timeout;
  schedule::HedgeOptions hedge;

  friend bool operator==(const CallPolicy&, const CallPolicy&) = default;
};

// The longest that one attempt can take: what is left of the call at its start, or less if the
// policy has a timeout of the attempt.
[[nodiscard]] Duration longest_attempt(const CallPolicy& call) noexcept;

// The lease of a probe whose policy has none: half as long again as the longest attempt, so that
// the result of a probe that hangs comes before the end of its lease, on a busy machine too.
[[nodiscard]] Duration derived_lease(const CallPolicy& call) noexcept;

// A Policy is all configuration of the calls to one dependency. The defaults are safe: 3 attempts,
// full jitter, a 10 % budget, a deadline on every call, hedging disabled.
struct Policy {
  CallPolicy call;
  admit::RetryBudgetOptions budget;
  std::optional<admit::CircuitBreakerOptions> breaker;
  std::optional<admit::ClientThrottleOptions> throttle;
  std::optional<admit::ConcurrencyLimitOptions> limit;
  std::optional<admit::AttemptRateOptions> attempt_rate;

  friend bool operator==(const Policy&, const Policy&) = default;
};

// The first invalid field, with its value and bound; nothing when the policy is valid. A small
// dependency has no throttle, no limit, no attempt rate, no hedges, no adaptive timeout, and at
// most 4 probes.
[[nodiscard]] std::optional<std::string> find_error(const Policy& policy,
                                                    Footprint footprint = Footprint::large);

}  // namespace damper::engine
