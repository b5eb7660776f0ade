#pragma once

#include <cstddef>
#include <functional>

#include "damper/base/instant.h"
#include "damper/http/server/guard.h"
#include "damper/http/server/thread_gate.h"
#include "damper/observe/dependency_metrics.h"
#include "damper/observe/registry.h"

namespace damper::http {

// GuardMetrics shows guards and gates in a Registry, with the label `server`:
//   GuardMetrics metrics(registry);
//   const auto shown = metrics.add(guard);   // for as long as `shown` lives
//
// Model: read at each scrape. Each family has the prefix damper_server_:
//   requests_total{verdict,criticality}   success: it was run; shed, limited, deadline_too_close,
//                                         deadline_passed, cancelled (its caller went away first)
//   inflight_requests, limit              requests that are worked on, and how many may be
//   overruns_total                        work that ended after its deadline
//   work_seconds                          a histogram
//   queue_depth, queue_age_seconds        of a guard: its queue, and the age of the oldest
//   queue_wait_seconds                    a histogram: from arrival to start, of work that ran
// Invariants:
//   (1) Every verdict and criticality is shown from the start, at 0: a rate sees the first one.
//   (2) No counter shrinks.
// Of two with one name the first is shown. The largest family has kMostSeries series for each.
// Thread safety: as the Registry's. Cost: nothing but at a scrape.
class GuardMetrics {
 public:
  using Clock = std::function<Instant()>;
  static constexpr std::size_t kMostSeries = kAdmissionVerdicts.size() * admit::kCriticalities;

  // The registry outlives it.
  explicit GuardMetrics(observe::Registry& registry, Clock now = observe::steady_now);

  // REQUIRES: the guard or gate, and the registry, outlive the Collection.
  [[nodiscard]] observe::Registry::Collection add(const Guard& guard);
  [[nodiscard]] observe::Registry::Collection add(const ThreadGate& gate);

 private:
  observe::Registry& registry_;
  const Clock now_;
};

}  // namespace damper::http
