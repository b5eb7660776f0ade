#ifndef DAMPER_QUEUE_WORK_QUEUE_WAITS_H_
#define DAMPER_QUEUE_WORK_QUEUE_WAITS_H_

#include <algorithm>

#include "damper/base/instant.h"
#include "damper/schedule/backoff.h"

namespace damper::queue {

// What all rate limiters have in common: how a delay and the server's word add up, and how a wait
// that does not grow is spread. For those who write a limiter of their own, too.

// The wait of who has a delay and, from the server, a time to come back: the delay counts from that
// time, as in engine::Call. So jitter is added to the server's word and never subtracted, and keys
// that were all told the same time come back spread. Not the longer of the two: then all whose
// delay is the shorter one would come back at one instant.
//
// said: Report::retry_after, or any other; nothing is said when it is not over 0. delay >= 0.
[[nodiscard]] constexpr Duration after(Duration said, Duration delay) noexcept {
  return add(Instant{std::max(said, Duration{0})}, delay).time_since_epoch();  // Saturates.
}

// A wait of `top`, jittered by the backoff of all retries: top with Jitter::none, U[0, top) with
// full, top/2 + U[0, top/2) with equal. REQUIRES: can_spread(jitter); 0 < top <= kLongest;
// 0 <= draw < 1.
[[nodiscard]] inline Duration spread(Duration top, schedule::Jitter jitter, double draw) noexcept {
  return schedule::Backoff().next({.jitter = jitter, .base = top, .cap = top}, 0, draw);
}

// Decorrelated jitter lies between a base and a cap; where there is one length it spreads nothing.
[[nodiscard]] constexpr bool can_spread(schedule::Jitter jitter) noexcept {
  return jitter != schedule::Jitter::decorrelated;
}

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_WORK_QUEUE_WAITS_H_
