#ifndef DAMPER_QUEUE_CONTROLLER_CONTROLLER_H_
#define DAMPER_QUEUE_CONTROLLER_CONTROLLER_H_

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

// A Controller runs a function for each key that somebody adds, on some threads, and again for as
// long as it fails: what controller-runtime is to Go.
//   damper::Controller<std::string> controller({.workers = 4},
//       [&](const std::string& key) -> damper::Reconcile { return damper::requeue_after(30s); });
//   controller.add("deployments/web");
//
// Why: a loop over a queue is easy to write and melts in the first outage: every failed key comes
// back at once, at the same time, for ever. Here the engine decides, as for every guarded call.
// Model: a ControllerCore under a mutex, and a ReconcileLoop of threads. The function is called as
// Reconcile(const Key&) or Reconcile(const Key&, const RunContext&), concurrently for different
// keys. It should make the world as the key says, whatever the event was, and be harmless to
// repeat. An exception counts as a failure: std::system_error by its code, anything else transient.
// Guarded calls inside it inherit its deadline, and leave the retrying to the controller unless
// owns_retries is false.
// Invariants: those of ControllerCore, and
//   (1) No key runs on two threads at once.
//   (2) After stop() or drain(), every key that was added has been done, or is in what one of them
//       returned; what came too late was refused (Added::closed).
//   (3) Nothing that a run does, but hanging or ending the process, stops the others.
// Thread safety: all methods may be called concurrently, also from the function; stop, drain and
// the destructor may not be called from it.
// Cost: two uncontended locks and two clock reads for a run; with a RunContext, a stop source and a
// timer as well. About 200 KiB, most of it histograms.
template <class Key>
class Controller final : private queue::ReconcileWork {
  using Core = queue::ControllerCore<Key>;

 public:
  using View = queue::KeyView<Key>;  // std::string_view for std::string, else const Key&
  using AddResult = typename Core::AddResult;
  using Parked = typename Core::Parked;

  // REQUIRES: !find_error(options). Throws std::system_error when there is no thread to be had.
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
    auto shared = std::make_shared<Function>(std::move(reconcile));  // It may only be movable.
    reconcile_ = [shared](const Key& key, const RunContext& context) -> Reconcile {
      if constexpr (kTakesContext<Function>) {
        return std::invoke(*shared, key, context);
      } else {
        return std::invoke(*shared, key);
      }
    };
    loop_.start();
  }
  // As stop(): what is under way is asked to stop and waited for. What is unfinished is gone.
  ~Controller() { (void)stop(); }
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // The key is to run, now or after the delay. Never waits. A key that waits already, for its turn
  // or for its backoff, runs once; one that is parked runs anew.
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

  // Those that were given up, the longest first, at most `most`.
  [[nodiscard]] std::vector<Parked> parked(std::size_t most = SIZE_MAX) {
    const std::lock_guard lock(loop_.mutex());
    return core_.parked(most);
  }
  // Lets a parked key run, anew; false when it is not parked. The other one: how many there were.
  bool revive(View key) {
    const std::lock_guard lock(loop_.mutex());
    const Instant now = run::now();
    const bool revived = core_.revive(key, now);
    if (revived) loop_.on_added(now, now);
    return revived;
  }
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
    Instant due;             // when it should have run; in the past if it was ready
    std::uint32_t failures;  // in a row
    Verdict parked_for;      // none: it was not parked
    std::string why;         // of its last failure
  };
  // No more adds, and no more runs. What is under way may finish within `grace`; then its
  // RunContext asks it to stop, and it is waited for: a function that never returns is never left.
  // Returns all that is unfinished, by time; the second time nothing.
  [[nodiscard]] std::vector<Unfinished> stop(Duration grace = Duration{0}) {
    loop_.end(grace, false);
    return hand_back();
  }
  // No more adds; runs what is ready, and what becomes so meanwhile, until nothing is, or the time
  // is over; then as stop(). What waits for its time is returned.
  [[nodiscard]] std::vector<Unfinished> drain(Duration timeout) {
    loop_.end(timeout, true);
    return hand_back();
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Retries off: failed keys are held, first runs go on. Those of the process are above.
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
    DAMPER_CHECK(!find_error(options));
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
  [[nodiscard]] bool has_news() const override { return !events_.empty(); }
  void tell(std::unique_lock<std::mutex>& lock) override {
    auto events = events_.take();
    lock.unlock();
    queue::tell(*sink_, std::move(events));
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

#endif  // DAMPER_QUEUE_CONTROLLER_CONTROLLER_H_
