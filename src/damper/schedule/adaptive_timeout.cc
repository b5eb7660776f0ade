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
                         std::optional<Duration> live, std::uint32_t retry, bool last) noexcept {
  if (!options.on || !live) return configured;
  const Duration with_margin = times(*live, options.margin.hundredths()) / Percent::kDenominator;
  const Duration first = std::clamp(with_margin, options.lower, options.upper);
  // 8^14 ns is over an hour: more makes no difference to the bounds.
  const std::int64_t growth = std::int64_t{1} << 3 * std::min(retry, 14U);
  const Duration grown = last && retry > 0 ? options.upper : times(first, growth);
  return std::min({grown, options.upper, configured});
}

}  // namespace damper::schedule
