#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::schedule {

struct AdaptiveTimeoutOptions {
  static constexpr Range<Percent> kQuantile{Percent(50), Percent::from_hundredths(9999)};
  static constexpr Range<Percent> kMargin{Percent(100), Percent(1000)};
  static constexpr Range<Duration> kLower{Duration{1}, kLongest};
  static constexpr Range<std::int32_t> kMinSamples{1, 1'000'000};

  bool on = false;
  Percent quantile = Percent::from_hundredths(9990);
  Percent margin = Percent(150);                   // of the quantile
  Duration lower = std::chrono::milliseconds(10);  // the least timeout
  Duration upper = std::chrono::seconds(10);       // the greatest timeout; [lower, kLongest]; a
                                                   // per_try_timeout under it is the greatest
  std::int32_t min_samples = 1000;                 // with fewer, the configured timeout is used

  friend bool operator==(const AdaptiveTimeoutOptions&, const AdaptiveTimeoutOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const AdaptiveTimeoutOptions& options);

// The timeout of one attempt: the live quantile with its margin, within the bounds, and never over
// the configured timeout. The configured timeout if the feature is disabled or `live` is unknown.
//
// Why: a timeout under the dependency's p99 causes failures, one far over it wastes time, and both
// are wrong when the dependency changes.
// Model: each retry (counted from 0; 0 is the first attempt) has eight times as long as the attempt
// before it, and the last one all that is configured, up to `upper`. Requests that legitimately
// need far longer than the quantile would otherwise time out in every attempt, for good: what is
// cut off never raises the quantile.
[[nodiscard]] Duration attempt_timeout(const AdaptiveTimeoutOptions& options, Duration configured,
                                       std::optional<Duration> live, std::uint32_t retry = 0,
                                       bool last = false) noexcept;

}  // namespace damper::schedule
