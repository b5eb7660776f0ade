#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace damper::admit {

// A Reason is the text that an operator gives for a setting by hand (a switch, a forced breaker),
// for the next person on duty: plain bytes, so that it fits into a Seqlock.
//
// Invariants:
//   (1) It has at most kLongest bytes; a longer text is cut at the end of a UTF-8 character.
class Reason {
 public:
  static constexpr std::size_t kLongest = 120;

  Reason() = default;
  explicit Reason(std::string_view text) noexcept;

  [[nodiscard]] std::string_view text() const noexcept { return {bytes_.data(), length_}; }

 private:
  std::uint8_t length_ = 0;
  std::array<char, kLongest> bytes_{};
};

}  // namespace damper::admit
