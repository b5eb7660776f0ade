#include "damper/schedule/hedge.h"

#include <algorithm>

namespace damper::schedule {

std::optional<std::string> find_error(const HedgeOptions& options) {
  return BoundsCheck()
      .field("max_hedges", options.max_hedges, options.kMaxHedges)
      .field("quantile", options.quantile, options.kQuantile)
      .field("floor", options.floor, options.kFloor)
      .field("min_samples", options.min_samples, options.kMinSamples)
      .field("ratio", options.ratio, options.kRatio)
      .error();
}

std::optional<Duration> hedge_delay(const HedgeOptions& options, std::optional<Duration> live,
                                    Duration remaining) noexcept {
  if (options.max_hedges == 0 || !live || options.floor > remaining / 2) return std::nullopt;
  return std::clamp(*live, options.floor, remaining / 2);
}

}  // namespace damper::schedule
