#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace damper::lab {

// How runs are spread over the cores.
struct Work {
  std::size_t count = 0;
  unsigned threads = 0;                     // at most; 0: one for each core, never over 64
  const std::atomic<bool>* stop = nullptr;  // set by ^C; none: never
  // Called by the thread that waits for the work, when the number changed, about ten times a second
  // at most, and at the end.
  std::function<void(std::size_t done, std::size_t of)> on_progress = {};
};

// run_parallel calls run(index) for every index from 0 to count - 1, on several threads, and
// returns when they are done.
//
// Why: a map of 200 seeds at each of 400 points is 80,000 small runs. All cores share them, and ^C
// keeps the finished ones.
// Model: threads take the next index until there is none, or the stop flag is set. A run stores its
// result by its index, so that the result does not depend on the thread.
// Invariants:
//   (1) Returns n: the indices below n were run, each once and to its end, and no other was begun.
//   (2) Without a stop, n is count.
//   (3) If runs throw, the exception of the lowest index is thrown to the caller, after the runs in
//       flight have ended; no index is begun after that. So it is always the same one.
//   (4) Everything that the runs wrote is visible to the caller afterwards.
// Thread safety: `run` is called by several threads at once; on_progress by the caller's alone.
// Cost: one thread each, and a lock for each index: for runs of a millisecond or more.
[[nodiscard]] std::size_t run_parallel(const Work& work,
                                       const std::function<void(std::size_t index)>& run);

}  // namespace damper::lab
