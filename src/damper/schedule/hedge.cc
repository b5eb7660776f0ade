#include "damper/schedule/hedge.h"

#include <algorithm>

namespace damper::schedule {

std::optional<std::string> find_error(const HedgeOptions& options) {
  if (options.max_hedges < 0 || options.max_hedges > 3) return "max_hedges must be 0 to 3";
  if (options.quantile < Percent(50) || options.quantile > Percent::from_hundredths(9999)) {
    return "hedge quantile must be 50 to 99.99 percent";
  }
  if (options.floor <= Duration{0} || options.floor > kLongest) {
    return "hedge floor must be over 0 and at most 30 days";
  }
  if (options.min_samples < 1 || options.min_samples > 1'000'000) {
    return "hedge min_samples must be 1 to 1000000";
  }
  if (options.ratio <= Percent(0) || options.ratio > Percent(100)) {
    return "hedge ratio must be over 0 and at most 100 percent";
  }
  return std::nullopt;
}

std::optional<Duration> hedge_delay(const HedgeOptions& options, std::optional<Duration> live,
                                    Duration remaining) noexcept {
  if (options.max_hedges == 0 || !live || options.floor > remaining / 2) return std::nullopt;
  return std::clamp(*live, options.floor, remaining / 2);
}

}  // namespace damper::schedule
