#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>

#include "damper/decide/outcome.h"
#include "damper/engine/call.h"
#include "damper/run/attempt.h"
#include "damper/run/result.h"
#include "damper/run/scope.h"

namespace damper::run {

// The value that an operation yields: T for Result<T>, Done for an Outcome.
template <class T>
struct ValueOf;
template <class T>
struct ValueOf<Expected<T, Failure>> {
  using type = T;
};
template <>
struct ValueOf<decide::Outcome> {
  using type = Done;
};

template <class Operation>
using OperationValue = typename ValueOf<std::invoke_result_t<Operation&, const Attempt&>>::type;

// What a call retries, so that calls inside its attempts do not.
[[nodiscard]] inline Scope::Owns owned_by(const engine::Call& call) noexcept {
  return {.retries = call.owns_retries(), .unsent = call.owns_unsent()};
}

// Runs one attempt, inside a Scope of its own; what it throws becomes its failure. `name` is the
// dependency's, as whose attempt it is known below if its call owns the retries.
template <class T, class Operation>
[[nodiscard]] Result<T> attempt_once(Operation& operation, const Attempt& attempt, Scope::Owns owns,
                                     const std::string& name) {
  const Scope inside(schedule::Deadline(attempt.deadline()), owns,
                     {.name = &name, .attempt = attempt.number()});
  try {
    if constexpr (std::same_as<std::invoke_result_t<Operation&, const Attempt&>, decide::Outcome>) {
      const decide::Outcome outcome = std::invoke(operation, attempt);
      if (outcome == decide::Outcome::success) return Done{};
      return failed(outcome);
    } else {
      return std::invoke(operation, attempt);
    }
  } catch (...) {
    return failed_by_exception();
  }
}

}  // namespace damper::run
