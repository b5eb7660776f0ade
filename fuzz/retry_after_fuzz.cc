// Input: four bytes of wall time, then a value of Retry-After, grpc-retry-pushback-ms and
// RateLimit-Reset. A delay is never negative, a further header never shortens it, and a later clock
// never lengthens it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "damper/base/check.h"
#include "damper/decide/retry_after.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace damper;
  using namespace damper::decide;
  std::uint32_t seconds = 0;
  if (size < sizeof seconds) return 0;
  std::memcpy(&seconds, data, sizeof seconds);
  const std::string_view value(reinterpret_cast<const char*>(data) + sizeof seconds,
                               size - sizeof seconds);
  const UnixTime now{std::chrono::seconds(seconds)};  // 1970 to 2106

  const auto wait = find_retry_after(value, now);
  const auto reset = find_rate_limit_reset(value, now);
  DAMPER_CHECK(!wait || *wait >= Duration{0});
  DAMPER_CHECK(!reset || *reset >= Duration{0});
  DAMPER_CHECK(!reset || wait);  // Both parsers accept the same numbers.
  DAMPER_CHECK(!reset || *reset <= *wait);

  if (const auto date = find_http_date(value, now)) {
    // The delay reaches the date.
    DAMPER_CHECK(wait);
    if (*wait != kForever) {
      DAMPER_CHECK(std::chrono::floor<std::chrono::milliseconds>(*wait) >= *date - now);
    }
    const auto later = find_retry_after(value, now + std::chrono::seconds(1));
    // A year of two digits may change its century; otherwise a later clock never lengthens the
    // delay.
    DAMPER_CHECK(later && (*later <= *wait || *later > std::chrono::hours(24 * 365 * 49)));
  }

  Report report{.outcome = Outcome::overload};
  read_retry_after(value, now, report);
  DAMPER_CHECK(report.server_said_when() == wait.has_value());
  Duration before = report.retry_after;
  read_rate_limit_reset(value, now, report);
  DAMPER_CHECK(report.retry_after >= before);
  before = report.retry_after;
  read_grpc_pushback(value, report);
  DAMPER_CHECK(report.retry_after >= before);
  DAMPER_CHECK(report.do_not_retry || report.server_said_when());
  return 0;
}
