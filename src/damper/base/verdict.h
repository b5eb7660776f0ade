#pragma once

#include <cstdint>
#include <string_view>

#include "damper/base/enum_names.h"

namespace damper {

// A Verdict is why a call ended, or why something was refused. The word is the same in code, in a
// metric's label, in a log line and in the documentation.
enum class Verdict : std::uint8_t {
  none,                // Not ended.
  success,             // An attempt succeeded.
  permanent,           // The answer is final: repeating the request cannot change it.
  conflict,            // Another client wrote first: read again before writing again.
  overload,            // The dependency is overloaded and sent no retry time.
  not_retryable,       // The policy's retry_on excludes this failure.
  not_idempotent,      // It may have happened: repeating it is not safe.
  unrepeatable,        // Its body is not kept any more: it cannot be sent again.
  layered,             // A layer above owns the retries of this request.
  pushed_back,         // The server forbids a retry.
  attempts_spent,      // The last of the allowed attempts failed.
  deadline_too_close,  // The next attempt could not finish before the deadline.
  deadline_passed,     // The deadline passed while an attempt was in flight.
  switched_off,        // An operator has switched retries off.
  breaker_open,        // The circuit breaker does not admit it.
  throttled,           // The client throttle refused it: the dependency rejects too much.
  limited,             // The concurrency limit, or the rate limit of a proxy's route, is reached.
  rate_limited,        // The rate limit of the attempts has no token in time.
  budget_spent,        // The retry budget is spent.
  shed,                // A shed queue dropped it.
  cancelled,           // The caller gave up.
};

inline constexpr EnumNames<Verdict::cancelled> kVerdictNames = {"none",
                                                                "success",
                                                                "permanent",
                                                                "conflict",
                                                                "overload",
                                                                "not_retryable",
                                                                "not_idempotent",
                                                                "unrepeatable",
                                                                "layered",
                                                                "pushed_back",
                                                                "attempts_spent",
                                                                "deadline_too_close",
                                                                "deadline_passed",
                                                                "switched_off",
                                                                "breaker_open",
                                                                "throttled",
                                                                "limited",
                                                                "rate_limited",
                                                                "budget_spent",
                                                                "shed",
                                                                "cancelled"};

[[nodiscard]] constexpr std::string_view name(Verdict verdict) noexcept {
  return kVerdictNames[verdict];
}

}  // namespace damper
