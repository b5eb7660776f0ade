#pragma once

#include <functional>

#include "damper/base/histogram.h"
#include "damper/engine/dependency.h"
#include "damper/observe/exposition.h"
#include "damper/observe/metric.h"
#include "damper/observe/registry.h"

namespace damper::observe {

// The time now, on the steady clock: the same as run::now(), which this module may not include.
[[nodiscard]] Instant steady_now() noexcept;

// DependencyMetrics shows what dependencies count in a Registry, with the label `dependency`:
//   DependencyMetrics metrics(registry);
//   const auto shown = metrics.add(billing);   // for as long as `shown` lives
//
// Why: a dependency counts all of this for its own decisions. It is read at each scrape; no call
// pays for it.
// Model: the families of Prometheus, each with the prefix damper_:
//   calls_total, attempts_total, verdicts_total{verdict}, inflight_requests
//   retries_total{reason}, layered_retries_total    the reason is the outcome that made it needed
//   retry_budget_balance, retry_budget_fill_ratio, retry_budget_exhausted_total
//   hedges_total{result}                            sent, won (some of these), suppressed
//   breaker_state{state}                            1 for the state that it is in; the transitions
//                                                   are in EventCounts' events_total
//   breaker_forced{state}                           1 while an operator holds it open, or closed
//   concurrency_limit, concurrency_in_flight, throttle_reject_probability
//   rate_limiter_wait_seconds                       a histogram of the waits for the rate of the
//                                                   attempts
//   switch_off{switch}                              1 when off, here or above
//   latency_seconds                                 a histogram of answered and timed out attempts
// What a policy leaves out (breaker, limit, throttle, rate) is not shown, rather than shown as
// idle.
// Invariants:
//   (1) Every verdict and reason that a call can have is shown from the start, at 0: a rate sees
//       the first one.
//   (2) No value is NaN or infinite, and no counter shrinks.
//   (3) A count in latency_seconds is never under a bound that the attempt was over. It may be over
//       one that it was under by less than 3.2 %; the sum differs by at most 1.6 %.
// The largest family has kMostSeries series for each dependency: a Registry with its default limit
// of 1000 shows 52 dependencies and counts the rest in damper_metrics_dropped_series_total; set a
// larger limit for more. Of two dependencies with one name the first is shown.
// Thread safety: as the Registry's.
// Cost: about 40 microseconds for each dependency in a scrape.
class DependencyMetrics {
 public:
  using Clock = std::function<Instant()>;

  static constexpr std::size_t kMostSeries = 19;

  // `now` is the clock that drives the calls. The registry outlives it.
  explicit DependencyMetrics(Registry& registry, Clock now = steady_now);

  // REQUIRES: the dependency and the registry outlive the Collection.
  [[nodiscard]] Registry::Collection add(engine::Dependency& dependency);

 private:
  Registry& registry_;
  const Clock now_;
};

// What DependencyMetrics writes for one dependency.
void write_metrics(engine::Dependency& dependency, Instant now, Exposition& out);

// Everything that the latencies' histogram has ever counted, in buckets from 0.5 ms to 60 s.
[[nodiscard]] HistogramValue read_latencies(const damper::Histogram& latencies);

}  // namespace damper::observe
