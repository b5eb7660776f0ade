// Input: the text of a duration. A valid one is within bounds, and is printed and parsed to an
// equal one; the error of an invalid one is a short, printable sentence.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "damper/base/check.h"
#include "damper/base/duration_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace damper;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto parsed = parse_duration(text)) {
    DAMPER_CHECK(*parsed >= Duration{0} && *parsed <= kLongest);
    const auto back = parse_duration(format_duration(*parsed));
    DAMPER_CHECK(back && *back == *parsed);
  } else {
    DAMPER_CHECK(!parsed.error().empty() && parsed.error().size() < 200);
    for (const char c : parsed.error()) DAMPER_CHECK(c >= ' ' && c <= '~');
  }
  if (size == sizeof(std::int64_t)) {  // The bytes as a Duration to print and parse.
    std::int64_t count = 0;
    __builtin_memcpy(&count, data, sizeof count);
    const Duration duration{count};
    const auto back = parse_duration(format_duration(duration));
    DAMPER_CHECK(static_cast<bool>(back) == (duration >= Duration{0} && duration <= kLongest));
    DAMPER_CHECK(!back || *back == duration);
  }
  return 0;
}
