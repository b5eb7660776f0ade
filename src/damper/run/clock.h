#pragma once

#include <time.h>

#include <chrono>

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

}  // namespace damper::run

namespace damper {

// A deadline so far from now: `{.deadline = damper::in(800ms)}`.
[[nodiscard]] Instant in(Duration length) noexcept;

}  // namespace damper
