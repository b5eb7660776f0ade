#include "damper/run/clock.h"

#include <atomic>
#include <random>

namespace damper::run {
namespace {

std::uint64_t seed_of_process() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

// One stream of the process, split for each thread: two threads never start from the same place,
// whatever the system's generator says.
Random new_stream() noexcept {
  static const std::uint64_t kSeed = seed_of_process();
  static std::atomic<std::uint64_t> threads{0};
  return Random(Random(kSeed + threads.fetch_add(1, std::memory_order_relaxed)).bits());
}

}  // namespace

namespace internal {

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
