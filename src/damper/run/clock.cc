#include "damper/run/clock.h"

#include <pthread.h>
#include <unistd.h>

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
