#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "damper/engine/call.h"
#include "damper/engine/exploration/exploration_testing.h"
#include "damper/engine/exploration/explored_rate_testing.h"

namespace damper::engine {

// An attempt in flight, as the driver knows it.
struct ExploredFlight {
  Instant sent{};
  Instant deadline{};
  bool hedge = false;
  bool paid = false;
  admit::BreakerPermit permit{};
  admit::RetryGrant grant{};  // of the shadow
};

// What the steps said so far, and what follows from it.
struct ExploredModel {
  Instant now = Exploration::kStart;
  Instant wake = kNever;
  Instant deadline{};
  Instant not_before = Instant::min();
  std::array<ExploredFlight, kLanes> flights{};
  std::uint8_t in_flight = 0;  // a bit for each lane
  bool retries_off = false;
  bool hedging_off = false;
  bool reloaded = false;
  bool unrepeatable = false;
  bool neighbour = false;
  bool flipped = false;  // since the last step
  bool over = false;
  std::uint32_t attempts = 0;
  std::uint32_t hedges = 0;
  std::int32_t most_attempts = 0;  // of the policies so far
  std::int32_t most_hedges = 0;
  Verdict verdict = Verdict::none;
};
static_assert(std::is_trivially_copyable_v<ExploredModel>);

// All that changes in a history, in one object but for the rate that the dependency has on the
// heap: a state is saved and loaded as its bytes, at the same address. For tests.
struct ExploredWorld {
  explicit ExploredWorld(const Exploration& e)
      : dependency("explored", e.policy),
        budget(e.policy.budget),
        hedge_budget(
            {.percent = e.policy.call.hedge.ratio, .window = e.policy.budget.window, .reserve = 0},
            &budget),
        breaker(e.policy.breaker.value_or(admit::CircuitBreakerOptions{})),
        throttle(e.policy.throttle.value_or(admit::ClientThrottleOptions{})) {
    if (e.policy.attempt_rate) rate.emplace(*e.policy.attempt_rate);
  }

  Dependency dependency;
  admit::RetryBudget budget;  // the shadows
  admit::RetryBudget hedge_budget;
  admit::CircuitBreaker breaker;
  admit::ClientThrottle throttle;
  std::optional<ExploredRate> rate;
  ExploredModel model;
  alignas(Call) std::array<std::byte, sizeof(Call)> call{};
};

}  // namespace damper::engine
