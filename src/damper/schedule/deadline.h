#ifndef DAMPER_SCHEDULE_DEADLINE_H_
#define DAMPER_SCHEDULE_DEADLINE_H_

#include <algorithm>

#include "damper/base/instant.h"

namespace damper::schedule {

// A Deadline is the one instant by which a whole call must be over, whatever it takes to get there:
// attempts, waits, hedges and hops below.
//
// Why: timeouts that stack (10 s at the edge over hops of 10 s each) leave work running for callers
// that have gone. An instant is passed down and only ever gets nearer.
// Invariants:
//   (1) A deadline that is passed on is never later than the one that came in, less the reserve.
//   (2) No remaining time is negative.
class Deadline {
 public:
  constexpr Deadline() = default;  // None: kNever.
  constexpr explicit Deadline(Instant at) noexcept : at_(at) {}
  [[nodiscard]] static constexpr Deadline in(Duration length, Instant now) noexcept {
    return Deadline(add(now, length));
  }

  [[nodiscard]] constexpr Instant at() const noexcept { return at_; }
  [[nodiscard]] constexpr bool passed(Instant now) const noexcept { return now >= at_; }
  [[nodiscard]] constexpr Duration remaining(Instant now) const noexcept {
    return std::max(Duration{0}, between(now, at_));
  }

  // Whether something that starts at `start` and needs so long would be over in time.
  [[nodiscard]] constexpr bool fits(Instant start, Duration needed) const noexcept {
    return add(start, needed) <= at_;
  }

  [[nodiscard]] constexpr Deadline earlier(Deadline other) const noexcept {
    return Deadline(std::min(at_, other.at_));
  }

  // What the next hop is given: this deadline, less what this hop keeps for its own cost.
  [[nodiscard]] constexpr Deadline less(Duration reserve) const noexcept {
    return at_ == kNever ? *this : Deadline(add(at_, -reserve));
  }

  friend constexpr auto operator<=>(Deadline, Deadline) = default;

 private:
  Instant at_ = kNever;
};

}  // namespace damper::schedule

#endif  // DAMPER_SCHEDULE_DEADLINE_H_
