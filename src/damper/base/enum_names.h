#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>

namespace damper {

// EnumNames is the array of the texts of an enum's enumerators, in their order.
//   enum class Shape : std::uint8_t { round, square };
//   inline constexpr EnumNames<Shape::square> kShapeNames = {"round", "square"};
//
// Why: an array whose size is written by hand compiles when an enumerator is added in the middle,
// and every metric label after it is wrong.
// Model: the argument is the last enumerator. The enumerators count up from 0 without a gap.
// Invariants:
//   (1) It does not compile with fewer or more texts than enumerators, or with an equal pair.
//   (2) find(names[e]) is e, for every enumerator e.
template <auto last>
class EnumNames {
 public:
  using Enum = decltype(last);
  static constexpr std::size_t kSize = static_cast<std::size_t>(last) + 1;

  template <std::convertible_to<std::string_view>... Texts>
    requires(sizeof...(Texts) == kSize)
  consteval EnumNames(const Texts&... texts)  // NOLINT(google-explicit-constructor)
      : texts_{std::string_view(texts)...} {
    for (std::size_t i = 0; i < kSize; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (texts_[i] == texts_[j]) two_enumerators_have_one_text();
      }
    }
  }

  [[nodiscard]] constexpr std::string_view operator[](Enum value) const noexcept {
    return texts_[static_cast<std::size_t>(value)];
  }
  [[nodiscard]] constexpr std::string_view operator[](std::size_t index) const noexcept {
    return texts_[index];
  }

  // The enumerator with this text.
  [[nodiscard]] constexpr std::optional<Enum> find(std::string_view text) const noexcept {
    for (std::size_t i = 0; i < kSize; ++i) {
      if (texts_[i] == text) return static_cast<Enum>(i);
    }
    return std::nullopt;
  }

  // A contiguous range of texts: it converts to std::span<const std::string_view>.
  [[nodiscard]] static constexpr std::size_t size() noexcept { return kSize; }
  [[nodiscard]] constexpr const std::string_view* data() const noexcept { return texts_.data(); }
  [[nodiscard]] constexpr const std::string_view* begin() const noexcept { return data(); }
  [[nodiscard]] constexpr const std::string_view* end() const noexcept { return data() + kSize; }

 private:
  static void two_enumerators_have_one_text();  // Not constexpr: a call of it does not compile.

  std::array<std::string_view, kSize> texts_;
};

}  // namespace damper
