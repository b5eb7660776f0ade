#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "damper/queue/controller/controller_options.h"

namespace damper {

// For tests: whether it becomes true within half a minute.
template <class Predicate>
[[nodiscard]] bool eventually(Predicate&& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Waits until a stop is requested.
inline void wait_for(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any asked;
  std::unique_lock lock(mutex);
  (void)asked.wait(lock, stop, [] { return false; });
}

// For tests: the shortest of waits, and a budget that allows everything.
[[nodiscard]] inline ControllerOptions quick(int workers = 1) {
  ControllerOptions options;
  options.workers = workers;
  options.retries.backoff = {.jitter = schedule::Jitter::none,
                             .base = std::chrono::microseconds(1),
                             .cap = std::chrono::microseconds(1)};
  options.retries.overload_base = std::chrono::microseconds(1);
  options.retries.budget = {.percent = Percent(1000), .reserve = 1000, .min_per_second = 10'000};
  return options;
}

}  // namespace damper
