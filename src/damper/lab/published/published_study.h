#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/engine/policy.h"
#include "damper/lab/published/published.h"
#include "damper/lab/record/latency_sketch.h"
#include "damper/lab/runs/interval.h"
#include "damper/lab/scenario/scenario.h"
#include "damper/lab/world/world.h"

// The parts of reproduce() (published.h): studies are in published_backoff.cc,
// published_collapse.cc, published_queues.cc, published_retries.cc and published_tail.cc.

namespace damper::lab {

// The values of one run.
struct Sample {
  std::vector<double> values{};
  LatencySketch latency{};
  bool whole = true;  // not cut short
};

// The estimate of one row from all runs of a study.
using Estimator = std::function<Estimate(std::span<const Sample>)>;

// The mean of values[i] over the runs, with Student's interval.
[[nodiscard]] Estimator mean_of(std::size_t i);
// `scale` times the sum of values[k] by that of values[n], with Wilson's interval: a share of
// requests, or of runs.
[[nodiscard]] Estimator share_of(std::size_t k, std::size_t n, double scale = 1);
// The quantile `share` of all latencies in ms; the interval is that of the order statistics,
// and of their buckets in the sketch.
[[nodiscard]] Estimator quantile_of(Percent share);

struct StudyRow {
  PublishedRow row{};
  Estimator estimate{};
};

// A Study is runs that differ in their seed alone, and the rows that they estimate.
struct Study {
  std::vector<StudyRow> rows{};
  std::string of{};  // "aws-occ/full, 50 clients"
  std::size_t runs = 1;
  // One run; seeds count from 1. If stopped, it returns early with `whole` false. The study
  // itself chooses latency_over_time.
  std::function<Sample(PlayOptions options)> run{};
};

// A study in which each run plays the scenario once. `detail` is appended to its name.
using Sampler = std::function<Sample(const Scenario&, const Record&)>;
[[nodiscard]] Study study_of(Scenario scenario, std::size_t runs, Sampler sampler,
                             std::vector<StudyRow> rows = {}, std::string_view detail = "",
                             bool latency_over_time = false);
[[nodiscard]] std::vector<Study> joined(std::vector<std::vector<Study>> parts);

// REQUIRES: there is such a built-in scenario with that variant.
[[nodiscard]] Scenario builtin_variant(std::string_view name, std::string_view variant);
// The policy that calls to the service run under. REQUIRES: the scenario has a route for it.
[[nodiscard]] engine::Policy& policy_of(Scenario& scenario, std::string_view service);

// Accepted within `percent` of `theirs`, or within `amount`.
[[nodiscard]] PublishedRow within_percent(PublishedRow row, double percent);
[[nodiscard]] PublishedRow within_amount(PublishedRow row, double amount);
// Accepted from low to high.
[[nodiscard]] PublishedRow between_bounds(PublishedRow row, double low, double high);

[[nodiscard]] std::vector<Study> backoff_studies();   // AWS's jitter
[[nodiscard]] std::vector<Study> collapse_studies();  // HotOS'21, OSDI'22, retry collapse
[[nodiscard]] std::vector<Study> queue_studies();     // queueing collapse, CoDel, client throttle
[[nodiscard]] std::vector<Study> retry_studies();     // bucket against breaker, layers
[[nodiscard]] std::vector<Study> tail_studies();      // The Tail at Scale
[[nodiscard]] std::vector<Study> all_studies();

}  // namespace damper::lab
