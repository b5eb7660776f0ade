#pragma once

#include <span>
#include <system_error>

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

}  // namespace damper::http

template <>
struct std::is_error_code_enum<damper::http::CloseReason> : std::true_type {};
