#pragma once

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

// A ReconcileWork is a ControllerCore and a reconcile function, without the type of Key.
class ReconcileWork {
 public:
  struct Run {
    Ticket ticket;
    const void* key = nullptr;  // valid until finish()
    std::uint32_t attempt = 1;
    Duration waited{0};
    Instant deadline = kNever;
  };
  struct Next {
    std::optional<Run> run{};
    Instant wake = kNever;  // when to call next() again; with a run: the next due time
    bool rate_limited = false;
  };

  // Called under the loop's lock.
  virtual Next next(Instant now, double draw) = 0;
  virtual void finish(Ticket ticket, const Finish& how, Instant now, double draw) = 0;
  virtual bool has_ready(Instant now) = 0;
  [[nodiscard]] virtual bool is_idle() const = 0;
  virtual void close() = 0;
  [[nodiscard]] virtual bool has_events() const = 0;

  // Called without the lock, concurrently. An exception is a failure of the run.
  virtual Finish run(const Run& run, const RunContext& context) = 0;
  // Called with the lock, which it releases while it calls the sink.
  virtual void dispatch_events(std::unique_lock<std::mutex>& lock) = 0;

 protected:
  ~ReconcileWork() = default;
};

// A ReconcileLoop is the thread pool of a Controller: the part that does not depend on its Key.
//
// Why: with one condition variable, each key wakes all workers, or a due time wakes the wrong one.
// Model: all calls of ReconcileWork except run() are made under one mutex. One idle worker, the
// watcher, sleeps until the next wake time, the others until they are notified. A worker that takes
// a key notifies another if more keys are ready or there is no watcher. A run is inside a
// run::Scope, so that guarded calls in it inherit its deadline and do not retry. Its stop token, if
// the function takes one, is set at its deadline by a task of the process's HelperPool, and by
// end().
// Invariants:
//   (1) While a key may run, not all workers sleep.
//   (2) When end() returns, no run is active and none will start.
//   (3) No user code (stop callback, sink) runs under the mutex.
//   (4) An exception of a run ends neither its worker nor the process.
// Thread safety: all methods may be called concurrently, except end() from a run.
class ReconcileLoop {
 public:
  struct Options {
    int workers = 1;
    bool owns_retries = true;
    const std::string* name = nullptr;  // the retries' owner for nested calls; outlives the loop
    bool wants_stop = false;            // the function takes a stop token
  };
  // The work must outlive the loop.
  ReconcileLoop(ReconcileWork& work, const Options& options);
  ~ReconcileLoop();  // REQUIRES: end() has returned, or start() was never called.
  ReconcileLoop(const ReconcileLoop&) = delete;
  ReconcileLoop& operator=(const ReconcileLoop&) = delete;

  // Throws std::system_error if no thread can be started.
  void start();

  // Guards all of ReconcileWork except run().
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
  // A key was added for `due`. REQUIRES: the lock is held.
  void on_added(Instant due, Instant now);

  enum class Ready : std::uint8_t { leave, run };
  // Refuses adds, and gives current runs (with Ready::run also ready keys) `grace` to finish; then
  // sets their stop tokens. Blocks until they have returned.
  void end(Duration grace, Ready ready);

  [[nodiscard]] const ControllerTimes& times() const noexcept { return times_; }
  // REQUIRES: the lock is held.
  [[nodiscard]] int workers() const noexcept { return static_cast<int>(workers_.size()); }
  [[nodiscard]] std::uint64_t overruns() const noexcept { return overruns_; }
  [[nodiscard]] std::uint64_t exceptions() const noexcept { return exceptions_; }

 private:
  struct Worker {
    std::optional<std::stop_source> stop;  // of the current run
    std::thread thread;
  };
  using Lock = std::unique_lock<std::mutex>;

  void work(Worker& worker);
  void run(Worker& worker, const ReconcileWork::Run& run, Instant started, Lock& lock);
  [[nodiscard]] Finish run_guarded(Worker& worker, const ReconcileWork::Run& run);
  void delegate(Instant wake, Instant now);
  void note_rate(bool limited, Instant now);
  void wait(Instant wake, Instant now, Lock& lock);
  void notify_one();
  void notify_all();
  [[nodiscard]] bool is_over() const { return running_ == 0 && (ending_ || work_.is_idle()); }
  void request_stop(Lock& lock);

  ReconcileWork& work_;
  const Options options_;
  ControllerTimes times_;
  std::mutex mutex_;
  std::condition_variable idle_line_;     // idle workers except the watcher
  std::condition_variable watcher_line_;  // the watcher
  std::condition_variable over_;          // threads in end()
  std::deque<Worker> workers_;            // stable addresses
  std::size_t idle_ = 0;                  // workers that wait on idle_line_
  bool watching_ = false;
  Instant watched_until_ = kNever;
  int running_ = 0;
  bool draining_ = false;  // a thread in end() waits for is_idle()
  bool ending_ = false;    // no more runs
  bool stop_requested_ = false;
  std::optional<Instant> rate_limited_since_;
  std::uint64_t overruns_ = 0;
  std::uint64_t exceptions_ = 0;
  std::mutex joining_;
};

}  // namespace damper::queue
