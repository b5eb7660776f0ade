#ifndef DAMPER_QUEUE_CONTROLLER_CONTROLLER_OPTIONS_H_
#define DAMPER_QUEUE_CONTROLLER_CONTROLLER_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "damper/admit/retry_budget.h"
#include "damper/base/histogram.h"
#include "damper/engine/event.h"
#include "damper/engine/requeue.h"
#include "damper/queue/controller/controller_core.h"
#include "damper/queue/work_queue/work_queue_options.h"

namespace damper {

// What can be configured about a Controller. The defaults are safe; see RequeuePolicy for those of
// `retries`.
struct ControllerOptions {
  std::string name = "controller";  // in metrics
  int workers = 1;                  // threads; 1 to 1000
  queue::WorkQueueOptions queue{};  // its bounds, priorities and groups
  engine::RequeuePolicy retries{};  // backoff, attempts, budget, rate, deadline
  // At once, and at most half of the queue's capacity; one more waits for about its longest
  // backoff.
  std::size_t most_parked = 100'000;
  bool owns_retries = true;                     // guarded calls in a run do not retry on their own
  engine::EventSink* sink = nullptr;            // hears of transitions; outlives the controller
  admit::RetryBudget* parent_budget = nullptr;  // the process's, if there is one; outlives it
};

// One sentence on what is wrong with the options; nothing when they are valid.
[[nodiscard]] std::optional<std::string> find_error(const ControllerOptions& options);

// What a controller has counted and what it holds, at one moment.
struct ControllerStats {
  queue::QueueStats queue;
  queue::ControllerCounts runs;
  engine::Requeue::Counts retries;
  int workers = 0;               // threads
  std::uint64_t overruns = 0;    // runs that ended after their deadline
  std::uint64_t exceptions = 0;  // runs that threw
};

namespace queue {

[[nodiscard]] ControllerCoreOptions core_options(const ControllerOptions& options);

// Where a controller's times are kept, for metrics.
struct ControllerTimes {
  Histogram waits;       // of keys, from ready to under way
  Histogram works;       // of runs
  Histogram rate_waits;  // of runs: how long `rate` kept a worker from a key that was ready
};

}  // namespace queue
}  // namespace damper

#endif  // DAMPER_QUEUE_CONTROLLER_CONTROLLER_OPTIONS_H_
