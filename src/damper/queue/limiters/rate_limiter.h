#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/queue/work_queue/key_table.h"
#include "damper/schedule/backoff.h"

namespace damper::queue {

// The state and counters of a limiter, for metrics; a composed limiter returns the sum of its
// parts.
struct LimiterStats {
  std::size_t keys = 0;         // keys whose failures are stored
  std::size_t capacity = 0;     // the bound of `keys`
  std::uint64_t evicted = 0;    // failing keys that were removed to make room
  std::uint64_t refused = 0;    // calls of when() that were refused
  std::uint64_t coalesced = 0;  // calls of when() beyond the bucket's reserve that were not refused

  constexpr LimiterStats& operator+=(const LimiterStats& other) noexcept {
    keys += other.keys;
    capacity += other.capacity;
    evicted += other.evicted;
    refused += other.refused;
    coalesced += other.coalesced;
    return *this;
  }
  friend constexpr bool operator==(const LimiterStats&, const LimiterStats&) = default;
};

// A RateLimiter computes the delay of a failed key before its next run.
//
// Why an interface: limiters are combined, as in client-go: the longer of a delay for each key and
// a bucket for all keys. limiters.h creates them.
// Model: each call of when() counts one more failure of the key; forget() clears them. Time and
// draw are arguments. The functions below are shared by the implementations. Invariants, of every
// implementation:
//   (1) The delay is at least Report::retry_after, and never negative.
//   (2) The state that is kept for keys is bounded.
// Thread safety: none; a WorkQueue calls it under its lock.
template <class Key>
class RateLimiter {
 public:
  RateLimiter() = default;
  RateLimiter(const RateLimiter&) = delete;
  RateLimiter& operator=(const RateLimiter&) = delete;
  virtual ~RateLimiter() = default;

  // The delay from `now`; nullopt when the limiter refuses: too many keys wait already.
  // 0 <= draw < 1.
  [[nodiscard]] virtual std::optional<Duration> when(KeyView<Key> key, const decide::Report& why,
                                                     Instant now, double draw) = 0;
  virtual void forget(KeyView<Key> key) noexcept = 0;
  // The number of failures since the last forget(); 0 from a limiter without state for each key.
  [[nodiscard]] virtual std::uint32_t failures(KeyView<Key> key) const = 0;
  [[nodiscard]] virtual LimiterStats stats() const noexcept { return {}; }
};

// `delay` counted from the server's time, as in engine::Call; retry_after <= 0: from now. Jitter is
// thus added to retry_after and never subtracted, and keys with equal retry_after are spread. With
// the longer of the two, all keys with delay < retry_after would run at the same instant.
// REQUIRES: delay >= 0. Saturates.
[[nodiscard]] constexpr Duration wait_after(Duration retry_after, Duration delay) noexcept {
  return add(Instant{std::max(retry_after, Duration{0})}, delay).time_since_epoch();
}

// A delay of `top` with jitter: top with Jitter::none, U[0, top) with full, top/2 + U[0, top/2)
// with equal. REQUIRES: can_spread(jitter); 0 < top <= kLongest; 0 <= draw < 1.
[[nodiscard]] inline Duration spread(Duration top, schedule::Jitter jitter, double draw) noexcept {
  return schedule::Backoff().next({.jitter = jitter, .base = top, .cap = top}, 0, draw);
}

// Decorrelated jitter needs a base below its cap: it does not spread a single delay.
[[nodiscard]] constexpr bool can_spread(schedule::Jitter jitter) noexcept {
  return jitter != schedule::Jitter::decorrelated;
}

}  // namespace damper::queue
