#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace damper {

// Time in the core: an Instant is a point on the caller's monotonic timeline, a Duration a length
// of it, both whole nanoseconds.
//
// Why: the core never reads a clock; its driver passes the time. A driver passes
// steady-clock time, the lab passes virtual time, a test passes a literal. The timeline has no
// now(), so that forgetting to pass the time does not compile.
// Model: std::chrono types on an epoch that only the driver knows. kNever is later than every
// Instant that can be reached; sums saturate there instead of wrapping around.
struct Timeline {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Timeline, duration>;
  static constexpr bool is_steady = true;
};

using Duration = Timeline::duration;
using Instant = Timeline::time_point;

inline constexpr Duration kForever = Duration::max();
inline constexpr Instant kNever = Instant::max();

// The longest Duration that a policy may hold: 30 days. Small enough that sums of a few of them
// cannot overflow.
inline constexpr Duration kLongest = std::chrono::hours{24 * 30};

// instant + duration, held at the ends of the timeline instead of wrapping around.
[[nodiscard]] constexpr Instant add(Instant instant, Duration duration) noexcept {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(instant.time_since_epoch().count(), duration.count(), &sum)) {
    return duration.count() > 0 ? Instant::max() : Instant::min();
  }
  return Instant{Duration{sum}};
}

// later - earlier, held at the ends; negative when they are the other way round.
[[nodiscard]] constexpr Duration between(Instant earlier, Instant later) noexcept {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(later.time_since_epoch().count(), earlier.time_since_epoch().count(),
                             &difference)) {
    return later > earlier ? Duration::max() : Duration::min();
  }
  return Duration{difference};
}

// duration * factor, held at kForever. REQUIRES: both are >= 0.
[[nodiscard]] constexpr Duration times(Duration duration, std::int64_t factor) noexcept {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(duration.count(), factor, &product)) return kForever;
  return Duration{product};
}

}  // namespace damper
