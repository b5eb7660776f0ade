#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "damper/base/text/hex.h"
#include "damper/run/clock.h"

namespace damper::proxy {

// By which logs of several services find the lines of one request.
inline constexpr std::string_view kRequestIdHeader = "x-request-id";

// A random identifier in the form of a UUID of version 4, as Envoy has them. It is no secret: its
// 122 bits are those of run::random_bits().
// Cost: no allocation once `into` has held one.
inline void make_request_id(std::string& into) {
  constexpr std::uint64_t kVersion = 0x4000;  // xxxxxxxx-xxxx-4xxx
  constexpr std::uint64_t kVariant = std::uint64_t{1} << 63;
  const std::uint64_t high = (run::random_bits() & ~std::uint64_t{0xf000}) | kVersion;
  const std::uint64_t low = (run::random_bits() & ~(std::uint64_t{3} << 62)) | kVariant;
  std::array<char, 32> digits;
  (void)text::put_hex(low, text::put_hex(high, digits.data()));
  into.resize(36);
  char* to = into.data();
  const char* from = digits.data();
  const auto put = [&](std::size_t count) {
    std::memcpy(to, from, count);
    to += count;
    from += count;
  };
  put(8);
  *to++ = '-';
  put(4);
  *to++ = '-';
  put(4);
  *to++ = '-';
  put(4);
  *to++ = '-';
  put(12);
}

}  // namespace damper::proxy
