#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "damper/base/check.h"
#include "damper/base/histogram.h"
#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/queue/limiters/limiters.h"
#include "damper/queue/limiters/rate_limiter.h"
#include "damper/queue/work_queue/work_queue_core.h"
#include "damper/queue/work_queue/work_queue_options.h"
#include "damper/run/clock.h"
#include "damper/run/patient_lock.h"

namespace damper::queue {

// The clock for operations without a delay. Delays always use the exact clock, and so does get()
// while a key is delayed.
enum class Times : std::uint8_t {
  coarse,  // run::coarse_now(): histograms and ages are accurate to about 4 ms
  exact,   // run::now(): 20 ns more for each add, get and done
};

// A WorkQueueBase adds a lock, a clock, random draws and a rate limiter to a WorkQueueCore: what
// the queues for threads (work_queue.h) and for Asio (async_work_queue.h) have in common.
//
// Model: each operation reads the clock, then holds the lock for one call of the core. Derived
// selects the waiters to wake under the lock (find_wake) and wakes them after unlocking (wake).
// Histograms are written without the lock.
// Invariants:
//   (1) No key is handed out before its time: a coarse time is never late.
//   (2) A key that is delayed or parked at shut_down or later is handed back to exactly one caller
//       of shut_down, drain or hand_back (trap Q4).
//   (3) A second done() is harmless and counted (trap Q2).
//   (4) No lease is outstanding in the destructor: a failed DAMPER_CHECK otherwise.
//   (5) The key of a lease that is destroyed without done() runs again, after the limiter's delay,
//       or kDroppedDelay if the limiter refuses; after shut_down it is handed back.
// Thread safety: all methods may be called concurrently, except the destructor: join the workers
// first, since a drain ends when the last key is done, not when the worker has left done().
// Cost: add, get and done: an uncontended lock, a coarse clock read and the core's cost each; no
// allocation once warm. 174 KiB of histograms. [[gnu::always_inline]]: see WorkQueueCore.
template <class Key, class Payload, class Derived>
class WorkQueueBase {
 public:
  using Core = WorkQueueCore<Key, Payload>;
  using View = KeyView<Key>;
  using AddResult = typename Core::AddResult;
  using Unfinished = typename Core::Unfinished;

  // A Lease is the exclusive use of a key, until done(). An empty lease has no key. A lease that is
  // destroyed without done() hands its key back as done_rate_limited() does: its worker has thrown
  // or returned early, and it is unknown whether the key is done.
  // Thread safety: none; a lease may be moved to another thread.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept { swap(other); }
    Lease& operator=(Lease&& other) noexcept {
      Lease old;
      old.swap(*this);
      swap(other);
      return *this;
    }
    ~Lease() {
      if (key_ != nullptr) queue_->on_dropped(*this);
    }

    // Whether the lease has a key that is not done.
    explicit operator bool() const noexcept { return key_ != nullptr; }

    // REQUIRES: bool(*this), for the three. No lock is needed: entries do not move.
    [[nodiscard]] const Key& key() const noexcept {
      DAMPER_CHECK(key_ != nullptr);
      return *key_;
    }
    // The user's data, kept with the key while it is in the queue.
    [[nodiscard]] Payload& payload() const noexcept {
      DAMPER_CHECK(key_ != nullptr);
      return *payload_;
    }
    // The time in state ready.
    [[nodiscard]] Duration waited() const noexcept { return waited_; }

    // Ends the run. The key runs again if it was added during the run. No effect if empty.
    void done() noexcept {
      if (queue_ == nullptr) return;
      queue_->finish(*this,
                     [](Core& core, Ticket ticket, Instant now) { return core.done(ticket, now); });
    }
    // As done(), and the key runs again after `delay`, or earlier if it was added during the run.
    // After shut_down the key is handed back instead.
    void done_after(Duration delay) noexcept {
      if (queue_ == nullptr) return;
      queue_->finish_after(*this, delay);
    }
    // As done_after() with the limiter's delay; the limiter counts a failure of the key. After
    // shut_down the key is handed back, while add_rate_limited() refuses it. False when the limiter
    // refuses: then the run is not over.
    [[nodiscard]] bool done_rate_limited(const decide::Report& why = {
                                             .outcome = decide::Outcome::transient}) {
      DAMPER_CHECK(key_ != nullptr);
      return queue_->finish_rate_limited(*this, why);
    }
    // As done(), and the key stays parked until it is added again or revived.
    void park() noexcept {
      if (queue_ == nullptr) return;
      queue_->finish(*this,
                     [](Core& core, Ticket ticket, Instant now) { return core.park(ticket, now); });
    }

   private:
    friend class WorkQueueBase;
    void swap(Lease& other) noexcept {
      std::swap(queue_, other.queue_);
      std::swap(key_, other.key_);
      std::swap(payload_, other.payload_);
      std::swap(ticket_, other.ticket_);
      std::swap(since_, other.since_);
      std::swap(waited_, other.waited_);
    }

    WorkQueueBase* queue_ = nullptr;
    const Key* key_ = nullptr;  // nullptr: empty or done
    Payload* payload_ = nullptr;
    Ticket ticket_{};
    Instant since_{};
    Duration waited_{0};
  };

  // Adds the key, to run as soon as possible; merged if the key is waiting already.
  AddResult add(View key, const AddOptions& how = {}) {
    const Instant now = read_clock();
    return change([&] { return core_.add(key, how, kAtOnce, now); });
  }
  // Adds the key, to run after `delay`; an earlier time of the key wins.
  AddResult add_after(View key, Duration delay, const AddOptions& how = {}) {
    const Instant now = run::now();
    const Instant due = delay > Duration{0} ? damper::add(now, delay) : kAtOnce;
    return change([&] { return note_delay(core_.add(key, how, due, now)); });
  }
  // Adds the key with the limiter's delay; the limiter counts a failure of the key, and may refuse.
  AddResult add_rate_limited(View key,
                             const decide::Report& why = {.outcome = decide::Outcome::transient},
                             const AddOptions& how = {}) {
    const Instant now = run::now();
    const double draw = run::draw();
    std::optional<Duration> wait;
    AddResult result = change([&]() -> AddResult {
      if (core_.is_closed()) return core_.add(key, how, kAtOnce, now);  // Counts it.
      wait = query_limiter(key, why, now, draw);
      if (!wait) return {Added::refused, std::nullopt};
      const Instant due = *wait > Duration{0} ? damper::add(now, *wait) : kAtOnce;
      return note_delay(core_.add(key, how, due, now));
    });
    if (wait) meters_->limiter_wait.record(*wait, now);
    return result;
  }
  [[nodiscard]] LimiterStats limiter_stats() const {
    const std::unique_lock lock = hold();
    return limiter_->stats();
  }
  // Clears the key's failures in the limiter.
  void forget(View key) {
    const std::unique_lock lock = hold();
    limiter_->forget(key);
  }
  // The number of rate-limited adds of the key since the last forget().
  [[nodiscard]] std::uint32_t failures(View key) const {
    const std::unique_lock lock = hold();
    return limiter_->failures(key);
  }

  // The next ready key; empty when there is none.
  [[nodiscard]] Lease try_get() {
    const Instant now = read_clock();
    Lease lease;
    change([&] { take(lease, now); });
    on_taken(lease);
    return lease;
  }

  // Queues a parked key; false when it is not parked.
  bool revive(View key) {
    const Instant now = read_clock();
    return change([&] { return core_.revive(key, now); });
  }
  // The parked keys, longest parked first; `due` is when each was parked.
  [[nodiscard]] std::vector<Unfinished> parked() const {
    std::vector<Unfinished> keys;
    const std::unique_lock lock = hold();
    core_.for_each_parked([&](const Key& key, const Payload& payload, Instant since) {
      keys.push_back({key, payload, since, true});
    });
    return keys;
  }

  // Refuses adds from now on. Ready keys are still handed out. Returns the delayed and parked keys;
  // keys that become so later are returned by the next call of shut_down, drain or hand_back.
  std::vector<Unfinished> shut_down() {
    return change([&] {
      core_.close();
      (void)core_.has_ready(run::now());  // Keys that are due still run.
      keep_unfinished(core_.hand_back(HandBack::all_but_ready));
      return std::exchange(unfinished_, {});
    });
  }
  // Removes and returns every key that is not running, also ready ones: a drain without a wait.
  std::vector<Unfinished> hand_back() {
    return change([&] {
      keep_unfinished(core_.hand_back());
      return std::exchange(unfinished_, {});
    });
  }
  [[nodiscard]] bool is_closed() const {
    const std::unique_lock lock = hold();
    return core_.is_closed();
  }

  [[nodiscard]] QueueStats stats() const {
    const std::unique_lock lock = hold();
    QueueStats stats = core_.stats(run::now());
    stats.refused += refused_;
    stats.dropped = dropped_;
    return stats;
  }
  // The time of keys in state ready, and the duration of runs.
  [[nodiscard]] const Histogram& queue_times() const noexcept { return meters_->queue; }
  [[nodiscard]] const Histogram& work_times() const noexcept { return meters_->work; }
  // The limiter's delays, one for each rate-limited add that it accepted.
  [[nodiscard]] const Histogram& limiter_waits() const noexcept { return meters_->limiter_wait; }

  WorkQueueBase(const WorkQueueBase&) = delete;
  WorkQueueBase& operator=(const WorkQueueBase&) = delete;

 protected:
  WorkQueueBase(const WorkQueueOptions& options, std::unique_ptr<RateLimiter<Key>> limiter,
                Times times)
      : times_(times),
        needs_exact_time_(times == Times::exact),
        meters_(std::make_unique<Meters>()),
        limiter_(limiter != nullptr ? std::move(limiter) : default_limiter<Key>()),
        core_(options) {}
  ~WorkQueueBase() {
    DAMPER_CHECK(core_.stats(Instant{}).running == 0);  // No lease outlives its queue.
  }

  [[nodiscard]] std::unique_lock<std::mutex> hold() const { return run::lock_patiently(mutex_); }

  // The exact time while a key may be delayed, else a coarse one.
  [[nodiscard]] Instant read_clock() const noexcept {
    return needs_exact_time_.load(std::memory_order_relaxed) ? run::now() : run::coarse_now();
  }
  // Runs an operation under the lock, then wakes the waiters that it concerns.
  template <class Operation>
  [[gnu::always_inline]] inline auto change(Operation operation) {
    std::unique_lock lock = hold();
    if constexpr (std::is_void_v<decltype(operation())>) {
      operation();
      unlock_and_wake(lock);
    } else {
      auto result = operation();
      unlock_and_wake(lock);
      return result;
    }
  }
  void unlock_and_wake(std::unique_lock<std::mutex>& lock) {
    auto wake = derived().find_wake();
    lock.unlock();
    derived().wake(std::move(wake));
  }
  // Fills the lease with the next ready key. REQUIRES: the lock is held; the lease is empty.
  [[gnu::always_inline]] void take(Lease& lease, Instant now) {
    const bool exact = needs_exact_time_.load(std::memory_order_relaxed);
    if (exact) (void)next_due();
    const auto taken = core_.get(now);
    if (!taken) return;
    lease.queue_ = this;
    lease.key_ = taken->key;
    lease.payload_ = taken->payload;
    lease.ticket_ = taken->ticket;
    // done() reads the coarse clock: it has no delay to compute.
    lease.since_ = exact && times_ == Times::coarse ? run::coarse_now() : now;
    lease.waited_ = taken->waited;
  }
  // REQUIRES: the lock is not held.
  void on_taken(const Lease& lease) noexcept {
    if (lease) meters_->queue.record(lease.waited_, lease.since_);
  }
  // The due time of the next delayed key. With kNever, times become coarse. REQUIRES: the lock.
  [[nodiscard]] Instant next_due() {
    const Instant due = core_.next_due();
    needs_exact_time_.store(times_ == Times::exact || due != kNever, std::memory_order_relaxed);
    return due;
  }

  [[nodiscard]] Core& core() noexcept { return core_; }
  [[nodiscard]] std::vector<Unfinished> take_unfinished() { return std::exchange(unfinished_, {}); }

 private:
  struct Meters {
    Histogram queue;
    Histogram work;
    Histogram limiter_wait;
  };

  Derived& derived() noexcept { return static_cast<Derived&>(*this); }

  // REQUIRES: the lock is held.
  std::optional<Duration> query_limiter(View key, const decide::Report& why, Instant now,
                                        double draw) {
    const std::optional<Duration> wait = limiter_->when(key, why, now, draw);
    if (!wait) ++refused_;
    return wait;
  }
  bool finish_rate_limited(Lease& lease, const decide::Report& why) {
    const Instant now = run::now();
    const double draw = run::draw();
    std::optional<Duration> wait;
    {
      const std::unique_lock lock = hold();
      wait = query_limiter(*lease.key_, why, now, draw);
    }
    if (!wait) return false;
    meters_->limiter_wait.record(*wait, now);
    finish_after(lease, *wait);
    return true;
  }
  void on_dropped(Lease& lease) noexcept {
    {
      const std::unique_lock lock = hold();
      ++dropped_;
    }
    try {
      if (finish_rate_limited(lease, {.outcome = decide::Outcome::transient})) return;
    } catch (...) {  // The limiter found no memory for the key.
    }
    finish_after(lease, kDroppedDelay);
  }
  AddResult note_delay(AddResult result) {
    if (result.added == Added::delayed || result.added == Added::merged) require_exact_time();
    return result;
  }
  void require_exact_time() noexcept { needs_exact_time_.store(true, std::memory_order_relaxed); }

  template <class Operation>
  [[gnu::always_inline]] inline void finish(Lease& lease, Operation operation) noexcept {
    const Instant now = times_ == Times::exact ? run::now() : run::coarse_now();
    change([&] { on_run_over(operation(core_, lease.ticket_, now)); });
    if (lease.key_ != nullptr) meters_->work.record(between(lease.since_, now), now);
    lease.key_ = nullptr;
    lease.ticket_ = kNoTicket;  // A second done() must not end the key's next run.
  }
  void finish_after(Lease& lease, Duration delay) noexcept {
    const Instant due = damper::add(run::now(), std::max(delay, Duration{1}));
    require_exact_time();
    finish(lease, [due](Core& core, Ticket ticket, Instant now) {
      return core.done_until(ticket, core.is_closed() ? std::max(due, now + Duration{1}) : due,
                             now);
    });
  }
  void on_run_over(typename Core::AfterRun state) {
    using AfterRun = typename Core::AfterRun;
    if (state == AfterRun::delayed) require_exact_time();
    if (core_.is_closed() && (state == AfterRun::delayed || state == AfterRun::parked)) [[unlikely]]
      keep_unfinished(core_.hand_back(HandBack::all_but_ready));
  }
  void keep_unfinished(std::vector<Unfinished> keys) {
    std::move(keys.begin(), keys.end(), std::back_inserter(unfinished_));
  }

  // The due time for "now": before every clock reading, since another thread may take the lock with
  // a later one first.
  static constexpr Instant kAtOnce{};
  static constexpr Duration kDroppedDelay = std::chrono::seconds(1);
  static constexpr Ticket kNoTicket{.index = ~std::uint32_t{0}, .generation = 0};

  // Read by all threads, rarely written.
  const Times times_;
  std::atomic<bool> needs_exact_time_;  // a key may be delayed
  const std::unique_ptr<Meters> meters_;
  const std::unique_ptr<RateLimiter<Key>> limiter_;

  alignas(64) mutable std::mutex mutex_;  // guards all members below
  std::uint64_t refused_ = 0;             // by the limiter
  std::uint64_t dropped_ = 0;             // leases
  std::vector<Unfinished> unfinished_;    // for the next shut_down, drain or hand_back
  mutable Core core_;
};

}  // namespace damper::queue
