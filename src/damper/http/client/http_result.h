#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "damper/http/codec/message.h"
#include "damper/run/result.h"

namespace damper::http {

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
