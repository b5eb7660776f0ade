#pragma once

#include <optional>
#include <span>

#include "damper/base/instant.h"
#include "damper/base/percent.h"
#include "damper/lab/record/latency_sketch.h"

namespace damper::lab {

// A PooledQuantile is a percentile of the latencies of several runs together, and its 95 %
// interval.
//
// Why: the mean of the runs' own percentiles is biased, and the scatter of those says little about
// the pooled one. The p99.9 of 100 latencies is their maximum; for 100 such runs Student's interval
// of the maxima contains the true p99.9 of exponential latencies in 59 % of the cases.
// Model: Woodruff, "Confidence intervals for medians and other position measures", Journal of the
// American Statistical Association 47 (1952), with runs as clusters. The share of all latencies up
// to the estimate is a ratio of sums over runs, k_i of n_i; its variance is m / (m - 1) *
// sum((k_i - p n_i)^2) / (sum n_i)^2, and Student's quantile has m - 1 degrees of freedom. It
// counts both edges of the sketch's bucket, and that of independent latencies, if it is larger. The
// interval is what has the ranks share - half and share + half, with the whole buckets of these.
// Invariants:
//   (1) low <= value <= high, and [low, high] contains quantile_bounds() of all latencies together.
//   (2) Of one run [low, high] is quantile_bounds(): the variance between runs is not known.
// Limits: nothing is known beyond the largest latency, so high is at most that one. If fewer than
// four latencies are expected to be longer than the estimate, the interval is too short.
// Thread safety: values. Cost: a merge of all sketches.
struct PooledQuantile {
  Duration value{0};
  Duration low{0};
  Duration high{0};
};

// Nothing if there are no latencies.
[[nodiscard]] std::optional<PooledQuantile> pooled_quantile(
    std::span<const LatencySketch* const> runs, Percent share);

}  // namespace damper::lab
