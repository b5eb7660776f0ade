#pragma once

#include <cstdint>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"

namespace damper::engine {

// The greatest number of attempts of one call in flight: the first or a retry, and hedges.
inline constexpr int kLanes = 4;

// An attempt to send now.
struct Attempt {
  std::uint32_t number = 0;  // from 1, hedges included
  std::uint8_t lane = 0;     // its index among the attempts in flight
  bool hedge = false;        // it runs beside another one: send it to another replica
  Instant sent{};
  Instant deadline{};  // its own: its timeout, or the call's deadline less the reserve
};

// A Step is the next action of a driver, as data. In this order: give up the attempts of `cancels`
// (their outcomes are discarded); if the call is over, return the verdict; send the attempt if
// there is one. Then wait for the first of an outcome, `wake` (on_timer) and the caller's
// cancellation.
struct Step {
  Verdict verdict = Verdict::none;  // none: the call continues
  bool sends = false;
  std::uint8_t cancels = 0;   // a bit for each lane
  std::uint8_t timeouts = 0;  // of `cancels`: timeouts that count against the dependency
  Attempt attempt{};          // if it sends
  Instant wake = kNever;      // at this time on_timer() is due

  [[nodiscard]] bool over() const noexcept { return verdict != Verdict::none; }
};

}  // namespace damper::engine
