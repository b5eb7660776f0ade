// Input: eight bytes of wall time, also a Duration to print, then a value of x-request-deadline and
// x-envoy-expected-rq-timeout-ms. Parsed values are within bounds, a later clock never leaves more
// time, and a printed value is never longer than the remaining time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "damper/base/check.h"
#include "damper/schedule/deadline_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace damper;
  using namespace damper::schedule;
  std::int64_t number = 0;
  if (size < sizeof number) return 0;
  std::memcpy(&number, data, sizeof number);
  const std::string_view value(reinterpret_cast<const char*>(data) + sizeof number,
                               size - sizeof number);
  const UnixTime now{std::chrono::milliseconds(number)};

  const auto remaining = find_request_deadline(value, now);
  if (remaining) {
    DAMPER_CHECK(*remaining >= Duration{0} && *remaining <= kLongest);
    if (now < UnixTime::max()) {
      const auto later = find_request_deadline(value, now + std::chrono::milliseconds(1));
      DAMPER_CHECK(later && *later <= *remaining);
    }
    // Whole milliseconds are printed exactly.
    DAMPER_CHECK(find_request_deadline(format_request_deadline(*remaining), now) == remaining);
  }
  const auto envoy = find_envoy_timeout(value);
  DAMPER_CHECK(!envoy || (*envoy > Duration{0} && *envoy <= kLongest));
  DAMPER_CHECK(!envoy || remaining);  // Both parsers accept the same numbers.

  const Duration left{number};
  const auto back = find_request_deadline(format_request_deadline(left), now);
  DAMPER_CHECK(back && *back <= std::max(left, Duration{0}));
  return 0;
}
