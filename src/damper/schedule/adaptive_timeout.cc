#include "damper/schedule/adaptive_timeout.h"

#include <algorithm>

namespace damper::schedule {

std::optional<std::string> find_error(const AdaptiveTimeoutOptions& options) {
  if (options.quantile < Percent(50) || options.quantile > Percent::from_hundredths(9999)) {
    return "adaptive_timeout quantile must be 50 to 99.99 percent";
  }
  if (options.margin < Percent(100) || options.margin > Percent(1000)) {
    return "adaptive_timeout margin must be 100 to 1000 percent";
  }
  if (options.lower <= Duration{0} || options.upper < options.lower || options.upper > kLongest) {
    return "adaptive_timeout lower must be over 0, and upper between lower and 30 days";
  }
  if (options.min_samples < 1 || options.min_samples > 1'000'000) {
    return "adaptive_timeout min_samples must be 1 to 1000000";
  }
  return std::nullopt;
}

Duration attempt_timeout(const AdaptiveTimeoutOptions& options, Duration configured,
                         std::optional<Duration> live) noexcept {
  if (!options.on || !live) return configured;
  const Duration with_margin = times(*live, options.margin.hundredths()) / Percent::kDenominator;
  return std::clamp(with_margin, options.lower, options.upper);
}

}  // namespace damper::schedule
