// Input: a grpc-timeout value; 8 bytes are also a Duration to print. Parsed values are within
// bounds, and a printed value is never longer than the remaining time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/schedule/deadline_header.h"

namespace {

void check_written(damper::Duration remaining) {
  using namespace damper;
  const std::string text = schedule::format_grpc_timeout(remaining);
  DAMPER_CHECK(text.size() >= 2 && text.size() <= 9);
  const auto back = schedule::find_grpc_timeout(text);
  DAMPER_CHECK(back && *back <= std::max(remaining, Duration{0}));
  if (remaining <= kLongest) DAMPER_CHECK(schedule::format_grpc_timeout(*back) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace damper;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto remaining = schedule::find_grpc_timeout(text)) {
    DAMPER_CHECK(*remaining >= Duration{0} && *remaining <= kLongest);
    DAMPER_CHECK(size >= 2 && size <= 9);
    check_written(*remaining);
    // A parsed value has at most eight significant digits: it is printed exactly.
    const auto back = schedule::find_grpc_timeout(schedule::format_grpc_timeout(*remaining));
    DAMPER_CHECK(back == remaining);
  }
  if (size == sizeof(std::int64_t)) {
    std::int64_t count = 0;
    std::memcpy(&count, data, sizeof count);
    check_written(Duration{count});
  }
  return 0;
}
