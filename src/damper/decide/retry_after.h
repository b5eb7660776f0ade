#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/decide/http_date.h"
#include "damper/decide/outcome.h"

namespace damper::decide {

// Reads the server's retry time from the value of a header into a Report.
//
// Why: a server that sends "30 seconds" knows more than any backoff. An earlier attempt is surely
// wasted, so every doubt here is resolved towards later.
// Model: each reader takes the value of one header and the wall time of the answer; it never reads
// a clock. Spaces and tabs around a value are ignored, all else is strict, and a malformed value
// changes nothing. A duration that does not fit is kForever, which is past every deadline and so
// ends the call.
// Invariants:
//   (1) A reader only ever moves retry_after later: of two values, the later one stands.
//   (2) retry_after is kUnsaid, or at least the server's value; never negative.
//   (3) A date in the past is 0: retry now.
// Cost: no allocation.

// Retry-After (RFC 9110, section 10.2.3): seconds, or an HTTP-date in any of its three forms.
[[nodiscard]] std::optional<Duration> find_retry_after(std::string_view value,
                                                       UnixTime now) noexcept;
void read_retry_after(std::string_view value, UnixTime now, Report& report) noexcept;

// grpc-retry-pushback-ms (gRFC A6): milliseconds to wait. A negative value, or one that is not a
// number, means: do not retry. REQUIRES: the header was present.
void read_grpc_pushback(std::string_view value, Report& report) noexcept;

// RateLimit-Reset, and X-RateLimit-Reset, its elder: seconds from now; above kLargestDelta, seconds
// since 1970, which some senders of the elder mean (the one reading would be 31 years, the other
// one ends in 2001, so no value is ambiguous). It is a retry time only in a refusal for rate: many
// servers send it with every answer, and a reset in an hour is no reason to retry a 503 in an hour.
// So it is read for Outcome::overload alone: classify first, then read.
inline constexpr std::int64_t kLargestDelta = 1'000'000'000;
[[nodiscard]] std::optional<Duration> find_rate_limit_reset(std::string_view value,
                                                            UnixTime now) noexcept;
void read_rate_limit_reset(std::string_view value, UnixTime now, Report& report) noexcept;

}  // namespace damper::decide
