#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace damper {

// A Percent is an exact fraction: a whole number of hundredths of a percent, from 0 to 1000 %.
//
// Why: a budget kept as 1 / percent, truncated, gives 50 % for 40 % (trap B1), and one kept as a
// double gives 9 retries for 100 requests at 10 %. All arithmetic with a Percent is on integers.
class Percent {
 public:
  static constexpr std::int32_t kDenominator = 10'000;      // hundredths that make 100 %
  static constexpr std::int32_t kMost = 10 * kDenominator;  // 1000 %

  constexpr Percent() = default;
  // Saturates, so that a number that is too large is found to be too large.
  constexpr explicit Percent(std::int32_t percent)
      : hundredths_(percent > kLargest / 100    ? kLargest
                    : percent < -kLargest / 100 ? -kLargest
                                                : percent * 100) {}
  static constexpr Percent from_hundredths(std::int32_t hundredths) {
    Percent percent;
    percent.hundredths_ = hundredths;
    return percent;
  }

  [[nodiscard]] constexpr std::int32_t hundredths() const { return hundredths_; }
  [[nodiscard]] constexpr double ratio() const {
    return static_cast<double>(hundredths_) / kDenominator;
  }

  // Whether part / whole >= this percentage, exactly. REQUIRES: 0 <= part, whole < 2^47.
  [[nodiscard]] constexpr bool reached_by(std::int64_t part, std::int64_t whole) const {
    return part * kDenominator >= whole * hundredths_;
  }

  friend constexpr auto operator<=>(Percent, Percent) = default;

 private:
  static constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();

  std::int32_t hundredths_ = 0;
};

}  // namespace damper
