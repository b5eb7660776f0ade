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
  if (into.size() != 36) into.resize(36);
  char* const to = into.data();
  std::array<char, 16> middle;  // Two groups of four of each half.
  (void)text::put_hex(static_cast<std::uint32_t>(high), middle.data());
  (void)text::put_hex(static_cast<std::uint32_t>(low >> 32), middle.data() + 8);
  (void)text::put_hex(static_cast<std::uint32_t>(high >> 32), to);
  for (std::size_t group = 0; group < 4; ++group) {
    to[8 + 5 * group] = '-';
    std::memcpy(to + 9 + 5 * group, middle.data() + 4 * group, 4);
  }
  (void)text::put_hex(static_cast<std::uint32_t>(low), to + 28);
}

}  // namespace damper::proxy
