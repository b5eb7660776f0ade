#include "damper/queue/controller/reconcile_loop.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "damper/base/check.h"
#include "damper/queue/controller/reconcile.h"
#include "damper/run/clock.h"
#include "damper/run/helper_pool.h"
#include "damper/run/scope.h"

namespace damper::queue {
namespace {

// The loop of this worker thread.
thread_local const ReconcileLoop* this_threads_loop = nullptr;

// Requests the stop of a run at its deadline.
class StopAt final : public run::HelperPool::Task {
 public:
  StopAt(std::stop_source source, Instant at) : source_(std::move(source)) {
    (void)run::HelperPool::of_process().schedule(*this,
                                                 at);  // If it fails, the overrun is only counted.
  }
  ~StopAt() override { run::HelperPool::of_process().cancel(*this); }
  void run(bool /*may_block*/) noexcept override { source_.request_stop(); }

 private:
  std::stop_source source_;
};

}  // namespace

ReconcileLoop::ReconcileLoop(ReconcileWork& work, const Options& options)
    : work_(work), options_(options) {
  DAMPER_CHECK(options.workers >= 1);
}

ReconcileLoop::~ReconcileLoop() {
  for (const Worker& worker : workers_) DAMPER_CHECK(!worker.thread.joinable());
}

void ReconcileLoop::start() {
  const Lock lock(mutex_);
  DAMPER_CHECK(workers_.empty());
  for (int i = 0; i < options_.workers; ++i) {
    Worker& worker = workers_.emplace_back();
    try {
      worker.thread = std::thread([this, &worker] { work(worker); });
    } catch (const std::system_error&) {
      workers_.pop_back();
      if (workers_.empty()) throw;
      return;  // Continue with fewer workers.
    }
  }
}

void ReconcileLoop::work(Worker& worker) {
  this_threads_loop = this;
  Lock lock(mutex_);
  while (!ending_) {
    const Instant now = run::now();
    const ReconcileWork::Next next = work_.next(now, run::draw());
    note_rate(next.rate_limited, now);
    if (next.run) {
      delegate(next.wake, now);
      run(worker, *next.run, now, lock);
      continue;
    }
    if (draining_) over_.notify_all();  // The last ready key may have been held.
    if (next.wake > now) {
      wait(next.wake, now, lock);
    } else {  // Many keys were held: let other threads take the lock.
      lock.unlock();
      lock.lock();
    }
  }
}

// This worker has a key: lets another one run the next ready key, or watch the time.
void ReconcileLoop::delegate(Instant wake, Instant now) {
  if (idle_ == 0 && !watching_) return;
  if (watching_ && wake < watched_until_) watcher_line_.notify_one();
  if (!watching_ || work_.has_ready(now)) notify_one();
}

// Records the time from the first key that had to wait for the rate limit to the next run.
void ReconcileLoop::note_rate(bool limited, Instant now) {
  if (limited == rate_limited_since_.has_value()) return;
  if (limited) {
    rate_limited_since_ = now;
  } else {
    times_.rate_waits.record(between(*rate_limited_since_, now), now);
    rate_limited_since_.reset();
  }
}

void ReconcileLoop::run(Worker& worker, const ReconcileWork::Run& run, Instant started,
                        Lock& lock) {
  ++running_;
  if (options_.wants_stop) {
    worker.stop.emplace();
    if (stop_requested_) worker.stop->request_stop();
  }
  lock.unlock();
  times_.waits.record(run.waited, started);
  const Finish how = run_guarded(worker, run);
  lock.lock();
  const Instant now = run::now();
  times_.works.record(between(started, now), now);
  worker.stop.reset();
  if (now > run.deadline) ++overruns_;
  work_.finish(run.ticket, how, now, run::draw());
  --running_;
  if (work_.has_events()) {
    if (work_.has_ready(now)) notify_one();  // The sink may be slow.
    work_.dispatch_events(lock);
  }
  if ((ending_ || draining_) && is_over()) over_.notify_all();
}

Finish ReconcileLoop::run_guarded(Worker& worker, const ReconcileWork::Run& run) {
  const run::Scope inside(schedule::Deadline(run.deadline),
                          {.retries = options_.owns_retries, .unsent = options_.owns_retries},
                          {.name = options_.name, .attempt = run.attempt});
  try {
    if (!worker.stop) return work_.run(run, RunContext(run.attempt, run.deadline, {}));
    const StopAt deadline(*worker.stop, run.deadline);
    return work_.run(run, RunContext(run.attempt, run.deadline, worker.stop->get_token()));
  } catch (...) {
    const Lock lock(mutex_);
    ++exceptions_;
    return failed_by_exception().finish();
  }
}

void ReconcileLoop::wait(Instant wake, Instant now, Lock& lock) {
  if (watching_) {
    if (wake < watched_until_) watcher_line_.notify_one();  // The watcher recomputes its wake time.
    ++idle_;
    idle_line_.wait(lock);
    --idle_;
    return;
  }
  watching_ = true;
  watched_until_ = wake;
  constexpr Duration kLongestSleep = std::chrono::hours(1);
  (void)watcher_line_.wait_until(lock, run::steady_time(std::min(wake, add(now, kLongestSleep))));
  watching_ = false;
}

void ReconcileLoop::notify_one() {
  if (idle_ > 0) {
    idle_line_.notify_one();
  } else if (watching_) {
    watcher_line_.notify_one();
  }
}

void ReconcileLoop::notify_all() {
  idle_line_.notify_all();
  watcher_line_.notify_all();
  over_.notify_all();
}

void ReconcileLoop::on_added(Instant due, Instant now) {
  if (due <= now) {
    notify_one();
  } else if (!watching_) {
    idle_line_.notify_one();
  } else if (due < watched_until_) {
    watcher_line_.notify_one();
  }
}

void ReconcileLoop::end(Duration grace, Ready ready) {
  DAMPER_CHECK(this_threads_loop != this);  // A run would wait for itself.
  const Instant until = add(run::now(), grace);
  {
    Lock lock(mutex_);
    work_.close();
    (ready == Ready::run ? draining_ : ending_) = true;
    notify_all();
    while (!is_over()) {
      const Instant now = run::now();
      if (now >= until) break;
      constexpr Duration kLongestSleep = std::chrono::hours(1);
      (void)over_.wait_until(lock, run::steady_time(std::min(until, add(now, kLongestSleep))));
    }
    ending_ = true;
    notify_all();
    request_stop(lock);
  }
  const std::lock_guard joining(joining_);  // Of several callers one joins and all wait.
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) worker.thread.join();
  }
}

// Releases the lock: stop callbacks are user code.
void ReconcileLoop::request_stop(Lock& lock) {
  stop_requested_ = true;
  std::vector<std::stop_source> sources;
  for (const Worker& worker : workers_) {
    if (worker.stop) sources.push_back(*worker.stop);
  }
  lock.unlock();
  for (std::stop_source& source : sources) source.request_stop();
}

}  // namespace damper::queue
