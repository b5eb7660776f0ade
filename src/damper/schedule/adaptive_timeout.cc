#include "damper/schedule/adaptive_timeout.h"

#include <algorithm>

namespace damper::schedule {

std::optional<std::string> find_error(const AdaptiveTimeoutOptions& options) {
  return BoundsCheck()
      .field("quantile", options.quantile, options.kQuantile)
      .field("margin", options.margin, options.kMargin)
      .field("lower", options.lower, options.kLower)
      .field("upper", options.upper, Range<Duration>{options.lower, kLongest})
      .field("min_samples", options.min_samples, options.kMinSamples)
      .error();
}

Duration attempt_timeout(const AdaptiveTimeoutOptions& options, Duration configured,
                         std::optional<Duration> live) noexcept {
  if (!options.on || !live) return configured;
  const Duration with_margin = times(*live, options.margin.hundredths()) / Percent::kDenominator;
  return std::clamp(with_margin, options.lower, options.upper);
}

}  // namespace damper::schedule
