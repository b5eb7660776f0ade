#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace damper::http {

// keyed_hash() is SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012).
//
// Why: a table whose keys the peers choose (addresses, field values) is slow, or mixes two clients,
// if a peer can compute which keys collide. Without the key it cannot.
// Cost: no allocation; some 20 ns for a key of up to 32 bytes.
using HashKey = std::array<std::uint64_t, 2>;

[[nodiscard]] constexpr std::uint64_t keyed_hash(const HashKey& key,
                                                 std::string_view text) noexcept {
  std::uint64_t v0 = key[0] ^ 0x736f6d6570736575U;
  std::uint64_t v1 = key[1] ^ 0x646f72616e646f6dU;
  std::uint64_t v2 = key[0] ^ 0x6c7967656e657261U;
  std::uint64_t v3 = key[1] ^ 0x7465646279746573U;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  };
  const auto word = [&](std::size_t at, std::size_t bytes) {  // Little-endian.
    std::uint64_t value = 0;
    if (bytes == 8 && std::endian::native == std::endian::little && !std::is_constant_evaluated()) {
      std::memcpy(&value, text.data() + at, 8);
      return value;
    }
    for (std::size_t i = 0; i < bytes; ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
    }
    return value;
  };
  const std::size_t whole = text.size() / 8 * 8;
  for (std::size_t at = 0; at < whole; at += 8) {
    const std::uint64_t next = word(at, 8);
    v3 ^= next;
    rounds(2);
    v0 ^= next;
  }
  const std::uint64_t last = word(whole, text.size() - whole) | std::uint64_t{text.size()} << 56;
  v3 ^= last;
  rounds(2);
  v0 ^= last;
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace damper::http
