#pragma once

#include <atomic>
#include <cstdint>

#include "damper/admit/limit_control.h"
#include "damper/base/atomic.h"
#include "damper/base/instant.h"

namespace damper::admit {

// A ConcurrencyLimit bounds how many attempts to one dependency are in flight at once.
//
// Why: a rate limit does not see that the dependency has become slow. Attempts in flight are
// throughput times latency (Little's law): bounding them bounds the queue that we build in the
// dependency, and a slow dependency gets fewer requests by itself.
// Model: one word holds the limit and the attempts in flight, so that admission is one atomic
// step. A released attempt is a sample: its latency, or that it was dropped. About one round trip
// of them (as many as were in flight, from `window_samples` to 500) is a window. The thread that
// completes it updates the limit through LimitControl; the others continue. A sample of an attempt
// that started before the last change of the limit is left out, so the control never acts twice on
// the same evidence.
// Invariants:
//   (1) try_acquire succeeds only when in_flight < limit in that very step (trap L3). In flight
//       exceeds the limit only when the limit has fallen below it, and then nothing is admitted.
//   (2) Every successful try_acquire is undone by exactly one release; a refused one changes
//       nothing.
//   (3) A limit that gets only drops shrinks to min (trap L1).
//   (4) No phase rejects traffic in order to measure (trap L2): see LimitControl.
//   (5) An ignored release gives no sample.
//   (6) If a thread publishes a seq_cst "waiting" flag and then fails try_acquire(), any later
//       release or increase of the limit observes that flag.
// Thread safety: all methods may be called concurrently. All but reload are lock-free; a reload
// waits for an update that is under way.
// Cost: no allocation. try_acquire is a compare-and-swap; a release a subtraction and, unless the
// limit is fixed, a compare-and-swap for the sample.
class ConcurrencyLimit {
 public:
  // REQUIRES: !find_error(options).
  explicit ConcurrencyLimit(const ConcurrencyLimitOptions& options);
  ConcurrencyLimit(const ConcurrencyLimit&) = delete;
  ConcurrencyLimit& operator=(const ConcurrencyLimit&) = delete;

  // Admits one attempt, or refuses: Verdict::limited.
  [[nodiscard]] bool try_acquire() noexcept;

  // Releases an attempt without a sample: it was cancelled.
  // REQUIRES: a successful try_acquire, not released yet.
  void release_ignored() noexcept;

  // Releases an attempt. `dropped`: it ended in a timeout or in overload; otherwise now - started
  // is its latency. A sample with `now` before `started` is left out, unless it was dropped.
  // REQUIRES: a successful try_acquire, not released yet.
  void release(Instant started, Instant now, bool dropped) noexcept;

  [[nodiscard]] std::int32_t limit() const noexcept;
  [[nodiscard]] std::int32_t in_flight() const noexcept;

  // Changes the options and keeps the attempts in flight. The limit is carried over, held within
  // the new bounds; a limit that is now fixed is the new `initial`. REQUIRES: !find_error(options).
  void reload(const ConcurrencyLimitOptions& options) noexcept;

 private:
  [[nodiscard]] std::uint64_t leave() noexcept;
  [[nodiscard]] bool add_sample(Duration latency, bool dropped, std::int32_t in_flight) noexcept;
  [[nodiscard]] bool window_is_full(std::uint64_t samples) const noexcept;
  void close_window(Instant now) noexcept;
  void set_limit(std::int32_t limit) noexcept;

  alignas(64) Atomic<std::uint64_t> gate_;        // limit << 32 | in flight
  alignas(64) Atomic<std::uint64_t> samples_{0};  // drops, answers, summed latency
  Atomic<std::int32_t> peak_in_flight_{0};        // of the window's samples
  Atomic<std::int32_t> window_samples_;           // 0: the limit is fixed, no samples
  Atomic<Instant> opened_{Instant::min()};        // older attempts are left out
  Atomic<bool> turn_{false};                      // held by the thread that uses control_
  LimitControl control_;
};

}  // namespace damper::admit
