#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "damper/http/codec/head.h"

namespace damper::http {

// Which bytes may stand where (RFC 9110, 5.6.2 and 5.5; RFC 9112, 3.2): one table, a bit a place.
//
// Why: a lookup a byte is what a strict check may cost on the hot path.
using CharClass = std::uint8_t;
inline constexpr CharClass kToken = 1;      // a method, a field's name
inline constexpr CharClass kTarget = 2;     // a request's target: visible ASCII, but for #
inline constexpr CharClass kAuthority = 4;  // host and port: no userinfo, no path
inline constexpr CharClass kDigit = 8;

namespace chars {

constexpr std::array<std::uint8_t, 256> make_table() {
  std::array<std::uint8_t, 256> table{};
  const auto add = [&](std::string_view bytes, int classes) {
    for (const char c : bytes) {
      auto& entry = table[static_cast<unsigned char>(c)];
      entry = static_cast<std::uint8_t>(entry | classes);
    }
  };
  for (std::size_t c = 0x21; c < 0x7f; ++c) table[c] = c == '#' ? 0 : kTarget;
  add("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", kToken | kAuthority);
  add("0123456789", kToken | kAuthority | kDigit);
  add("!#$%&'*+-.^_`|~", kToken);
  add("-._~!$&'()*+,;=:[]%", kAuthority);
  return table;
}
inline constexpr std::array<std::uint8_t, 256> kTable = make_table();

// The eight bytes at `at` that are controls (under 0x20, or 0x7f): the high bit of each. Exact up
// to the lowest one that is set, which is all that anyone asks for.
[[nodiscard]] constexpr std::uint64_t controls(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t low = bytes - kOnes * 0x20;
  const std::uint64_t del = (bytes ^ (kOnes * 0x7f)) - kOnes;
  return (low | del) & ~bytes & (kOnes * 0x80);
}

}  // namespace chars

[[nodiscard]] constexpr bool is(CharClass wanted, char c) noexcept {
  return (chars::kTable[static_cast<unsigned char>(c)] & wanted) != 0;
}

[[nodiscard]] constexpr bool all(CharClass wanted, std::string_view bytes) noexcept {
  for (const char c : bytes) {
    if (!is(wanted, c)) return false;
  }
  return true;
}

// Whether a token is `lower`, which is lower case, without regard to case.
[[nodiscard]] inline bool is_name(std::string_view token, std::string_view lower) noexcept {
  constexpr std::uint64_t kCase = 0x2020202020202020;
  const std::size_t size = lower.size();
  if (token.size() != size) return false;
  const auto differ = [&](std::size_t at) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::memcpy(&a, token.data() + at, 8);
    std::memcpy(&b, lower.data() + at, 8);
    return (a | kCase) != b;
  };
  if (size < 8) {
    for (std::size_t i = 0; i < size; ++i) {
      if (static_cast<char>(token[i] | 0x20) != lower[i]) return false;
    }
    return true;
  }
  for (std::size_t at = 0; at + 8 <= size; at += 8) {
    if (differ(at)) return false;
  }
  return !differ(size - 8);
}

[[nodiscard]] inline std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

// The number of 1 to `most` digits and nothing else. REQUIRES: most < 20.
[[nodiscard]] constexpr std::optional<std::uint64_t> find_digits(std::string_view text,
                                                                 std::size_t most) noexcept {
  if (text.empty() || text.size() > most || !all(kDigit, text)) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : text) number = number * 10 + static_cast<std::uint64_t>(c - '0');
  return number;
}

// Where the first control character is at or after `from`, the tab left out; size() without one.
[[nodiscard]] inline std::size_t find_control(std::string_view bytes, std::size_t from) noexcept {
  std::size_t i = from;
  while (i < bytes.size()) {
    if constexpr (std::endian::native == std::endian::little) {
      while (i + 8 <= bytes.size()) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, 8);
        if (const std::uint64_t found = chars::controls(word)) {
          i += static_cast<std::size_t>(std::countr_zero(found)) / 8;
          break;
        }
        i += 8;
      }
      if (i >= bytes.size()) break;
    }
    const auto c = static_cast<unsigned char>(bytes[i]);
    if ((c < 0x20 && c != '\t') || c == 0x7f) return i;
    ++i;
  }
  return bytes.size();
}

[[nodiscard]] constexpr bool is_space(char c) noexcept { return c == ' ' || c == '\t'; }

// Without the spaces and tabs at both ends.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Calls visit(word) for each part between commas, trimmed; empty ones are skipped.
template <class Visit>
constexpr void for_each_word(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (const auto word = trimmed(list.substr(0, comma)); !word.empty()) visit(word);
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace damper::http
