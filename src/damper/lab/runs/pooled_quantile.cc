#include "damper/lab/runs/pooled_quantile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "damper/lab/runs/interval.h"

namespace damper::lab {
namespace {

// Half the interval of the share k / n of all runs.
template <class Count>
double half_width(std::span<const LatencySketch* const> runs, Count count) {
  double k = 0;
  double n = 0;
  for (const LatencySketch* run : runs) {
    k += static_cast<double>(count(*run));
    n += static_cast<double>(run->count());
  }
  const double p = k / n;
  double squares = 0;
  for (const LatencySketch* run : runs) {
    const double off = static_cast<double>(count(*run)) - p * static_cast<double>(run->count());
    squares += off * off;
  }
  const double m = static_cast<double>(runs.size());
  const double between_runs =
      std::sqrt(m / (m - 1) * squares) / n * students_quantile(runs.size() - 1);
  return std::max(between_runs, Proportion::kZ * std::sqrt(p * (1 - p) / n));
}

}  // namespace

std::optional<PooledQuantile> pooled_quantile(std::span<const LatencySketch* const> runs,
                                              Percent share) {
  LatencySketch all;
  for (const LatencySketch* run : runs) all.merge(*run);
  const auto value = all.quantile(share);
  if (!value) return std::nullopt;
  const LatencySketch::Bounds bounds = *all.quantile_bounds(share);
  if (runs.size() < 2) return PooledQuantile{*value, bounds.low, bounds.high};
  const double half = std::max(
      half_width(runs, [&](const LatencySketch& run) { return run.ranks_of(*value).before; }),
      half_width(runs, [&](const LatencySketch& run) { return run.ranks_of(*value).up_to; }));
  const auto bounds_at = [&all](double ratio) {
    const double rank = std::ceil(std::clamp(ratio, 0.0, 1.0) * static_cast<double>(all.count()));
    return all.rank_bounds(std::max<std::int64_t>(static_cast<std::int64_t>(rank), 1));
  };
  return PooledQuantile{*value, std::min(bounds.low, bounds_at(share.ratio() - half).low),
                        std::max(bounds.high, bounds_at(share.ratio() + half).high)};
}

}  // namespace damper::lab
