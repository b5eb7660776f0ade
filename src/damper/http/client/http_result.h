#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "damper/base/unix_time.h"
#include "damper/http/codec/close_reason.h"
#include "damper/http/codec/message.h"
#include "damper/run/result.h"

namespace damper::http {

// A CloseReason as an error code: `failure.error == CloseReason::connect_refused`, and
// failure.error.message() is its name.
[[nodiscard]] const std::error_category& close_category() noexcept;
[[nodiscard]] std::error_code make_error_code(CloseReason reason) noexcept;

// Why there is no whole answer, as the engine sees it. `answered`: its head had come.
[[nodiscard]] Failure failure_of(CloseReason reason, bool answered) noexcept;

// What a whole answer says about trying again: its status, and when its server wants to be asked
// again (Retry-After; RateLimit-Reset beside a 429).
[[nodiscard]] decide::Report report_of(int status, std::span<const Field> fields,
                                       UnixTime now) noexcept;
[[nodiscard]] decide::Report report_of(const Response& response, UnixTime now) noexcept;

// An HttpResult is the result of a guarded request: a CallResult whose value is the response of the
// attempt that succeeded (1xx to 3xx). If none did, answer() is the last response:
//   if (!result) log(result.verdict(), result.answer() ? result.answer()->body : "no answer");
// failure() is the last attempt's: its status, or the CloseReason in `error`.
class [[nodiscard]] HttpResult : public CallResult<Response> {
 public:
  HttpResult(Response response, std::uint32_t attempts)
      : CallResult<Response>(std::move(response), attempts) {}
  HttpResult(Verdict verdict, std::optional<Failure> failure, std::uint32_t attempts,
             std::optional<Response> answer)
      : CallResult<Response>(verdict, std::move(failure), attempts),
        answer_(answer ? std::make_unique<Response>(*std::move(answer)) : nullptr) {}

  // The response of the attempt that succeeded, or the last complete one; nullptr: there was none.
  [[nodiscard]] const Response* answer() const noexcept {
    if (*this) return &**this;
    return answer_.get();
  }

 private:
  std::unique_ptr<Response> answer_;  // on the heap: a result is moved more often than it fails
};

}  // namespace damper::http

template <>
struct std::is_error_code_enum<damper::http::CloseReason> : std::true_type {};
