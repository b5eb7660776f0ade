#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

#include "damper/base/instant.h"
#include "damper/base/random.h"
#include "damper/base/unix_time.h"

namespace damper::run {

// The real world, for drivers: the two things that the core never does by itself.

// The time now, on the steady clock: the same as std::chrono::steady_clock::now(), inline.
[[nodiscard]] inline Instant now() noexcept {
  timespec time{};
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return Instant{std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec)};
}

// The time at the last tick of the system: on now()'s timeline, never later than now() and up to 4
// ms earlier.
// Why: it costs a fifth of a now(), and a queue looks at the time three times an item.
[[nodiscard]] inline Instant coarse_now() noexcept {
  timespec time{};
  (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return Instant{std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec)};
}

namespace internal {
// How a thread extends its last read of the clock by the processor's time-stamp counter.
struct CounterAnchor {
  std::uint64_t ticks = 0;  // the counter at that read
  std::uint64_t limit = 0;  // ticks after which the clock is read again; 0: not calibrated
  std::uint64_t scale = 0;  // nanoseconds a tick, times 2^32
  Instant at{};             // the read
};
extern constinit thread_local CounterAnchor this_threads_anchor;
// Reads the clock, and calibrates the anchor by it.
[[nodiscard]] Instant anchored_now() noexcept;
}  // namespace internal

// The time now, within a few microseconds of now(); two reads of a thread may be that much out of
// order.
// Why: now() takes half of a guarded call's time, since it waits for all instructions before it.
// BM_GuardedCall takes 52 ns instead of 77 with this.
// Model: a read of the processor's time-stamp counter, which is scaled to nanoseconds since the
// thread's last read of the clock. After 1 ms the clock is read again, and the scale follows from
// the two reads, so that errors do not add up, whatever happens to the counter (a virtual machine
// that moves to another host, say). now() where the counter is not known to be steady.
[[nodiscard]] inline Instant quick_now() noexcept {
#ifdef __x86_64__
  const internal::CounterAnchor& anchor = internal::this_threads_anchor;
  const std::uint64_t since = __builtin_ia32_rdtsc() - anchor.ticks;
  if (since < anchor.limit) [[likely]] {
    return anchor.at + Duration(static_cast<std::int64_t>(since * anchor.scale >> 32));
  }
  return internal::anchored_now();
#else
  return now();
#endif
}

// The wall time `ago` before now, for headers that carry a date.
[[nodiscard]] inline UnixTime wall_time(Duration ago = Duration{0}) noexcept {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now() - ago);
}
// The same moment, for what waits by the standard library's clock.
[[nodiscard]] inline std::chrono::steady_clock::time_point steady_time(Instant at) noexcept {
  return std::chrono::steady_clock::time_point(at.time_since_epoch());
}

namespace internal {
extern constinit thread_local Random this_threads_random;
extern constinit thread_local bool this_thread_is_seeded;
void seed_this_thread() noexcept;
}  // namespace internal

// A draw from this thread's stream. Each thread has its own, seeded from the system (trap J4).
[[nodiscard]] inline double draw() noexcept {
  if (!internal::this_thread_is_seeded) [[unlikely]]
    internal::seed_this_thread();
  return internal::this_threads_random.draw();
}
// 64 bits of the same stream, for identifiers that are no secret.
[[nodiscard]] inline std::uint64_t random_bits() noexcept {
  if (!internal::this_thread_is_seeded) [[unlikely]]
    internal::seed_this_thread();
  return internal::this_threads_random.bits();
}

}  // namespace damper::run

namespace damper {

// A deadline so far from now: `{.deadline = damper::in(800ms)}`.
[[nodiscard]] Instant in(Duration length) noexcept;

}  // namespace damper
