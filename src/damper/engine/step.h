#ifndef DAMPER_ENGINE_STEP_H_
#define DAMPER_ENGINE_STEP_H_

#include <cstdint>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"

namespace damper::engine {

// At most so many attempts of one call are under way at once: the first or a retry, and hedges.
inline constexpr int kLanes = 4;

// An attempt that is to be sent now.
struct Attempt {
  std::uint32_t number = 0;  // from 1, hedges included
  std::uint8_t lane = 0;     // which of the call's places it has until its outcome
  bool hedge = false;        // it runs beside another one: send it to another replica
  Instant sent{};
  Instant deadline{};  // its own: its timeout, or the call's deadline less the reserve
};

// A Step is what a driver does next, as data. In this order: give up the attempts that `cancels`
// names (their outcome is not asked for any more); if the call is over, return the verdict; send
// the attempt if there is one. Then wait for what comes first: an outcome, `wake` (on_timer), or
// the caller's cancellation.
struct Step {
  Verdict verdict = Verdict::none;  // none: the call goes on
  bool sends = false;
  std::uint8_t cancels = 0;  // a bit for each lane
  Attempt attempt{};         // if it sends
  Instant wake = kNever;     // at this time on_timer() is due

  [[nodiscard]] bool over() const noexcept { return verdict != Verdict::none; }
};

}  // namespace damper::engine

#endif  // DAMPER_ENGINE_STEP_H_
