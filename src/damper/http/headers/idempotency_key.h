#pragma once

#include <string>
#include <string_view>

namespace damper::http {

inline constexpr std::string_view kIdempotencyKeyHeader = "idempotency-key";

// A new key for an Idempotency-Key header: 128 bits of the system's randomness, as 32 hexadecimal
// digits. The same key goes with all attempts of one call, so that the server can tell a repetition
// from a second order.
[[nodiscard]] std::string make_idempotency_key();

}  // namespace damper::http
