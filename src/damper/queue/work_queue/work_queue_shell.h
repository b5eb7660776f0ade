#ifndef DAMPER_QUEUE_WORK_QUEUE_WORK_QUEUE_SHELL_H_
#define DAMPER_QUEUE_WORK_QUEUE_WORK_QUEUE_SHELL_H_

#include <algorithm>
#include <atomic>
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

// Which clock a queue looks at where no delay depends on it. Delays are always exact, and so is a
// get while a key is delayed.
enum class Times : std::uint8_t {
  coarse,  // run::coarse_now(): histograms and ages are right to about 4 ms
  exact,   // run::now(): 20 ns more for each add, get and done
};

// A WorkQueueShell gives a WorkQueueCore a lock, a clock, draws and a rate limiter: all that the
// queue for threads (work_queue.h) and the one for Asio (async_work_queue.h) have in common.
//
// Model: each operation looks at the clock, then takes the lock for one call of the core. Derived
// says under the lock whom to wake (find_wake) and wakes them after it (wake). Histograms are
// written outside of it.
// Invariants:
//   (1) No key is handed out before its time: a coarse time is an early one.
//   (2) A key that is delayed or parked after shut_down, or was before, is handed back to exactly
//       one caller of shut_down, drain or hand_back (trap Q4).
//   (3) done twice is harmless and counted (trap Q2).
//   (4) When the queue goes, no lease is out: a failed DAMPER_CHECK otherwise.
// Thread safety: all methods may be called concurrently. The destructor may not: join the workers
// first, since a drain ends when the last key is done, not when the worker has left done().
// Cost: for add, get and done each: a lock that nobody else wants, a coarse clock read and what the
// core costs; no allocation once warm. 174 KiB for the histograms.
template <class Key, class Payload, class Derived>
class WorkQueueShell {
 public:
  using Core = WorkQueueCore<Key, Payload>;
  using View = KeyView<Key>;
  using AddResult = typename Core::AddResult;
  using Unfinished = typename Core::Unfinished;

  // A Lease is a key that somebody works on: nobody else has it until it is done, at the latest
  // when the lease goes. An empty one says that there was nothing.
  // Thread safety: none; it may be moved to another thread.
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
      if (key_ != nullptr) done();
    }

    // Whether there is a key and it is not done.
    explicit operator bool() const noexcept { return key_ != nullptr; }

    // REQUIRES: bool(*this), for the three. No lock is needed: the key stays where it is.
    [[nodiscard]] const Key& key() const noexcept {
      DAMPER_CHECK(key_ != nullptr);
      return *key_;
    }
    // What is remembered with the key while it is in the queue.
    [[nodiscard]] Payload& payload() const noexcept {
      DAMPER_CHECK(key_ != nullptr);
      return *payload_;
    }
    // How long it was ready before it was handed out.
    [[nodiscard]] Duration waited() const noexcept { return waited_; }

    // The work is over. The key runs again if it was added meanwhile. On an empty lease: nothing.
    void done() noexcept {
      if (shell_ == nullptr) return;
      shell_->finish(*this,
                     [](Core& core, Ticket ticket, Instant now) { return core.done(ticket, now); });
    }
    // The same, and the key runs again after so long, or earlier if it was added meanwhile. After
    // shut_down it is handed back instead.
    void done_after(Duration delay) noexcept {
      if (shell_ == nullptr) return;
      shell_->finish_after(*this, delay);
    }
    // The same, after as long as the limiter says, which counts this as a failure of the key: what
    // add_rate_limited is, but after shut_down the key is handed back instead of refused. False
    // when the limiter refuses: then it is not done.
    [[nodiscard]] bool done_rate_limited(const decide::Report& why = {
                                             .outcome = decide::Outcome::transient}) {
      DAMPER_CHECK(key_ != nullptr);
      return shell_->finish_rate_limited(*this, why);
    }
    // The same, and the key stays, parked, until it is added again or revived.
    void park() noexcept {
      if (shell_ == nullptr) return;
      shell_->finish(*this,
                     [](Core& core, Ticket ticket, Instant now) { return core.park(ticket, now); });
    }

   private:
    friend class WorkQueueShell;
    void swap(Lease& other) noexcept {
      std::swap(shell_, other.shell_);
      std::swap(key_, other.key_);
      std::swap(payload_, other.payload_);
      std::swap(ticket_, other.ticket_);
      std::swap(since_, other.since_);
      std::swap(waited_, other.waited_);
    }

    WorkQueueShell* shell_ = nullptr;
    const Key* key_ = nullptr;  // none: empty, or done
    Payload* payload_ = nullptr;
    Ticket ticket_{};
    Instant since_{};
    Duration waited_{0};
  };

  // The key is to run as soon as it may; it is merged with itself if it is here already.
  AddResult add(View key, const AddOptions& how = {}) {
    const Instant now = glance();
    return change([&] { return core_.add(key, how, kAtOnce, now); });
  }
  // ... after so long, or at an earlier time for which it was added.
  AddResult add_after(View key, Duration delay, const AddOptions& how = {}) {
    const Instant now = run::now();
    const Instant due = delay > Duration{0} ? damper::add(now, delay) : kAtOnce;
    return change([&] { return keep_time(core_.add(key, how, due, now)); });
  }
  // ... after as long as the limiter says, which counts this as a failure of the key. It may
  // refuse.
  AddResult add_rate_limited(View key,
                             const decide::Report& why = {.outcome = decide::Outcome::transient},
                             const AddOptions& how = {}) {
    const Instant now = run::now();
    const double draw = run::draw();
    std::optional<Duration> wait;
    AddResult result = change([&]() -> AddResult {
      if (core_.is_closed()) return core_.add(key, how, kAtOnce, now);  // Which says so.
      wait = ask_limiter(key, why, now, draw);
      if (!wait) return {Added::refused, std::nullopt};
      const Instant due = *wait > Duration{0} ? damper::add(now, *wait) : kAtOnce;
      return keep_time(core_.add(key, how, due, now));
    });
    if (wait) meters_->limiter_wait.record(*wait, now);
    return result;
  }
  // What the limiter remembers and has refused.
  [[nodiscard]] LimiterStats limiter_stats() const {
    const std::unique_lock lock = hold();
    return limiter_->stats();
  }
  // The key is well: the limiter begins anew with it.
  void forget(View key) {
    const std::unique_lock lock = hold();
    limiter_->forget(key);
  }
  // How often it was added rate-limited since it was last forgotten.
  [[nodiscard]] std::uint32_t failures(View key) const {
    const std::unique_lock lock = hold();
    return limiter_->failures(key);
  }

  // The next key, if one is ready.
  [[nodiscard]] Lease try_get() {
    const Instant now = glance();
    Lease lease;
    change([&] { take(lease, now); });
    on_taken(lease);
    return lease;
  }

  // Lets a parked key run; false when it is not parked.
  bool revive(View key) {
    const Instant now = glance();
    return change([&] { return core_.revive(key, now); });
  }
  // The parked keys, the longest parked first; `due` is since when.
  [[nodiscard]] std::vector<Unfinished> parked() const {
    std::vector<Unfinished> keys;
    const std::unique_lock lock = hold();
    core_.for_each_parked([&](const Key& key, const Payload& payload, Instant since) {
      keys.push_back({key, payload, since, true});
    });
    return keys;
  }

  // No more adds. What is ready is still handed out; what is delayed or parked is returned, here
  // or, if it comes to be so later, by the next call of these.
  std::vector<Unfinished> shut_down() {
    return change([&] {
      core_.close();
      (void)core_.has_ready(run::now());  // Whose time has come still runs.
      set_aside(core_.hand_back(false));
      return std::exchange(unfinished_, {});
    });
  }
  // Takes out every key that is not under way, the ready ones too: for who cannot wait for a drain.
  std::vector<Unfinished> hand_back() {
    return change([&] {
      set_aside(core_.hand_back(true));
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
    return stats;
  }
  // How long keys were ready before a worker had them, and how long workers had them.
  [[nodiscard]] const Histogram& queue_times() const noexcept { return meters_->queue; }
  [[nodiscard]] const Histogram& work_times() const noexcept { return meters_->work; }
  // What the limiter said: one record for each add_rate_limited that it took.
  [[nodiscard]] const Histogram& limiter_waits() const noexcept { return meters_->limiter_wait; }

  WorkQueueShell(const WorkQueueShell&) = delete;
  WorkQueueShell& operator=(const WorkQueueShell&) = delete;

 protected:
  WorkQueueShell(const WorkQueueOptions& options, std::unique_ptr<RateLimiter<Key>> limiter,
                 Times times)
      : times_(times),
        looks_closely_(times == Times::exact),
        meters_(std::make_unique<Meters>()),
        limiter_(limiter != nullptr ? std::move(limiter) : default_limiter<Key>()),
        core_(options) {}
  ~WorkQueueShell() {
    DAMPER_CHECK(core_.stats(Instant{}).running == 0);  // No lease outlives its queue.
  }

  [[nodiscard]] std::unique_lock<std::mutex> hold() const { return run::lock_patiently(mutex_); }

  // The time, as well as it must be known.
  [[nodiscard]] Instant glance() const noexcept {
    return looks_closely_.load(std::memory_order_relaxed) ? run::now() : run::coarse_now();
  }
  // One operation under the lock; whom it concerns is woken after it.
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
  // The next key, if there is one. REQUIRES: the lock is held; the lease is empty.
  [[gnu::always_inline]] void take(Lease& lease, Instant now) {
    const bool closely = looks_closely_.load(std::memory_order_relaxed);
    if (closely) (void)next_due();
    const auto taken = core_.get(now);
    if (!taken) return;
    lease.shell_ = this;
    lease.key_ = taken->key;
    lease.payload_ = taken->payload;
    lease.ticket_ = taken->ticket;
    // done() looks at the coarse clock: it has no delay to compute.
    lease.since_ = closely && times_ == Times::coarse ? run::coarse_now() : now;
    lease.waited_ = taken->waited;
  }
  // After the lock.
  void on_taken(const Lease& lease) noexcept {
    if (lease) meters_->queue.record(lease.waited_, lease.since_);
  }
  // When the next delayed key is due. With none, times may be coarse again. REQUIRES: the same.
  [[nodiscard]] Instant next_due() {
    const Instant due = core_.next_due();
    looks_closely_.store(times_ == Times::exact || due != kNever, std::memory_order_relaxed);
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
  std::optional<Duration> ask_limiter(View key, const decide::Report& why, Instant now,
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
      wait = ask_limiter(*lease.key_, why, now, draw);
    }
    if (!wait) return false;
    meters_->limiter_wait.record(*wait, now);
    finish_after(lease, *wait);
    return true;
  }
  AddResult keep_time(AddResult result) {
    if (result.added == Added::delayed || result.added == Added::merged) look_closely();
    return result;
  }
  void look_closely() noexcept { looks_closely_.store(true, std::memory_order_relaxed); }

  template <class Operation>
  [[gnu::always_inline]] inline void finish(Lease& lease, Operation operation) noexcept {
    const Instant now = times_ == Times::exact ? run::now() : run::coarse_now();
    change([&] { on_left(operation(core_, lease.ticket_, now)); });
    if (lease.key_ != nullptr) meters_->work.record(between(lease.since_, now), now);
    lease.key_ = nullptr;
    lease.ticket_ = kNobodys;  // The next done is one too many, whoever has the key then.
  }
  void finish_after(Lease& lease, Duration delay) noexcept {
    const Instant due = damper::add(run::now(), std::max(delay, Duration{1}));
    look_closely();
    finish(lease, [due](Core& core, Ticket ticket, Instant now) {
      return core.done_until(ticket, core.is_closed() ? std::max(due, now + Duration{1}) : due,
                             now);
    });
  }
  void on_left(typename Core::Left left) {
    using Left = typename Core::Left;
    if (left == Left::delayed) look_closely();
    if (core_.is_closed() && (left == Left::delayed || left == Left::parked)) [[unlikely]]
      set_aside(core_.hand_back(false));
  }
  void set_aside(std::vector<Unfinished> keys) {
    std::move(keys.begin(), keys.end(), std::back_inserter(unfinished_));
  }

  // The due time of what may run now: earlier than every reading of a clock, none of which is the
  // latest when it comes to the lock.
  static constexpr Instant kAtOnce{};
  static constexpr Ticket kNobodys{.index = ~std::uint32_t{0}, .generation = 0};

  // Read by all, written seldom.
  const Times times_;
  std::atomic<bool> looks_closely_;  // some key may be delayed
  const std::unique_ptr<Meters> meters_;
  const std::unique_ptr<RateLimiter<Key>> limiter_;

  alignas(64) mutable std::mutex mutex_;  // of all below
  std::uint64_t refused_ = 0;             // by the limiter
  std::vector<Unfinished> unfinished_;    // to be handed back
  mutable Core core_;
};

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_WORK_QUEUE_WORK_QUEUE_SHELL_H_
