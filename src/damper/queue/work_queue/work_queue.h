#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/queue/limiters/rate_limiter.h"
#include "damper/queue/work_queue/work_queue_base.h"
#include "damper/queue/work_queue/work_queue_core.h"
#include "damper/queue/work_queue/work_queue_options.h"
#include "damper/run/clock.h"

namespace damper::queue {

// A WorkQueue is a WorkQueueCore for any number of producer and worker threads.
//
//   damper::queue::WorkQueue<std::string> queue;
//   queue.add("deployments/web");
//   while (auto item = queue.get()) {  // in each worker
//     work_on(item.key());
//     item.done();
//   }
//
// If work_on() throws, the key is handed back, and runs again after the limiter's delay.
// Why: see WorkQueueCore. This class adds blocking: for a key, for a key's time, for a drain.
// Model: a worker that finds no ready key sleeps. One sleeper, the watcher, sleeps until the next
// delayed key is due, the others until they are notified. At most as many sleepers are notified as
// there are ready keys, and none if no thread sleeps.
// Invariants:
//   (1) While a key is ready, every sleeper has been notified, up to the number of ready keys.
//   (2) While a thread sleeps and a key is delayed, a watcher wakes at the key's time.
//   (3) get() returns once the queue is shut down and no key is ready or will be. A running key
//       that was added again will be: a thread that holds its lease in get() may wait for itself.
//   (4) Every drain() returns when no key is ready or running (traps Q1, Q3), at its timeout, or
//       when shut_down() is called after it.
// Thread safety and cost: see WorkQueueBase.
template <class Key, class Payload = Nothing>
class WorkQueue : public WorkQueueBase<Key, Payload, WorkQueue<Key, Payload>> {
  using Base = WorkQueueBase<Key, Payload, WorkQueue>;

 public:
  using typename Base::AddResult;
  using typename Base::Lease;
  using typename Base::Unfinished;
  using typename Base::View;

  // REQUIRES: !find_error(options). Without a limiter: default_limiter (limiters.h).
  explicit WorkQueue(const WorkQueueOptions& options = {},
                     std::unique_ptr<RateLimiter<Key>> limiter = nullptr,
                     Times times = Times::coarse)
      : Base(options, std::move(limiter), times) {}
  // REQUIRES: no lease is outstanding, no thread is in get or drain.
  ~WorkQueue() { DAMPER_CHECK(sleepers_ == 0 && drainers_ == 0); }

  // Blocks until a key is ready; empty once the queue is shut down and has no key to run.
  [[nodiscard]] Lease get() {
    Lease lease = this->try_get();
    if (!lease) wait(lease, kNever, {});
    return lease;
  }
  // As get(); also empty after `timeout`.
  [[nodiscard]] Lease get_for(Duration timeout) {
    Lease lease = this->try_get();
    if (!lease) wait(lease, in(timeout), {});
    return lease;
  }
  // As get(); also empty after a stop request, even if a key is ready.
  [[nodiscard]] Lease get(const std::stop_token& stop) {
    Lease lease = stop.stop_requested() ? Lease() : this->try_get();
    if (!lease) wait(lease, kNever, stop);
    return lease;
  }

  // The number of threads that are blocked in get, and in drain.
  [[nodiscard]] std::size_t waiting() const {
    const std::unique_lock lock = this->hold();
    return sleepers_;
  }
  [[nodiscard]] std::size_t draining() const {
    const std::unique_lock lock = this->hold();
    return drainers_;
  }

  // See WorkQueueBase. Also ends the waiting drains: the second signal of an impatient operator.
  std::vector<Unfinished> shut_down() {
    {
      const std::unique_lock lock = this->hold();
      ++shut_downs_;
    }
    return Base::shut_down();  // Wakes them.
  }

  struct Drained {
    bool empty = false;                  // no key is ready or running
    std::vector<Unfinished> unfinished;  // see shut_down
  };
  // Shuts down and blocks until the workers have finished all ready and running keys, including
  // those that are added again, or until `timeout` or shut_down().
  Drained drain(Duration timeout = kForever) {
    const Instant deadline = in(timeout);
    std::unique_lock lock = this->hold();
    const std::uint64_t shut_downs = shut_downs_;
    lock.unlock();
    Drained drained{.empty = false, .unfinished = Base::shut_down()};
    lock.lock();
    ++drainers_;
    while (!core().is_idle() && shut_downs == shut_downs_ && sleep(drained_, lock, deadline)) {
    }
    --drainers_;
    drained.empty = core().is_idle();
    for (Unfinished& key : this->take_unfinished()) drained.unfinished.push_back(std::move(key));
    return drained;
  }

 private:
  friend Base;
  using Base::core;
  enum class Wake : std::uint8_t { none, one, all };

  void wait(Lease& lease, Instant deadline, const std::stop_token& stop) {
    // Without the lock: the callback may run in the constructor, and the destructor waits for it.
    std::optional<std::stop_callback<WakeAll>> on_stop;
    if (stop.stop_possible()) on_stop.emplace(stop, WakeAll{this});
    std::unique_lock lock = this->hold();
    while (!stop.stop_requested()) {
      this->take(lease, this->read_clock());
      if (lease || core().is_over()) break;
      if (deadline != kNever && run::now() >= deadline) break;
      sleep_and_watch(lock, deadline);
    }
    this->unlock_and_wake(lock);  // A watcher or notified sleeper hands its role on.
    this->on_taken(lease);
  }

  void sleep_and_watch(std::unique_lock<std::mutex>& lock, Instant deadline) {
    const Instant due = this->next_due();
    const bool watches = due < watched_;
    if (watches) watched_ = due;
    ++sleepers_;
    (void)sleep(workers_, lock, watches ? std::min(due, deadline) : deadline);
    --sleepers_;
    if (notified_ > 0) --notified_;
    if (watches && watched_ == due) watched_ = kNever;
  }

  // Returns false at the deadline.
  static bool sleep(std::condition_variable& line, std::unique_lock<std::mutex>& lock,
                    Instant deadline) {
    if (deadline == kNever) {
      line.wait(lock);
      return true;
    }
    return line.wait_until(lock, run::steady_time(deadline)) == std::cv_status::no_timeout;
  }

  // REQUIRES: the lock is held.
  [[nodiscard]] Wake find_wake() {
    if (core().is_closed()) [[unlikely]]
      return sleepers_ + drainers_ > 0 ? Wake::all : Wake::none;
    if (sleepers_ == notified_) [[likely]]
      return Wake::none;
    if (core().ready() <= notified_ && core().next_due() >= watched_) return Wake::none;
    ++notified_;
    return Wake::one;
  }
  // REQUIRES: the lock is not held.
  void wake(Wake who) {
    if (who == Wake::none) [[likely]]
      return;
    if (who == Wake::one) {
      workers_.notify_one();
    } else {
      workers_.notify_all();
      drained_.notify_all();
    }
  }
  struct WakeAll {
    WorkQueue* queue;
    void operator()() const {
      queue->hold().unlock();  // A thread that saw no stop request sleeps by now.
      queue->workers_.notify_all();
    }
  };

  std::size_t sleepers_ = 0;
  std::size_t notified_ = 0;  // sleepers that have not woken up yet
  std::size_t drainers_ = 0;
  std::uint64_t shut_downs_ = 0;
  Instant watched_ = kNever;  // the watcher sleeps until then
  std::condition_variable workers_;
  std::condition_variable drained_;
};

}  // namespace damper::queue
