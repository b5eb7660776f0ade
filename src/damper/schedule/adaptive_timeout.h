#ifndef DAMPER_SCHEDULE_ADAPTIVE_TIMEOUT_H_
#define DAMPER_SCHEDULE_ADAPTIVE_TIMEOUT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::schedule {

struct AdaptiveTimeoutOptions {
  bool on = false;
  Percent quantile = Percent::from_hundredths(9990);  // [50, 99.99 %]
  Percent margin = Percent(150);                      // [100, 1000 %] of the quantile
  Duration lower = std::chrono::milliseconds(10);     // never shorter than this; > 0
  Duration upper = std::chrono::seconds(10);          // never longer than this; >= lower
  std::int32_t min_samples = 1000;  // 1 to 1,000,000; until then the static timeout

  friend bool operator==(const AdaptiveTimeoutOptions&, const AdaptiveTimeoutOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const AdaptiveTimeoutOptions& options);

// The timeout of one attempt: the live quantile with its margin, within the bounds; the configured
// one while the feature is off or `live` is not known yet.
//
// Why: a timeout under the dependency's p99 makes failures, one far over it waits for nothing, and
// either goes stale when the dependency changes.
[[nodiscard]] Duration attempt_timeout(const AdaptiveTimeoutOptions& options, Duration configured,
                                       std::optional<Duration> live) noexcept;

}  // namespace damper::schedule

#endif  // DAMPER_SCHEDULE_ADAPTIVE_TIMEOUT_H_
