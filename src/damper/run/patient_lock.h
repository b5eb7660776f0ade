#ifndef DAMPER_RUN_PATIENT_LOCK_H_
#define DAMPER_RUN_PATIENT_LOCK_H_

#include <mutex>

namespace damper::run {

namespace internal {
void lock_after_a_while(std::mutex& mutex);
}  // namespace internal

// Locks a mutex that everybody holds for well under a microsecond.
//
// Why: std::mutex puts a thread to sleep at the first refusal, and whoever unlocks pays for waking
// it: microseconds for what would have been free in some nanoseconds. A thread that asks again at
// once is no better: it takes the cache line from the one at work.
// Model: it asks, and asks again every 2 microseconds or so; meanwhile the other one goes on with
// what is in its cache. After some 20 it sleeps, as others do.
// Cost: one that is free costs what std::mutex::try_lock does.
[[nodiscard]] inline std::unique_lock<std::mutex> lock_patiently(std::mutex& mutex) {
  if (!mutex.try_lock()) [[unlikely]]
    internal::lock_after_a_while(mutex);
  return {mutex, std::adopt_lock};
}

}  // namespace damper::run

#endif  // DAMPER_RUN_PATIENT_LOCK_H_
