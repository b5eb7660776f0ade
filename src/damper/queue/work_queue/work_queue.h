#ifndef DAMPER_QUEUE_WORK_QUEUE_WORK_QUEUE_H_
#define DAMPER_QUEUE_WORK_QUEUE_WORK_QUEUE_H_

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
#include "damper/queue/work_queue/work_queue_core.h"
#include "damper/queue/work_queue/work_queue_options.h"
#include "damper/queue/work_queue/work_queue_shell.h"
#include "damper/run/clock.h"

namespace damper::queue {

// A WorkQueue is a WorkQueueCore for threads: any number of producers and workers.
//
//   damper::queue::WorkQueue<std::string> queue;
//   queue.add("deployments/web");
//   while (auto item = queue.get()) work_on(item.key());  // in each worker; done when item goes
//
// Why: see WorkQueueCore. What is here is waiting: for a key, for a key's time, for the end.
// Model: a worker that finds nothing sleeps. One of those who sleep keeps watch: it sleeps until
// the next delayed key is due, the others until they are woken. Nobody is notified when nobody
// sleeps, nor more sleepers than there are keys.
// Invariants:
//   (1) When a key is ready, no worker sleeps who was not notified of it, up to the number of keys.
//   (2) While somebody sleeps and a key is delayed, somebody watches who wakes at its time.
//   (3) get() ends once the queue is shut down and no key is ready or will be: a key that is under
//       way and was added meanwhile will be. So a thread that has a lease and waits for another one
//       may then wait for itself.
//   (4) drain() ends when no key is ready or under way, for all who drain (traps Q1, Q3).
// Thread safety and cost: see WorkQueueShell.
template <class Key, class Payload = Nothing>
class WorkQueue : public WorkQueueShell<Key, Payload, WorkQueue<Key, Payload>> {
  using Shell = WorkQueueShell<Key, Payload, WorkQueue>;

 public:
  using typename Shell::AddResult;
  using typename Shell::Lease;
  using typename Shell::Unfinished;
  using typename Shell::View;

  // REQUIRES: !find_error(options). Without a limiter: default_limiter (limiters.h).
  explicit WorkQueue(const WorkQueueOptions& options = {},
                     std::unique_ptr<RateLimiter<Key>> limiter = nullptr,
                     Times times = Times::coarse)
      : Shell(options, std::move(limiter), times) {}
  // REQUIRES: no lease is out, nobody waits in get or drain.
  ~WorkQueue() { DAMPER_CHECK(sleepers_ == 0 && drainers_ == 0); }

  // The next key. Waits for one; empty once the queue is shut down and empty.
  [[nodiscard]] Lease get() {
    Lease lease = this->try_get();
    if (!lease) wait(lease, kNever, {});
    return lease;
  }
  // ... or when so much time has passed.
  [[nodiscard]] Lease get_for(Duration timeout) {
    Lease lease = this->try_get();
    if (!lease) wait(lease, in(timeout), {});
    return lease;
  }
  // ... or when it is asked to stop: then it takes no key, even if there is one.
  [[nodiscard]] Lease get(const std::stop_token& stop) {
    Lease lease = stop.stop_requested() ? Lease() : this->try_get();
    if (!lease) wait(lease, kNever, stop);
    return lease;
  }

  // How many wait in get, and in drain.
  [[nodiscard]] std::size_t waiting() const {
    const std::unique_lock lock = this->hold();
    return sleepers_;
  }
  [[nodiscard]] std::size_t draining() const {
    const std::unique_lock lock = this->hold();
    return drainers_;
  }

  struct Drained {
    bool empty = false;                  // no key is ready or under way
    std::vector<Unfinished> unfinished;  // see shut_down
  };
  // Shuts down, and waits until the workers have done all that is ready, under way and added again
  // meanwhile; until the timeout at most.
  Drained drain(Duration timeout = kForever) {
    Drained drained{.empty = false, .unfinished = this->shut_down()};
    const Instant deadline = in(timeout);
    std::unique_lock lock = this->hold();
    ++drainers_;
    while (!core().is_idle() && sleep(drained_, lock, deadline)) {
    }
    --drainers_;
    drained.empty = core().is_idle();
    for (Unfinished& key : this->take_unfinished()) drained.unfinished.push_back(std::move(key));
    return drained;
  }

 private:
  friend Shell;
  using Shell::core;
  enum class Wake : std::uint8_t { none, one, all };

  void wait(Lease& lease, Instant deadline, const std::stop_token& stop) {
    // Before the lock: it may be called at once, and its end waits for its call.
    std::optional<std::stop_callback<WakeAll>> on_stop;
    if (stop.stop_possible()) on_stop.emplace(stop, WakeAll{this});
    std::unique_lock lock = this->hold();
    while (!stop.stop_requested()) {
      this->take(lease, this->glance());
      if (lease || core().is_over()) break;
      if (deadline != kNever && run::now() >= deadline) break;
      sleep_and_watch(lock, deadline);
    }
    this->unlock_and_wake(lock);  // Who watched or was notified passes it on.
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

  // False at the deadline.
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
  // REQUIRES: it is not.
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
      queue->hold().unlock();  // Whoever has seen no stop sleeps by now.
      queue->workers_.notify_all();
    }
  };

  std::size_t sleepers_ = 0;
  std::size_t notified_ = 0;  // of them; they have not come back yet
  std::size_t drainers_ = 0;
  Instant watched_ = kNever;  // somebody sleeps until then
  std::condition_variable workers_;
  std::condition_variable drained_;
};

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_WORK_QUEUE_WORK_QUEUE_H_
