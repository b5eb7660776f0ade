#include "damper/base/bounds.h"

#include <array>
#include <charconv>

#include "damper/base/duration_text.h"

namespace damper {

std::string bound_text(Duration value) { return format_duration(value); }

std::string bound_text(Percent value) { return bound_text(value.hundredths() / 100.0) + '%'; }

std::string bound_text(double value) {
  std::array<char, 400> text{};  // Without an exponent: at most 310 digits, or 0. and 323 zeros.
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ptr;
  return {text.data(), end};
}

}  // namespace damper
