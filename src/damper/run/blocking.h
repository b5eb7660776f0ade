#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "damper/engine/call.h"
#include "damper/run/attempt.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"
#include "damper/run/hedged.h"
#include "damper/run/result.h"
#include "damper/run/scope.h"

namespace damper {

// The options of one call; the rest is the dependency's policy.
struct Options {
  bool idempotent = false;    // it may be repeated; if not, it is only retried if it was not sent
  bool safe = false;          // it only reads: idempotent, and hedged if the policy hedges
  Instant deadline = kNever;  // damper::in(800ms); the policy's timeout holds as well
  std::stop_token stop{};     // ends the call, also during a backoff: verdict `cancelled`
  bool owned_above = false;   // a layer above retries this request; detected within a process
};

namespace run {

[[nodiscard]] inline engine::CallOptions engine_options(const Options& options) noexcept {
  const schedule::Deadline deadline =
      Scope::deadline().earlier(schedule::Deadline(options.deadline));
  return {.request = {.idempotent = options.idempotent || options.safe,
                      .safe = options.safe,
                      .owned_above = options.owned_above || Scope::owned_above(),
                      .unsent_owned_above = Scope::unsent_owned_above()},
          .deadline = deadline,
          .from_stranger = Scope::is_strangers(deadline)};
}

// Starts the call, unless its stop token is set already: then it is cancelled.
inline void start(engine::Call& call, const std::stop_token& stop) noexcept {
  const Instant started = quick_now();
  if (stop.stop_requested()) return call.on_cancel(started);
  call.start(started, draw());
}

// Drives a started call on this thread: attempts run and backoffs wait here. `name` is the
// dependency's.
template <class T, class Operation>
[[nodiscard]] CallResult<T> drive(engine::Call& call, const std::string& name,
                                  const Options& options, Operation& operation) {
  std::optional<Failure> last;
  while (!call.step().over()) {
    if (!call.step().sends) {
      wait_for_retry(call, options.stop);
      continue;
    }
    const engine::Attempt& sent = call.step().attempt;  // Unchanged until the next input.
    Result<T> result =
        attempt_once<T>(operation, Attempt(sent, options.stop), owned_by(call), name);
    if (result) [[likely]] {
      call.on_success(sent.lane, quick_now());
      return {*std::move(result), call.attempts()};
    }
    last = std::move(result).take_error();
    call.on_outcome(sent.lane, last->report, now(), draw());
  }
  return {call.step().verdict, std::move(last), call.attempts()};
}

template <class Operation>
auto call_with(Dependency& dependency, const Options& options,
               const engine::CallOptions& engine_options, Operation&& operation) {
  using T = OperationValue<Operation>;
  engine::Call call(dependency, engine_options);
  start(call, options.stop);
  if (call.may_hedge()) [[unlikely]] {
    return drive_hedged<T>(call, dependency.name(), options.stop, operation);
  }
  return drive<T>(call, dependency.name(), options, operation);
}

}  // namespace run

// Guards one operation with retries, a deadline, a budget, a breaker and all else of the
// dependency's policy, on this thread.
//
// The operation is called once for each attempt, as Result<T>(const Attempt&). It may also return
// an Outcome, a Report or an error code; or a plain T or nothing, if it fails only by exceptions.
// It observes attempt.timeout(). An exception is a failure: by damper::classify();
// std::system_error and boost::system::system_error by their code; any other is `permanent`, but
// gives no verdict to breaker, limit and throttle, since its cause is unknown. CallResult::value()
// rethrows it. A cancellation without a request (ECANCELED, operation_aborted) is a timeout.
// During a backoff a kill switch or options.stop ends the call at once.
// If the policy enables hedging and the options say `safe`, a second attempt may run beside the
// first, on a helper thread. The operation must then be safe to run concurrently with itself, and
// should return soon after attempt.stop() is requested, since the call waits for the loser.
// Cost: without a failure about two reads of the steady clock; no allocation.
template <class Operation>
  requires std::invocable<Operation&, const Attempt&>
[[nodiscard]] auto call(Dependency& dependency, const Options& options, Operation&& operation) {
  return run::call_with(dependency, options, run::engine_options(options), operation);
}
// With the default options: not idempotent, so retried only if it was not sent.
template <class Operation>
  requires std::invocable<Operation&, const Attempt&>
[[nodiscard]] auto call(Dependency& dependency, Operation&& operation) {
  return call(dependency, Options{}, operation);
}

}  // namespace damper
