#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper {

// A Range holds the least and the greatest value that an option may have, both included.
//
// Why: a bound that is written in a comment, in find_error() and in a schema drifts apart. An
// option struct holds its bounds once, as `static constexpr Range<Duration> kWindow{1s, 1h}`.
// T is Duration, Percent, an integer or double. A NaN is in no range.
template <typename T>
struct Range {
  T low;
  T high;

  [[nodiscard]] constexpr bool contains(const T& value) const {
    return low <= value && value <= high;
  }
};

// A value as an error sentence writes it: 1.5s, 12.5%, 1000000, 0.001.
[[nodiscard]] std::string bound_text(Duration value);
[[nodiscard]] std::string bound_text(Percent value);
[[nodiscard]] std::string bound_text(double value);
[[nodiscard]] std::string bound_text(std::integral auto value) { return std::to_string(value); }

// A BoundsCheck is the body of a find_error(options): it keeps the first field that is out of its
// range, as one sentence with the name, the value and the bound.
//   return BoundsCheck()
//       .field("reserve", options.reserve, options.kReserve)
//       .part("backoff", find_error(options.backoff))
//       .error();
// may give "backoff.cap is 1000h; it must be from 500ms to 720h".
// Cost: no allocation while all fields are in range.
class BoundsCheck {
 public:
  template <typename T>
  BoundsCheck& field(std::string_view name, const T& value, const Range<T>& range) {
    if (error_ || range.contains(value)) return *this;
    error_ = std::string(name) + " is " + bound_text(value) + "; it must be from " +
             bound_text(range.low) + " to " + bound_text(range.high);
    return *this;
  }

  // A field that must be less than another one.
  template <typename T>
  BoundsCheck& less(std::string_view name, const T& value, std::string_view other, const T& limit) {
    if (error_ || value < limit) return *this;
    error_ = std::string(name) + " is " + bound_text(value) + "; it must be less than " +
             std::string(other) + ", which is " + bound_text(limit);
    return *this;
  }

  // A condition that is no range: `sentence` is the error when it does not hold.
  BoundsCheck& require(bool holds, std::string_view sentence) {
    if (!error_ && !holds) error_ = std::string(sentence);
    return *this;
  }

  // The error of a nested option struct, whose first word is the name of a field of it.
  BoundsCheck& part(std::string_view name, const std::optional<std::string>& error) {
    if (!error_ && error) error_ = std::string(name) + "." + *error;
    return *this;
  }

  [[nodiscard]] std::optional<std::string> error() { return std::move(error_); }

 private:
  std::optional<std::string> error_;
};

}  // namespace damper
