#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace damper::text {

// The decimal number that is the whole text, as std::from_chars reads it: no space, no plus sign.
// Nothing if it is none, or out of the range of T.
template <class T>
[[nodiscard]] std::optional<T> find_number(std::string_view text) noexcept {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

}  // namespace damper::text
