#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/engine/call.h"
#include "damper/engine/step.h"
#include "damper/run/result.h"
#include "damper/run/scope.h"

namespace boost::system {
class system_error;  // Defined in programs that include Boost's header, and classified there.
}  // namespace boost::system

namespace damper {

// An Attempt is the argument of an operation: number, deadline and stop token of one attempt.
class Attempt {
 public:
  Attempt(const engine::Attempt& attempt, const std::stop_token& stop) noexcept
      : attempt_(attempt), stop_(stop) {}

  [[nodiscard]] std::uint32_t number() const noexcept { return attempt_.number; }  // from 1
  // Whether it runs beside another one: send it to another replica if there is one.
  [[nodiscard]] bool hedge() const noexcept { return attempt_.hedge; }
  // When it must be over, and how long that was from its start.
  [[nodiscard]] Instant deadline() const noexcept { return attempt_.deadline; }
  [[nodiscard]] Duration timeout() const noexcept {
    return std::max(Duration{0}, between(attempt_.sent, attempt_.deadline));
  }
  // Stop is requested when the caller gives up or another attempt has won.
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

 private:
  const engine::Attempt& attempt_;
  const std::stop_token& stop_;
};

namespace run {

// An error type where `Context` is compiled: whether its header was included there.
template <class Error, class Context>
struct DependentError {
  using type = Error;
};
template <class Error, class Context>
concept Defined = requires { sizeof(typename DependentError<Error, Context>::type); };

// The failure that an operation throws, of which the caller's code may know more types than this
// library: it links no Boost.
template <class Operation>
[[nodiscard]] Unexpected<Failure> failed_by_exception_of() noexcept {
  using BoostError = boost::system::system_error;
  if constexpr (Defined<BoostError, Operation>) {
    return failed_by_coded_exception<typename DependentError<BoostError, Operation>::type>();
  } else {
    return failed_by_exception();
  }
}

// The value that an operation yields: T for Result<T> and for T; Done for nothing, an Outcome, a
// Report or an error code.
template <class T>
struct ValueOf {
  using type = std::remove_cvref_t<T>;
};
template <class T>
struct ValueOf<Expected<T, Failure>> {
  using type = T;
};
template <class T>
inline constexpr bool kIsReport =
    std::same_as<T, decide::Outcome> || std::same_as<T, decide::Report> ||
    std::same_as<T, std::error_code>;
template <class T>
  requires(kIsReport<T> || std::is_void_v<T> || std::same_as<T, Unexpected<Failure>>)
struct ValueOf<T> {
  using type = Done;
};

template <class Operation>
using OperationValue = typename ValueOf<std::invoke_result_t<Operation&, const Attempt&>>::type;

// A report as a result.
[[nodiscard]] inline bool is_success(decide::Outcome outcome) noexcept {
  return outcome == decide::Outcome::success;
}
[[nodiscard]] inline bool is_success(const decide::Report& report) noexcept {
  return is_success(report.outcome);
}
[[nodiscard]] inline bool is_success(const std::error_code& error) noexcept { return !error; }

// The result of an operation that returned this.
template <class T, class Returned>
[[nodiscard]] Result<T> result_of(Returned&& returned) {
  if constexpr (kIsReport<std::remove_cvref_t<Returned>>) {
    if (is_success(returned)) return Done{};
    return failed(returned);
  } else {
    return std::forward<Returned>(returned);
  }
}

// What a call retries, so that calls inside its attempts do not.
[[nodiscard]] inline Scope::Owns owned_by(const engine::Call& call) noexcept {
  return {.retries = call.owns_retries(), .unsent = call.owns_unsent()};
}

// Runs one attempt, inside a Scope of its own; what it throws becomes its failure. `name` is the
// dependency's, as whose attempt it is known below if its call owns the retries.
template <class T, class Operation>
[[nodiscard]] Result<T> attempt_once(Operation& operation, const Attempt& attempt, Scope::Owns owns,
                                     const std::string& name) {
  Result<T> result = [&]() -> Result<T> {
    const Scope inside(schedule::Deadline(attempt.deadline()), owns,
                       {.name = &name, .attempt = attempt.number()});
    try {
      using Returned = std::invoke_result_t<Operation&, const Attempt&>;
      if constexpr (std::is_void_v<Returned>) {
        std::invoke(operation, attempt);
        return Done{};
      } else if constexpr (std::same_as<Returned, Result<T>>) {
        return std::invoke(operation, attempt);
      } else {
        return result_of<T>(std::invoke(operation, attempt));
      }
    } catch (...) {
      return failed_by_exception_of<Operation>();
    }
  }();
  if (!result) [[unlikely]]
    judge_cancellation(result.error(), attempt.stop().stop_requested());
  return result;
}

}  // namespace run
}  // namespace damper
