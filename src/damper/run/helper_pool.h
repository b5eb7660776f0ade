#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "damper/base/instant.h"

namespace damper::run {

// A HelperPool runs tasks at their time on a bounded number of threads: the hedges of blocking
// calls.
//
// Why: most calls that could be hedged are over before their hedge is due. A thread for each of
// them would mostly be started in vain; here a task that is not due yet costs an entry in a set.
// Model: tasks ordered by time. Idle helpers wait for the earliest of them. A helper that takes a
// task leaves another one waiting for the rest, and starts one if necessary. At the thread limit
// there is none: then the task runs with may_block = false, since later tasks have to end blocked
// ones.
// Invariants:
//   (1) After cancel() returns, the task neither runs nor will run.
//   (2) No more than `most_threads` threads, no more than `most_tasks` waiting tasks.
//   (3) If tasks respect may_block, a due task never waits for a blocked one.
// Thread safety: all methods may be called concurrently.
class HelperPool {
 public:
  class Task {
   public:
    Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    virtual ~Task() = default;
    // `may_block`: another helper is free to run what is due meanwhile.
    virtual void run(bool may_block) noexcept = 0;

   private:
    friend class HelperPool;
    bool waiting_ = false;
    int running_ = 0;  // more than 1 when it was scheduled again while it ran
    Instant due_{};
  };

  explicit HelperPool(std::size_t most_threads = 32, std::size_t most_tasks = 10'000);
  ~HelperPool();
  HelperPool(const HelperPool&) = delete;
  HelperPool& operator=(const HelperPool&) = delete;

  // The one that blocking calls use. Never destroyed: a call may be under way when the program
  // ends.
  static HelperPool& of_process();

  // Runs the task at its time, or later; if it waits already, at the new time. False when it will
  // not: too many wait, or the system gives no thread or memory.
  [[nodiscard]] bool schedule(Task& task, Instant due);
  void cancel(Task& task);

  [[nodiscard]] std::size_t threads() const;

 private:
  void help();
  void forget(Task& task);
  [[nodiscard]] bool try_start();

  const std::size_t most_threads_;
  const std::size_t most_tasks_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::set<std::pair<Instant, Task*>> waiting_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;  // wait, or have been started and are on their way
  bool stopping_ = false;
};

}  // namespace damper::run
