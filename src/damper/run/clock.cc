#include "damper/run/clock.h"

#include <pthread.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <atomic>
#include <random>

namespace damper::run {
namespace {

std::uint64_t seed_of_process() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

// A child of fork() begins with a copy of everything; it must not draw what its siblings draw.
void reseed_after_fork() noexcept { internal::this_thread_is_seeded = false; }

// One stream of the process, split for each thread: two threads never start from the same place,
// whatever the system's generator says.
Random new_stream() noexcept {
  static const std::uint64_t kSeed = seed_of_process();
  [[maybe_unused]] static const int kRegistered =
      pthread_atfork(nullptr, nullptr, reseed_after_fork);
  static std::atomic<std::uint64_t> threads{0};
  return Random(Random(kSeed ^ Random(static_cast<std::uint64_t>(getpid())).bits()).bits() +
                threads.fetch_add(1, std::memory_order_relaxed));
}

#ifdef __x86_64__
constexpr std::uint64_t kScaleOfOne = std::uint64_t{1} << 32;  // a nanosecond a tick
constexpr Duration kAnchorLength = std::chrono::milliseconds(1);
// A read of the clock takes under 100 ticks; one that took longer was interrupted.
constexpr std::uint64_t kLongestRead = 2000;

// Whether the counter runs at one rate in all states of the processor ("invariant TSC").
bool has_steady_counter() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
}
#endif

}  // namespace

namespace internal {

#ifdef __x86_64__
constinit thread_local CounterAnchor this_threads_anchor{};

// The scale is used if it is that of a counter of 0.1 to 10 GHz, and within 1 % of the last one;
// else the counter has jumped, and the next millisecond gives a new scale.
Instant anchored_now() noexcept {
  static const bool kSteady = has_steady_counter();
  if (!kSteady) return now();
  const std::uint64_t before = __builtin_ia32_rdtsc();
  const Instant at = now();
  const std::uint64_t ticks = __builtin_ia32_rdtsc();
  if (ticks - before > kLongestRead) return at;
  CounterAnchor& anchor = this_threads_anchor;
  const Duration length = at - anchor.at;
  if (anchor.ticks != 0 && anchor.limit == 0 && length < kAnchorLength) return at;
  const double scale = static_cast<double>(length.count()) /
                       static_cast<double>(ticks - anchor.ticks) * static_cast<double>(kScaleOfOne);
  const auto known = static_cast<double>(anchor.scale);
  const bool usable = anchor.ticks != 0 && scale > 0.1 * kScaleOfOne &&
                      scale < 10.0 * kScaleOfOne &&
                      (anchor.limit == 0 || (scale > 0.99 * known && scale < 1.01 * known));
  anchor = {.ticks = ticks, .at = at};
  if (usable) {
    anchor.scale = static_cast<std::uint64_t>(scale);
    anchor.limit = static_cast<std::uint64_t>(kAnchorLength.count()) * kScaleOfOne / anchor.scale;
  }
  return at;
}
#else
Instant anchored_now() noexcept { return now(); }
#endif

constinit thread_local Random this_threads_random{0};
constinit thread_local bool this_thread_is_seeded = false;

void seed_this_thread() noexcept {
  this_threads_random = new_stream();
  this_thread_is_seeded = true;
}

}  // namespace internal

}  // namespace damper::run

namespace damper {

Instant in(Duration length) noexcept { return add(run::now(), length); }

}  // namespace damper
