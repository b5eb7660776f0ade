#pragma once

#include <array>
#include <cstdint>

#include "damper/http/codec/message.h"

namespace damper::http {

// A Fingerprint tells one request from another: SHA-256.
using Fingerprint = std::array<std::uint8_t, 32>;

// Of method, authority, target and body. Not of the other fields: a second attempt has another
// deadline and another attempt number, and is the same request.
[[nodiscard]] Fingerprint fingerprint(const Request& request);

}  // namespace damper::http
