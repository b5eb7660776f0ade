#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "damper/admit/retry_budget.h"
#include "damper/base/bounds.h"
#include "damper/base/histogram.h"
#include "damper/engine/event.h"
#include "damper/engine/requeue.h"
#include "damper/queue/controller/controller_core.h"
#include "damper/queue/work_queue/work_queue_options.h"

namespace damper {

// The options of a Controller. The defaults are safe; see RequeuePolicy for those of `retries`.
struct ControllerOptions {
  static constexpr Range<int> kWorkers{1, 1000};

  std::string name = "controller";  // in metrics
  int workers = 1;                  // threads
  queue::WorkQueueOptions queue{};  // bounds, priorities and groups
  engine::RequeuePolicy retries{};  // backoff, attempts, budget, rate, deadline
  // Limit of parked keys, at most half of the queue's capacity. A key beyond it is retried after
  // about the longest backoff instead.
  std::size_t most_parked = 100'000;
  bool owns_retries = true;                     // guarded calls in a run do not retry themselves
  engine::EventSink* sink = nullptr;            // receives transitions; outlives the controller
  admit::RetryBudget* parent_budget = nullptr;  // of the process, if any; outlives the controller
};

// The state and the counters of a controller at one moment.
struct ControllerStats {
  queue::QueueStats queue;
  queue::ControllerCounts runs;
  engine::Requeue::Counts retries;
  int workers = 0;               // threads
  std::uint64_t overruns = 0;    // runs that ended after their deadline
  std::uint64_t exceptions = 0;  // runs that threw
};

namespace queue {

[[nodiscard]] inline ControllerCoreOptions core_options(const ControllerOptions& options) {
  return {.queue = options.queue, .retries = options.retries, .most_parked = options.most_parked};
}

// The histograms of a controller.
struct ControllerTimes {
  Histogram waits;       // of keys, from ready to running
  Histogram works;       // of runs
  Histogram rate_waits;  // of runs: time that a ready key waited for `rate`
};

}  // namespace queue

// One sentence about the first invalid option; nullopt when all are valid.
[[nodiscard]] inline std::optional<std::string> find_error(const ControllerOptions& options) {
  BoundsCheck check;
  check.field("workers", options.workers, options.kWorkers);
  if (auto error = check.error()) return error;
  return queue::find_error(queue::core_options(options));
}
}  // namespace damper
