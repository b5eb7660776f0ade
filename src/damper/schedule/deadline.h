#pragma once

#include <algorithm>

#include "damper/base/instant.h"

namespace damper::schedule {

// A Deadline is the instant by which a whole call must be over, with all its attempts, backoffs,
// hedges and the hops below.
//
// Why: timeouts that stack (10 s at the edge over hops of 10 s each) leave work running for callers
// that are gone. An instant is passed down and only ever gets earlier.
// Invariants:
//   (1) A forwarded deadline is never later than the received one, less the reserve.
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

  // Whether an attempt that starts at `start` and takes `needed` ends in time.
  [[nodiscard]] constexpr bool fits(Instant start, Duration needed) const noexcept {
    return add(start, needed) <= at_;
  }

  [[nodiscard]] constexpr Deadline earlier(Deadline other) const noexcept {
    return Deadline(std::min(at_, other.at_));
  }

  // The deadline of the next hop: this one, less the reserve for the cost of this hop.
  [[nodiscard]] constexpr Deadline less(Duration reserve) const noexcept {
    return at_ == kNever ? *this : Deadline(add(at_, -reserve));
  }

  friend constexpr auto operator<=>(Deadline, Deadline) = default;

 private:
  Instant at_ = kNever;
};

// Whether a caller cut an attempt short: it left `had`, less than nearly all of the time `given` by
// the policy. The tenth allows for what hops take of a deadline that is the policy's own.
[[nodiscard]] constexpr bool is_cut_short(Duration had, Duration given) noexcept {
  return had < given - given / 10;
}

}  // namespace damper::schedule
