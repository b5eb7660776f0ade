#ifndef DAMPER_RUN_HEDGED_H_
#define DAMPER_RUN_HEDGED_H_

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "damper/engine/call.h"
#include "damper/engine/step.h"
#include "damper/run/attempt.h"
#include "damper/run/attempt_once.h"
#include "damper/run/helper_pool.h"
#include "damper/run/result.h"

namespace damper::run {

// A HedgedCall drives a call whose attempts may run beside each other: the first one and retries on
// the caller's thread, hedges on helpers.
//
// Model: the state machine under a mutex. Whoever has an outcome, or whose timer is due, tells it
// and does what the step says. While the caller is inside an attempt, a task of the pool is its
// timer. A cancelled attempt is asked to stop through its token, and is waited for before
// the call returns: an operation may refer to the caller's stack.
// Thread safety: drive() is called once; the rest is inside.
class HedgedCall {
 public:
  HedgedCall(engine::Call& call, const std::stop_token& stop);
  HedgedCall(const HedgedCall&) = delete;
  HedgedCall& operator=(const HedgedCall&) = delete;

  [[nodiscard]] Verdict drive(const engine::Step& first);

 protected:
  ~HedgedCall() = default;
  // Runs one attempt and keeps its result. Called concurrently, once at a time for each lane. The
  // result of last_lane() is the call's.
  virtual decide::Report attempt(const Attempt& attempt, int lane) noexcept = 0;
  [[nodiscard]] int last_lane() const noexcept { return last_lane_; }

 private:
  struct Lane {
    std::stop_source stop{std::nostopstate};
    bool running = false;    // an operation is in it
    bool cancelled = false;  // and its outcome is not asked for any more
  };
  struct Timer final : HelperPool::Task {
    explicit Timer(HedgedCall& owner) : call(owner) {}
    void run() noexcept override { call.on_timer(); }
    HedgedCall& call;
  };
  using Lock = std::unique_lock<std::mutex>;

  void apply(const engine::Step& step);
  void run_attempt(Lock& lock);
  void wait(Lock& lock);
  void on_timer() noexcept;
  void arm_timer();
  void ask_to_stop();
  [[nodiscard]] bool any_running() const noexcept;

  engine::Call& call_;
  const std::stop_token& stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  engine::Step step_;
  bool to_send_ = false;      // step_.attempt waits for a thread
  bool caller_busy_ = false;  // the caller's thread is inside an attempt
  int last_lane_ = 0;         // whose outcome came last
  std::uint64_t steps_ = 0;   // so far
  std::array<Lane, engine::kLanes> lanes_;
  Timer timer_{*this};
};

// A HedgedCall that keeps the results of a typed operation.
template <class T, class Operation>
class TypedHedgedCall final : public HedgedCall {
 public:
  TypedHedgedCall(engine::Call& call, const std::stop_token& stop, Operation& operation)
      : HedgedCall(call, stop), owns_retries_(call.owns_retries()), operation_(operation) {}

  [[nodiscard]] CallResult<T> result(Verdict verdict, std::uint32_t attempts) {
    std::optional<Result<T>>& last = results_[static_cast<std::size_t>(last_lane())];
    if (verdict == Verdict::success) return {**std::move(last), attempts};
    std::optional<Failure> failure;
    if (last && !*last) failure = std::move(*last).take_error();
    return {verdict, std::move(failure), attempts};
  }

 private:
  decide::Report attempt(const Attempt& attempt, int lane) noexcept override {
    std::optional<Result<T>>& result = results_[static_cast<std::size_t>(lane)];
    result = attempt_once<T>(operation_, attempt, owns_retries_);
    return *result ? decide::Report{} : result->error().report;
  }

  const bool owns_retries_;
  Operation& operation_;
  std::array<std::optional<Result<T>>, engine::kLanes> results_;
};

template <class T, class Operation>
[[nodiscard]] CallResult<T> drive_hedged(engine::Call& call, const engine::Step& first,
                                         const std::stop_token& stop, Operation& operation) {
  TypedHedgedCall<T, Operation> hedged(call, stop, operation);
  const Verdict verdict = hedged.drive(first);
  return hedged.result(verdict, call.attempts());
}

}  // namespace damper::run

#endif  // DAMPER_RUN_HEDGED_H_
