#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "damper/base/expected.h"
#include "damper/base/verdict.h"
#include "damper/decide/classify_errno.h"
#include "damper/decide/classify_http.h"
#include "damper/decide/outcome.h"

namespace damper {

// A Failure is the result of an attempt without a value: the report for the engine, and details for
// the caller.
struct Failure {
  decide::Report report;
  std::error_code error;         // if there was one
  int status = 0;                // of HTTP, if there was one
  std::exception_ptr exception;  // what the operation threw, if it threw
};

// The ways in which an operation returns a failure:
//   return damper::failed(Outcome::transient);
//   return damper::failed(std::make_error_code(std::errc::connection_refused));
//   return damper::failed_http(503, retry_after);
// failed() with a success (error code 0, status 2xx) is a permanent failure. An error code that has
// no other outcome is permanent, too, but it is no answer of the dependency: it gives no verdict to
// breaker, limit, throttle and latency.
[[nodiscard]] inline Unexpected<Failure> failed(decide::Report report) {
  if (report.outcome == decide::Outcome::success) report.outcome = decide::Outcome::permanent;
  return {Failure{.report = report, .error = {}, .status = 0, .exception = {}}};
}
[[nodiscard]] inline Unexpected<Failure> failed(decide::Outcome outcome) {
  return failed(decide::Report{.outcome = outcome});
}
[[nodiscard]] inline Unexpected<Failure> failed(std::error_code error) {
  Unexpected<Failure> failure = failed(decide::classify(error));
  failure.error.error = error;
  failure.error.report.unknown = failure.error.report.outcome == decide::Outcome::permanent;
  return failure;
}
[[nodiscard]] inline Unexpected<Failure> failed_http(
    int status, std::optional<Duration> retry_after = std::nullopt) {
  decide::Report report{.outcome = decide::classify_http(status)};
  if (retry_after) report.retry_after = *retry_after;
  Unexpected<Failure> failure = failed(report);
  failure.error.status = status;
  return failure;
}

// The failure that is being thrown: as damper::classify() has it, std::system_error by its code;
// anything else is permanent and `unknown`. Call it inside a catch block.
[[nodiscard]] Unexpected<Failure> failed_by_exception() noexcept;

namespace run {

// As failed_by_exception(), and a CodedError by its code: boost::system::system_error, which is no
// std::system_error.
template <class CodedError>
[[nodiscard]] Unexpected<Failure> failed_by_coded_exception() noexcept {
  Unexpected<Failure> failure = failed_by_exception();
  if (!failure.error.report.unknown || failure.error.error) return failure;
  try {
    throw;
  } catch (const CodedError& error) {
    failure = failed(std::error_code(error.code()));
    failure.error.exception = std::current_exception();
  } catch (...) {  // It stays unknown.
  }
  return failure;
}

// An operation that was cancelled without a request (ECANCELED, operation_aborted) has cancelled
// itself, as by a timer on its socket: a timeout. One that says `cancelled` is believed.
inline void judge_cancellation(Failure& failure, bool asked_for) noexcept {
  if (failure.report.outcome == decide::Outcome::cancelled && failure.error && !asked_for) {
    failure.report.outcome = decide::Outcome::timeout;
  }
}

}  // namespace run

// Nothing to return but that it worked: `damper::Result<damper::Done>`, `return damper::Done{};`
using Done = std::monostate;

// What one attempt of an operation returns: a value, or how it failed.
template <class T>
using Result = Expected<T, Failure>;

// Thrown by CallResult::value() when there is none and the operation threw nothing itself.
class Refused : public std::runtime_error {
 public:
  explicit Refused(Verdict verdict)
      : std::runtime_error("damper: " + std::string(name(verdict))), verdict_(verdict) {}
  [[nodiscard]] Verdict verdict() const noexcept { return verdict_; }

 private:
  Verdict verdict_;
};

// A CallResult is how a whole call ended: the value of the attempt that succeeded, or the verdict
// and the last failure.
template <class T>
class [[nodiscard]] CallResult {
 public:
  CallResult(T value, std::uint32_t attempts)
      : value_(std::move(value)), verdict_(Verdict::success), attempts_(attempts) {}
  CallResult(Verdict verdict, std::optional<Failure> failure, std::uint32_t attempts)
      : failure_(std::move(failure)), verdict_(verdict), attempts_(attempts) {}

  [[nodiscard]] explicit operator bool() const noexcept { return value_.has_value(); }
  [[nodiscard]] Verdict verdict() const noexcept { return verdict_; }
  [[nodiscard]] std::uint32_t attempts() const noexcept { return attempts_; }

  // REQUIRES: there is a value. As in std::expected, an rvalue gives its value away.
  T& operator*() & { return checked(); }
  const T& operator*() const& { return const_cast<CallResult*>(this)->checked(); }
  T&& operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &**this; }

  // The last failure of an attempt; nullptr after a success, and if no attempt returned one:
  // nothing was sent, or the deadline or a stop ended the call first.
  [[nodiscard]] const Failure* failure() const noexcept { return failure_ ? &*failure_ : nullptr; }

  // The value; without one, throws what the operation threw, or Refused.
  T& value() & {
    throw_if_empty();
    return *value_;
  }
  const T& value() const& {
    throw_if_empty();
    return *value_;
  }
  T&& value() && {
    throw_if_empty();
    return std::move(*value_);
  }
  // The value, or `otherwise`.
  template <class U>
  [[nodiscard]] T value_or(U&& otherwise) const& {
    return value_.value_or(std::forward<U>(otherwise));
  }
  template <class U>
  [[nodiscard]] T value_or(U&& otherwise) && {
    return std::move(value_).value_or(std::forward<U>(otherwise));
  }

 private:
  T& checked() {
    DAMPER_CHECK(value_.has_value());
    return *value_;
  }
  void throw_if_empty() const {
    if (value_) return;
    if (failure_ && failure_->exception) std::rethrow_exception(failure_->exception);
    throw Refused(verdict_);
  }

  std::optional<T> value_;
  std::optional<Failure> failure_;
  Verdict verdict_;
  std::uint32_t attempts_;
};

}  // namespace damper
