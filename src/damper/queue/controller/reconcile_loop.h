#ifndef DAMPER_QUEUE_CONTROLLER_RECONCILE_LOOP_H_
#define DAMPER_QUEUE_CONTROLLER_RECONCILE_LOOP_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "damper/base/instant.h"
#include "damper/queue/controller/controller_options.h"
#include "damper/queue/controller/reconcile.h"
#include "damper/queue/work_queue/finish.h"
#include "damper/queue/work_queue/work_queue_options.h"

namespace damper::queue {

// What a ReconcileLoop works on: a ControllerCore and a function, whatever their Key.
class ReconcileWork {
 public:
  struct Run {
    Ticket ticket;
    const void* key = nullptr;  // stays put until finish()
    std::uint32_t attempt = 1;
    Duration waited{0};
    Instant deadline = kNever;
  };
  struct Next {
    std::optional<Run> run{};
    Instant wake = kNever;  // when to ask again; with a run: when the next delayed key is due
    bool rate_limited = false;
  };

  // Under the loop's lock.
  virtual Next next(Instant now, double draw) = 0;
  virtual void finish(Ticket ticket, const Finish& how, Instant now, double draw) = 0;
  virtual bool has_ready(Instant now) = 0;
  [[nodiscard]] virtual bool is_idle() const = 0;
  virtual void close() = 0;
  [[nodiscard]] virtual bool has_news() const = 0;  // something for tell()

  // Without it, and concurrently. What run() throws counts as its failure.
  virtual Finish run(const Run& run, const RunContext& context) = 0;
  virtual void tell(std::unique_lock<std::mutex>& lock) = 0;  // locked before and after

 protected:
  ~ReconcileWork() = default;
};

// A ReconcileLoop is a pool of threads that take keys, run them and say how it went: the part of a
// Controller that does not depend on its Key.
//
// Why: a queue with one condition variable wakes all its workers for each key, or the wrong one
// when a time comes.
// Model: all that ReconcileWork says is done under one mutex. Of the workers that have nothing to
// do, one watches the time, and the others wait to be called. Who takes a key calls another one if
// more is ready, or if nobody watches. A run is inside a run::Scope, so that guarded calls in it
// inherit its deadline and do not retry on their own. Its stop token, if it wants one, is fired at
// its deadline by a task of the process's HelperPool, and when the loop ends.
// Invariants:
//   (1) While something is ready and may run, not all workers sleep.
//   (2) When end() returns, no run is under way and none will be.
//   (3) No code of the user, a stop callback or a sink, runs under the mutex.
//   (4) What a run throws ends neither its worker nor the process.
// Thread safety: all methods may be called concurrently; end() not from within a run.
class ReconcileLoop {
 public:
  struct Options {
    int workers = 1;
    bool owns_retries = true;
    const std::string* name = nullptr;  // whose retries they are, below; outlives the loop
    bool wants_stop = false;            // the function looks at its stop token
  };
  // The work outlives it.
  ReconcileLoop(ReconcileWork& work, const Options& options);
  ~ReconcileLoop();  // REQUIRES: end() has returned, or start() was never called.
  ReconcileLoop(const ReconcileLoop&) = delete;
  ReconcileLoop& operator=(const ReconcileLoop&) = delete;

  // Throws std::system_error when the system gives no thread at all.
  void start();

  // What everything that ReconcileWork does is under.
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
  // Something was added, for `due`. REQUIRES: the lock.
  void on_added(Instant due, Instant now);

  // No more adds. What is under way, and with run_ready also what is ready, has so long; then it is
  // asked to stop, and waited for.
  void end(Duration within, bool run_ready);

  [[nodiscard]] const ControllerTimes& times() const noexcept { return times_; }
  // REQUIRES: the lock.
  [[nodiscard]] int workers() const noexcept { return static_cast<int>(workers_.size()); }
  [[nodiscard]] std::uint64_t overruns() const noexcept { return overruns_; }
  [[nodiscard]] std::uint64_t exceptions() const noexcept { return exceptions_; }

 private:
  struct Worker {
    std::optional<std::stop_source> stop;  // of its run
    std::thread thread;
  };
  using Lock = std::unique_lock<std::mutex>;

  void work(Worker& worker);
  void run(Worker& worker, const ReconcileWork::Run& run, Instant started, Lock& lock);
  [[nodiscard]] Finish run_guarded(Worker& worker, const ReconcileWork::Run& run);
  void leave(Instant wake, Instant now);
  void note_rate(bool limited, Instant now);
  void wait(Instant wake, Instant now, Lock& lock);
  void call_one();
  void call_all();
  [[nodiscard]] bool is_over() const { return running_ == 0 && (ending_ || work_.is_idle()); }
  void ask_to_stop(Lock& lock);

  ReconcileWork& work_;
  const Options options_;
  ControllerTimes times_;
  std::mutex mutex_;
  std::condition_variable called_;   // those who wait to be called
  std::condition_variable watched_;  // the one that watches the time
  std::condition_variable over_;     // those who end it
  std::deque<Worker> workers_;       // They stay put.
  std::size_t idle_ = 0;             // wait to be called
  bool watching_ = false;
  Instant watched_until_ = kNever;
  int running_ = 0;
  bool draining_ = false;  // somebody waits for it to be idle
  bool ending_ = false;    // no more runs
  bool asked_ = false;     // what is under way has been asked to stop
  std::optional<Instant> rate_limited_since_;
  std::uint64_t overruns_ = 0;
  std::uint64_t exceptions_ = 0;
  std::mutex joining_;
};

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_CONTROLLER_RECONCILE_LOOP_H_
