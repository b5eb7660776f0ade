#ifndef DAMPER_RUN_HELPER_POOL_H_
#define DAMPER_RUN_HELPER_POOL_H_

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
// Model: tasks ordered by time. Idle helpers wait, one of them for the earliest task. A helper is
// started when a task is due and none is idle, up to the limit; then the task runs late.
// Invariants:
//   (1) After cancel() returns, the task neither runs nor will run.
//   (2) No more than `most_threads` threads, no more than `most_tasks` waiting tasks.
// Thread safety: all methods may be called concurrently.
class HelperPool {
 public:
  class Task {
   public:
    Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    virtual ~Task() = default;
    virtual void run() noexcept = 0;

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

  // The one that blocking calls use.
  static HelperPool& of_process();

  // Runs the task at its time, or later; if it waits already, at the new time. False when too many
  // wait.
  [[nodiscard]] bool schedule(Task& task, Instant due);
  void cancel(Task& task);

  [[nodiscard]] std::size_t threads() const;

 private:
  void help();
  void forget(Task& task);

  const std::size_t most_threads_;
  const std::size_t most_tasks_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::set<std::pair<Instant, Task*>> waiting_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace damper::run

#endif  // DAMPER_RUN_HELPER_POOL_H_
