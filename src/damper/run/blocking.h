#ifndef DAMPER_RUN_BLOCKING_H_
#define DAMPER_RUN_BLOCKING_H_

#include <concepts>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "damper/engine/call.h"
#include "damper/run/attempt.h"
#include "damper/run/attempt_once.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"
#include "damper/run/hedged.h"
#include "damper/run/result.h"
#include "damper/run/scope.h"
#include "damper/run/waiting_calls.h"

namespace damper {

// What you say of one call; the dependency's policy says the rest.
struct Options {
  bool idempotent = false;    // it may be repeated; without your word only what never left is
  Instant deadline = kNever;  // damper::in(800ms); the policy's timeout holds as well
  std::stop_token stop{};     // ends the call, also while it waits: verdict `cancelled`
  bool owned_above = false;   // a layer above retries this request; found by itself in-process
};

namespace run {

[[nodiscard]] inline engine::CallOptions engine_options(const Options& options) noexcept {
  return {.idempotent = options.idempotent,
          .owned_above = options.owned_above || Scope::owned_above(),
          .unsent_owned_above = Scope::unsent_owned_above(),
          .deadline = Scope::deadline().earlier(schedule::Deadline(options.deadline))};
}

// The call's state machine, driven by this thread: attempts run here, waits park here. `step` is
// the call's own, and changes with it; `name` is the dependency's.
template <class T, class Operation>
[[nodiscard]] CallResult<T> drive(engine::Call& call, const engine::Step& step,
                                  const std::string& name, const Options& options,
                                  Operation& operation) {
  std::optional<Failure> last;
  while (!step.over()) {
    if (!step.sends) {
      (void)wait_for_retry(call, options.stop);
      continue;
    }
    const Attempt attempt(step.attempt, options.stop);
    Result<T> result = attempt_once<T>(operation, attempt, owned_by(call), name);
    if (result) [[likely]] {
      (void)call.on_success(step.attempt.lane, now());
      return {*std::move(result), call.attempts()};
    }
    last = std::move(result).take_error();
    (void)call.on_outcome(step.attempt.lane, last->report, now(), draw());
  }
  return {step.verdict, std::move(last), call.attempts()};
}

template <class Operation>
auto call_with(Dependency& dependency, const Options& options,
               const engine::CallOptions& engine_options, Operation&& operation) {
  using T = OperationValue<Operation>;
  engine::Call call(dependency, engine_options);
  const Instant started = now();  // Before the draw: reading the clock waits for what is under way.
  const engine::Step& first =
      options.stop.stop_requested() ? call.on_cancel(started) : call.start(started, draw());
  if (call.may_hedge()) [[unlikely]] {
    return drive_hedged<T>(call, first, dependency.name(), options.stop, operation);
  }
  return drive<T>(call, first, dependency.name(), options, operation);
}

}  // namespace run

// Guards one operation: retries, deadline, budget, breaker and all that the dependency's policy
// says, on this thread.
//
// The operation is called once for each attempt, as Result<T>(const Attempt&) or
// Outcome(const Attempt&). It keeps to attempt.timeout() and returns a value, or how it failed; an
// exception is a failure too: std::system_error by its code, anything else `permanent`, and
// CallResult::value() throws it again.
// While the call waits for its next attempt, a kill switch and options.stop end it at once.
// With hedging in the policy a second attempt may run beside the first, on a helper thread: the
// operation must be safe to run twice at once, and should return soon after attempt.stop() asks it
// to, since the call waits for the loser.
// Cost: without a failure two clock reads and a few uncontended stores; no allocation.
template <class Operation>
  requires std::invocable<Operation&, const Attempt&>
[[nodiscard]] auto call(Dependency& dependency, const Options& options, Operation&& operation) {
  return run::call_with(dependency, options, run::engine_options(options), operation);
}

}  // namespace damper

#endif  // DAMPER_RUN_BLOCKING_H_
