#pragma once

#include <chrono>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/http/codec/message.h"

namespace damper::http {

// The verdict of a refusal, as in base/verdict.h.
inline constexpr std::string_view kVerdictHeader = "damper-verdict";

// The status of a refusal: 504 for a deadline; otherwise `overload`, which is 503, or 429 where
// clients treat that one better.
[[nodiscard]] constexpr int refusal_status(Verdict verdict, int overload) noexcept {
  return verdict == Verdict::deadline_passed || verdict == Verdict::deadline_too_close ? 504
                                                                                       : overload;
}

// The value of Retry-After: whole seconds, at least 1 and `wait`, and up to a second later by the
// draw, so that clients refused together do not retry together.
[[nodiscard]] std::chrono::seconds retry_after_seconds(Duration wait, double draw) noexcept;

// A refusal without a body. A 504 has no Retry-After: its client has timed out.
[[nodiscard]] Response refusal(Verdict verdict, Duration retry_after, int overload, double draw);

}  // namespace damper::http
