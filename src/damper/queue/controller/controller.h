#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "damper/admit/retry_budget.h"
#include "damper/admit/switches.h"
#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/queue/controller/controller_core.h"
#include "damper/queue/controller/controller_options.h"
#include "damper/queue/controller/reconcile.h"
#include "damper/queue/controller/reconcile_loop.h"
#include "damper/queue/work_queue/event_buffer.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"

namespace damper {

// A Controller runs a function for each added key on a pool of threads, and retries failed keys:
// the counterpart of Go's controller-runtime.
//   damper::Controller<std::string> controller({.workers = 4},
//       [&](const std::string& key) -> damper::Reconcile { return damper::requeue_after(30s); });
//   controller.add("deployments/web");
//
// Why: a plain loop over a queue overloads a dependency in the first outage: all failed keys are
// retried at once, forever. Here the engine decides about retries, as for every guarded call.
// Model: a ControllerCore under a mutex, and a ReconcileLoop of threads. The function is called as
// Reconcile(const Key&) or Reconcile(const Key&, const RunContext&), concurrently for different
// keys. It should establish the key's desired state, whatever the event was, and be idempotent. An
// exception is a failure: a std::system_error by its code, any other transient. Guarded calls in a
// run inherit its deadline and do not retry, unless owns_retries is false.
// Invariants: those of ControllerCore, and
//   (1) A key never runs on two threads at the same time.
//   (2) After stop() or drain(), every added key is done, or was returned by one of them; later
//       adds are refused (Added::closed).
//   (3) A run cannot stop the others, except by blocking forever or ending the process.
// Thread safety: all methods may be called concurrently, also from the function; stop, drain and
// the destructor must not be called from it.
// Cost: two uncontended locks and two clock reads a run; with a RunContext also a stop source and a
// timer. About 200 KiB, most of it histograms.
template <class Key>
class Controller final : private queue::ReconcileWork {
  using Core = queue::ControllerCore<Key>;

 public:
  using View = queue::KeyView<Key>;  // std::string_view for std::string, else const Key&
  using AddResult = typename Core::AddResult;
  using Parked = typename Core::Parked;

  // REQUIRES: !find_error(options). Throws std::system_error if no thread can be started.
  template <class Function>
    requires std::is_invocable_r_v<Reconcile, Function&, const Key&> ||
                 std::is_invocable_r_v<Reconcile, Function&, const Key&, const RunContext&>
  Controller(const ControllerOptions& options, Function reconcile)
      : name_(options.name),
        sink_(options.sink),
        core_(checked(options), {.budget = options.parent_budget, .switches = &damper::switches()},
              options.sink != nullptr ? &events_ : nullptr),
        loop_(*this, {.workers = options.workers,
                      .owns_retries = options.owns_retries,
                      .name = &name_,
                      .wants_stop = kTakesContext<Function>}) {
    auto shared = std::make_shared<Function>(std::move(reconcile));  // It may be move-only.
    reconcile_ = [shared](const Key& key, const RunContext& context) -> Reconcile {
      if constexpr (kTakesContext<Function>) {
        return std::invoke(*shared, key, context);
      } else {
        return std::invoke(*shared, key);
      }
    };
    loop_.start();
  }
  // As stop(): requests a stop of the runs and waits for them. Unfinished keys are discarded.
  ~Controller() { (void)stop(); }
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Adds the key, to run now or after `delay`. Does not block. A key that is ready or in its
  // backoff runs once; a parked key runs without its past failures.
  AddResult add(View key, const queue::AddOptions& how = {}) {
    return add_after(key, Duration{0}, how);
  }
  AddResult add_after(View key, Duration delay, const queue::AddOptions& how = {}) {
    const std::lock_guard lock(loop_.mutex());
    const Instant now = run::now();
    const Instant due = damper::add(now, delay);
    AddResult result = core_.add(key, how, due, now);
    if (is_taken(result.added)) loop_.on_added(due, now);
    return result;
  }

  // At most `most` keys that were given up, longest parked first.
  [[nodiscard]] std::vector<Parked> parked(std::size_t most = SIZE_MAX) {
    const std::lock_guard lock(loop_.mutex());
    return core_.parked(most);
  }
  // Queues a parked key without its past failures; false when it is not parked.
  bool revive(View key) {
    const std::lock_guard lock(loop_.mutex());
    const Instant now = run::now();
    const bool revived = core_.revive(key, now);
    if (revived) loop_.on_added(now, now);
    return revived;
  }
  // Revives all parked keys and returns their number.
  std::size_t revive_all() {
    const std::lock_guard lock(loop_.mutex());
    const Instant now = run::now();
    const std::size_t revived = core_.revive_all(now);
    if (revived > 0) loop_.on_added(now, now);
    return revived;
  }

  // A key that is not done.
  struct Unfinished {
    Key key;
    Instant due;             // of its next run; in the past if it was ready
    std::uint32_t failures;  // consecutive
    Verdict parked_for;      // none: it was not parked
    std::string why;         // the last failure's reason
  };
  // Refuses adds and starts no more runs. Current runs may finish within `grace`; then their
  // RunContext::stop() is set. Blocks until every run has returned. Returns all unfinished keys
  // ordered by `due`; a second call returns none.
  [[nodiscard]] std::vector<Unfinished> stop(Duration grace = Duration{0}) {
    loop_.end(grace, queue::ReconcileLoop::Ready::leave);
    return hand_back();
  }
  // Refuses adds and runs keys until none is ready, or until `timeout`; then as stop(). Delayed
  // keys are returned.
  [[nodiscard]] std::vector<Unfinished> drain(Duration timeout) {
    loop_.end(timeout, queue::ReconcileLoop::Ready::run);
    return hand_back();
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Switch::retries holds failed keys; first runs continue. The parent is damper::switches().
  [[nodiscard]] admit::Switches& switches() noexcept { return core_.requeue().switches(); }
  [[nodiscard]] admit::RetryBudget& budget() noexcept { return core_.requeue().budget(); }
  [[nodiscard]] ControllerStats stats() {
    const std::lock_guard lock(loop_.mutex());
    return {.queue = core_.stats(run::now()),
            .runs = core_.counts(),
            .retries = core_.requeue().counts(),
            .workers = loop_.workers(),
            .overruns = loop_.overruns(),
            .exceptions = loop_.exceptions()};
  }
  [[nodiscard]] const queue::ControllerTimes& times() const noexcept { return loop_.times(); }

 private:
  using Finish = queue::Finish;
  using Ticket = queue::Ticket;
  template <class Function>
  static constexpr bool kTakesContext =
      std::is_invocable_r_v<Reconcile, Function&, const Key&, const RunContext&>;

  static queue::ControllerCoreOptions checked(const ControllerOptions& options) {
    DAMPER_CHECK_VALID(find_error(options));
    return queue::core_options(options);
  }

  Next next(Instant now, double draw) override {
    const typename Core::Next found = core_.next(now, draw);
    if (!found.run) return {{}, found.wake, found.rate_limited};
    const typename Core::Run& run = *found.run;
    return {Run{run.ticket, &core_.key(run.ticket), run.attempt, run.waited, run.deadline},
            core_.next_due(), false};
  }
  void finish(Ticket ticket, const Finish& how, Instant now, double draw) override {
    (void)core_.finish(ticket, how, now, draw);
  }
  bool has_ready(Instant now) override { return core_.has_ready(now); }
  [[nodiscard]] bool is_idle() const override { return core_.is_idle(); }
  void close() override { core_.close(); }
  Finish run(const Run& run, const RunContext& context) override {
    return reconcile_(*static_cast<const Key*>(run.key), context).finish();
  }
  [[nodiscard]] bool has_events() const override { return !events_.empty(); }
  void dispatch_events(std::unique_lock<std::mutex>& lock) override {
    auto events = events_.take();
    lock.unlock();
    queue::dispatch(*sink_, std::move(events));
    lock.lock();
  }

  std::vector<Unfinished> hand_back() {
    const std::lock_guard lock(loop_.mutex());
    std::vector<Unfinished> unfinished;
    for (auto& left : core_.hand_back()) {
      unfinished.push_back({std::move(left.key), left.due, left.payload.record.failures,
                            left.payload.parked_for, std::move(left.payload.why)});
    }
    return unfinished;
  }

  const std::string name_;
  engine::EventSink* const sink_;
  queue::EventBuffer events_;
  Core core_;
  std::function<Reconcile(const Key&, const RunContext&)> reconcile_;
  queue::ReconcileLoop loop_;  // Last: its threads use the rest.
};

}  // namespace damper
