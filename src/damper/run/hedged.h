#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "damper/engine/call.h"
#include "damper/engine/step.h"
#include "damper/run/attempt.h"
#include "damper/run/helper_pool.h"
#include "damper/run/result.h"
#include "damper/run/scope.h"

namespace damper::run {

// A HedgedCall drives a call whose attempts may run beside each other: the first one and retries on
// the caller's thread, hedges on helpers.
//
// Model: the state machine under a mutex. A thread with an outcome or a due timer makes it an input
// and executes the step. While the caller's thread is inside an attempt, a task of the pool is the
// timer, and runs a due hedge. A cancelled attempt is stopped through its token, its outcome is
// discarded, and drive() waits for it: an operation may refer to the caller's stack.
// Invariants:
//   (1) The state machine gets the outcome of each attempt once, and of no cancelled one.
//   (2) When drive() returns, no attempt runs and none will.
//   (3) No stop callback, which is the user's code, runs under the mutex.
//   (4) Without a free helper the call continues unhedged, and still ends by its deadline.
// Thread safety: drive() is called once; the rest is inside.
class HedgedCall {
 public:
  HedgedCall(engine::Call& call, const std::stop_token& stop);
  HedgedCall(const HedgedCall&) = delete;
  HedgedCall& operator=(const HedgedCall&) = delete;

  [[nodiscard]] Verdict drive() noexcept;

 protected:
  // The lock of the state machine, and the attempts to stop once it is released.
  struct StepLock {
    explicit StepLock(std::mutex& mutex) : lock(mutex) {}
    StepLock(StepLock&&) noexcept = default;
    ~StepLock() { end(); }
    void end();

    std::array<std::optional<std::stop_source>, engine::kLanes> losers;
    std::unique_lock<std::mutex> lock;
  };
  // An attempt that runs, on the stack of the thread that runs it.
  struct Running {
    engine::Attempt attempt;
    std::stop_source stop;
    bool cancelled = false;  // its outcome is discarded
  };

  ~HedgedCall() = default;
  // Runs one attempt and reports it to on_outcome(). Called concurrently.
  virtual void run(const Attempt& attempt, Running& running) noexcept = 0;
  // The lock under which the result becomes the call's; nothing if the attempt was cancelled.
  [[nodiscard]] std::optional<StepLock> on_outcome(Running& running, const decide::Report& report);

 private:
  struct Timer final : HelperPool::Task {
    explicit Timer(HedgedCall& owner) : call(owner) {}
    void run(bool may_block) noexcept override { call.on_timer(may_block); }
    HedgedCall& call;
  };

  void apply(StepLock& held);
  void send(StepLock& held);
  void wait(StepLock& held);
  void on_timer(bool may_hedge) noexcept;
  void on_stop();
  void arm_timer(Instant due);
  [[nodiscard]] bool any_active() const noexcept;
  [[nodiscard]] Instant latest_deadline() const noexcept;

  engine::Call& call_;
  const std::stop_token& stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  engine::Step step_;                             // the call's last, for readers under the mutex
  std::optional<engine::Attempt> to_send_;        // waits for a thread
  bool caller_busy_ = false;                      // the caller's thread is inside an attempt
  std::uint64_t steps_ = 0;                       // applied
  std::array<Running*, engine::kLanes> lanes_{};  // the attempts that are not cancelled
  Timer timer_{*this};
};

// A HedgedCall that keeps the results of a typed operation.
template <class T, class Operation>
class TypedHedgedCall final : public HedgedCall {
 public:
  // The dependency's name outlives it.
  TypedHedgedCall(engine::Call& call, const std::string& name, const std::stop_token& stop,
                  Operation& operation)
      : HedgedCall(call, stop),
        owns_(owned_by(call)),
        caller_(std::this_thread::get_id()),
        inherited_(Scope::take_along()),
        name_(name),
        operation_(operation) {}

  [[nodiscard]] CallResult<T> result(Verdict verdict, std::uint32_t attempts) {
    if (verdict == Verdict::success) return {**std::move(last_), attempts};
    std::optional<Failure> failure;
    if (last_) failure = std::move(*last_).take_error();
    return {verdict, std::move(failure), attempts};
  }

 private:
  void run(const Attempt& attempt, Running& running) noexcept override {
    std::optional<Scope> inherits;  // A helper thread has none of the caller's scopes.
    if (std::this_thread::get_id() != caller_) inherits.emplace(inherited_);
    Result<T> result = attempt_once<T>(operation_, attempt, owns_, name_);
    const decide::Report report = result ? decide::Report{} : result.error().report;
    if (const auto held = on_outcome(running, report)) last_.emplace(std::move(result));
  }

  const Scope::Owns owns_;
  const std::thread::id caller_;
  const RequestContext inherited_;  // by the attempts on helper threads
  const std::string& name_;
  Operation& operation_;
  std::optional<Result<T>> last_;  // the last result that was not discarded
};

template <class T, class Operation>
[[nodiscard]] CallResult<T> drive_hedged(engine::Call& call, const std::string& name,
                                         const std::stop_token& stop, Operation& operation) {
  TypedHedgedCall<T, Operation> hedged(call, name, stop, operation);
  const Verdict verdict = hedged.drive();
  return hedged.result(verdict, call.attempts());
}

}  // namespace damper::run
