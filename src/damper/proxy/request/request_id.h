#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "damper/run/clock.h"

namespace damper::proxy {

// By which logs of several services find the lines of one request.
inline constexpr std::string_view kRequestIdHeader = "x-request-id";

// A random identifier in the form of a UUID of version 4, as Envoy has them. It is no secret: its
// 122 bits are those of run::draw().
// Cost: no allocation once `into` has held one.
inline void make_request_id(std::string& into) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";
  constexpr std::string_view kHex = "0123456789abcdef";
  into = kForm;
  std::uint32_t bits = 0;
  unsigned left = 0;  // hexadecimal digits in `bits`
  for (char& c : into) {
    if (c != 'x' && c != 'y') continue;
    if (left == 0) {
      bits = static_cast<std::uint32_t>(run::draw() * 4294967296.0);
      left = 8;
    }
    const std::uint32_t digit = bits & 15U;
    c = kHex[c == 'y' ? (8U | (digit & 3U)) : digit];
    bits >>= 4U;
    --left;
  }
}

}  // namespace damper::proxy
