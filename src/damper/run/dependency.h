#pragma once

#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "damper/admit/switches.h"
#include "damper/engine/call.h"
#include "damper/engine/dependency.h"

namespace damper {
namespace run {

// A WaitingCall is a call on an event loop that waits for its next attempt.
class WaitingCall {
 public:
  WaitingCall() = default;
  WaitingCall(const WaitingCall&) = delete;
  WaitingCall& operator=(const WaitingCall&) = delete;
  virtual ~WaitingCall() = default;

  [[nodiscard]] bool is_in_line() const noexcept { return in_line_; }

 protected:
  // A switch was flipped, on any thread: post CallDriver::on_timer() to the call's loop. Called
  // under a lock: it must not call add() or remove(), nor destroy the call.
  virtual void on_flip() noexcept = 0;

 private:
  friend class WaitingCalls;
  // By hand, not from Boost.Intrusive: damper/damper.h includes this, and needs no Boost.
  WaitingCall* next_ = nullptr;
  WaitingCall* previous_ = nullptr;
  bool in_line_ = false;  // used on its own thread alone
};

// WaitingCalls are the calls of the process that wait in a backoff without a thread of their own. A
// flip of any switch under damper::switches() wakes them; see wait_for_retry() for threads.
//
// Why: a retry that waits must see the kill switch at once, not after its backoff (trap K1).
// Model: one list under one lock. A call locks it twice for each backoff, and only failed calls
// wait: contention is low.
// Invariants:
//   (1) A call that checks the switches after add() misses no flip: it sees the switch, or it is in
//       the list when the flip is dispatched.
//   (2) After remove(), on_flip() is neither called nor running.
// Thread safety: all methods may be called concurrently; for one call, by its own thread.
// Cost: no allocation; add and remove are a lock and a few stores.
class WaitingCalls final : public admit::FlipListener {
 public:
  [[nodiscard]] static WaitingCalls& of_process();

  void add(WaitingCall& call);
  void remove(WaitingCall& call);  // no effect if it is not in the list

  void on_flip() noexcept override;

 private:
  std::mutex mutex_;
  WaitingCall* first_ = nullptr;
};

// Blocks until the call's wake-up time, the flip of any switch, or a stop request, and makes the
// call's next step.
//
// Why: a retry that waits in a backoff must see the kill switch at once, not after the backoff.
// Model: all waiting threads share one condition variable, which every flip notifies. The flips are
// counted before the call checks the switches, so that no flip is missed in between.
void wait_for_retry(engine::Call& call, const std::stop_token& stop);

}  // namespace run

// The switches of the whole process, above those of every Dependency: the kill switch.
//   damper::switches().set(Switch::retries, {.off = true, .reason = "db failover"});
[[nodiscard]] admit::Switches& switches();

// A Dependency as the runtimes use it: an engine::Dependency under the switches of the process, so
// that a flip anywhere wakes the calls that wait.
//   damper::Dependency billing("billing");   // safe defaults
// It outlives its calls, also those that wait on an io_context: destroy that first. A Dependency
// that is destroyed while a call of it is in flight is a failed check, which names the dependency;
// the call would use its memory later.
class Dependency : public engine::Dependency {
 public:
  explicit Dependency(std::string name, const engine::Policy& policy = {},
                      admit::RetryBudget* parent_budget = nullptr)
      : engine::Dependency(std::move(name), policy,
                           {.budget = parent_budget, .switches = &damper::switches()}) {}
  ~Dependency() { check_unused(); }
  Dependency(const Dependency&) = delete;
  Dependency& operator=(const Dependency&) = delete;

 private:
  void check_unused() const noexcept;
};

}  // namespace damper
