#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/base/unix_time.h"

namespace damper::schedule {

// A deadline as it travels from hop to hop: headers to the time that remains, and back.
//
// Why: headers carry the remaining time, since two machines agree on a duration better than on the
// time of day. A value is read once, when the request arrives, and computed again for each attempt
// (trap D2); the reserve is the business of schedule/deadline.h.
// Model: text to Duration and Duration to text, nothing else. Wall time is an argument.
// Invariants:
//   (1) 0 <= a read value <= kLongest; a longer one is kLongest, and a deadline that has passed
//       is 0.
//   (2) A written value is never more than the remaining time: it is rounded down.
//   (3) A malformed value is ignored, as if there were no deadline.
// Cost: reading allocates nothing; what is written fits a std::string without allocation.

inline constexpr std::string_view kGrpcTimeoutHeader = "grpc-timeout";
inline constexpr std::string_view kRequestDeadlineHeader = "x-request-deadline";
inline constexpr std::string_view kEnvoyTimeoutHeader = "x-envoy-expected-rq-timeout-ms";

// grpc-timeout: 1 to 8 digits and a unit, one of H M S m u n (gRPC over HTTP/2). "0n" is 0: the
// deadline has passed.
[[nodiscard]] std::optional<Duration> find_grpc_timeout(std::string_view value) noexcept;

// In the finest unit that holds it in 8 digits: 1.5 s is "1500000u", and 0 or less is "0n".
[[nodiscard]] std::string format_grpc_timeout(Duration remaining);

// x-request-deadline: milliseconds that remain, or, from kLeastUnixMilliseconds on, the deadline
// itself in milliseconds since 1970. The first reading of that number is three years, the second
// one is in March 1973, so that no honest value is ambiguous. The second form needs clocks that
// agree; we understand it and do not write it.
inline constexpr std::uint64_t kLeastUnixMilliseconds = 100'000'000'000;
[[nodiscard]] std::optional<Duration> find_request_deadline(std::string_view value,
                                                            UnixTime now) noexcept;

// Whole milliseconds, rounded down; 0 or less is "0". Held at kLongest.
[[nodiscard]] std::string format_request_deadline(Duration remaining);

// x-envoy-expected-rq-timeout-ms: milliseconds. 0 is nothing: Envoy does not send it, and where a
// timeout is configured as 0 it means none.
[[nodiscard]] std::optional<Duration> find_envoy_timeout(std::string_view value) noexcept;

}  // namespace damper::schedule
