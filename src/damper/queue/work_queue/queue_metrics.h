#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "damper/admit/retry_budget.h"
#include "damper/admit/switches.h"
#include "damper/base/histogram.h"
#include "damper/base/instant.h"
#include "damper/observe/exposition.h"
#include "damper/observe/registry.h"
#include "damper/queue/controller/controller_options.h"
#include "damper/queue/work_queue/work_queue_options.h"

namespace damper::queue {

// The metrics of a work queue at one moment.
struct QueueReading {
  QueueStats stats{};
  std::uint64_t retries = 0;                 // keys that were added again after a failure
  const Histogram* waits = nullptr;          // from ready to running; nullptr: not exported
  const Histogram* works = nullptr;          // of runs
  const Histogram* limiter_waits = nullptr;  // delays of the rate limiter
};

// QueueMetrics exports work queues and controllers to a Registry, under two names each:
//   QueueMetrics metrics(registry);
//   const auto shown = metrics.add(controller);   // for as long as `shown` lives
//
// Why: damper_* with the label `queue` follows our naming; workqueue_* with the label `name` has
// the names of client-go, so that its dashboards work unchanged.
// Model: values are read at each scrape. Families of a queue:
//   damper_queue_depth, _delayed, _running, _parked, _groups, _capacity, _age_seconds
//   damper_queue_adds_total, _merged_total, _marked_total, _refused_total, _shed_total,
//   _closed_total, _spurious_done_total, _dropped_total
//   damper_queue_wait_seconds, damper_queue_work_seconds             histograms
//   damper_rate_limiter_wait_seconds                the delays of failed keys; of a controller: the
//                                                   waits of ready keys for its `rate`
//   workqueue_depth, _adds_total, _retries_total, _unfinished_work_seconds,
//   _longest_running_processor_seconds, _queue_duration_seconds, _work_duration_seconds
// Additional families of a controller:
//   damper_queue_finished_total{result}, damper_queue_parked_total{reason}, _not_parked_total
//   damper_queue_held_total{reason}                 retries held: switched_off, budget_spent,
//                                                   pushed_back
//   damper_queue_overruns_total, _exceptions_total
//   damper_retries_total{reason}, damper_retry_budget_balance, damper_retry_budget_fill_ratio,
//   damper_switch_off{switch}                       as a dependency's, with the label `queue`
//   damper_workers, damper_worker_utilization
// Invariants:
//   (1) Every result and reason is exported from the start, as 0: rate() sees the first one.
//   (2) No value is NaN or infinite, and no counter decreases.
// Of two queues with one name the first is exported. The largest family has kMostSeries series a
// queue.
// Thread safety: that of the Registry. Cost: none between scrapes.
class QueueMetrics {
 public:
  static constexpr std::size_t kMostSeries = 5;  // of damper_retries_total

  // The registry must outlive this object.
  explicit QueueMetrics(observe::Registry& registry) : registry_(registry) {}

  // REQUIRES: the controller and the registry outlive the Collection.
  template <class AnyController>
    requires requires(AnyController& controller) {
      { controller.stats() } -> std::same_as<ControllerStats>;
    }
  [[nodiscard]] observe::Registry::Collection add(AnyController& controller) {
    return show([&controller](observe::Exposition& out) {
      write_metrics(controller.name(),
                    {.stats = controller.stats(),
                     .times = controller.times(),
                     .budget = controller.budget(),
                     .switches = controller.switches()},
                    now(), out);
    });
  }
  // A WorkQueue or AsyncWorkQueue. REQUIRES: it and the registry outlive the Collection.
  template <class AnyQueue>
    requires requires(AnyQueue& queue) {
      { queue.stats() } -> std::same_as<QueueStats>;
      { queue.limiter_waits() } -> std::same_as<const Histogram&>;
    }
  [[nodiscard]] observe::Registry::Collection add(std::string name, AnyQueue& queue) {
    return add(std::move(name), [&queue] {
      return QueueReading{.stats = queue.stats(),
                          .retries = total(queue.limiter_waits()),
                          .waits = &queue.queue_times(),
                          .works = &queue.work_times(),
                          .limiter_waits = &queue.limiter_waits()};
    });
  }
  // Any other queue; `read` is called at each scrape, on any thread.
  [[nodiscard]] observe::Registry::Collection add(std::string name,
                                                  std::function<QueueReading()> read);

  // The metrics of a controller at one moment.
  struct ControllerReading {
    ControllerStats stats;
    const ControllerTimes& times;
    const admit::RetryBudget& budget;
    const admit::Switches& switches;
  };
  static void write_metrics(std::string_view name, const ControllerReading& reading, Instant now,
                            observe::Exposition& out);

 private:
  static Instant now() noexcept;
  // How much was ever recorded.
  [[nodiscard]] static std::uint64_t total(const Histogram& histogram);
  [[nodiscard]] observe::Registry::Collection show(observe::Registry::Collector collector);

  observe::Registry& registry_;
};

// Writes the families of one queue.
void write_metrics(std::string_view name, const QueueReading& reading, observe::Exposition& out);

}  // namespace damper::queue
