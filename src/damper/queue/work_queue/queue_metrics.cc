#include "damper/queue/work_queue/queue_metrics.h"

#include <array>
#include <chrono>
#include <utility>

#include "damper/decide/outcome.h"
#include "damper/observe/dependency_metrics.h"
#include "damper/observe/labels.h"
#include "damper/queue/work_queue/finish.h"
#include "damper/run/clock.h"

namespace damper::queue {
namespace {

using decide::Outcome;
using observe::Exposition;
using observe::Labels;

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// Writes the samples of one queue with its label.
class Page {
 public:
  Page(Exposition& out, std::string_view label, std::string_view name)
      : out_(out), label_(label), name_(name) {}

  void counter(std::string_view name, std::string_view help, std::uint64_t value,
               std::string_view label = {}, std::string_view label_value = {}) {
    out_.counter(name, help, labels(label, label_value), value);
  }
  template <class T>
  void gauge(std::string_view name, std::string_view help, T value, std::string_view label = {},
             std::string_view label_value = {}) {
    out_.gauge(name, help, labels(label, label_value), value);
  }
  void histogram(std::string_view name, std::string_view help, const Histogram* histogram) {
    if (histogram == nullptr) return;
    out_.histogram(name, help, labels({}, {}), observe::read_latencies(*histogram));
  }

 private:
  [[nodiscard]] Labels labels(std::string_view label, std::string_view value) const {
    Labels labels{{std::string(label_), std::string(name_)}};
    if (!label.empty()) labels.emplace_back(label, value);
    return labels;
  }

  Exposition& out_;
  const std::string_view label_;
  const std::string_view name_;
};

void write_queue(Page page, const QueueReading& reading) {
  const QueueStats& stats = reading.stats;
  page.gauge("damper_queue_depth", "Keys that wait for a worker.", stats.ready);
  page.gauge("damper_queue_delayed", "Keys that wait for their due time.", stats.delayed);
  page.gauge("damper_queue_running", "Keys that are running.", stats.running);
  page.gauge("damper_queue_parked", "Keys that were given up; they run if added again or revived.",
             stats.parked);
  page.gauge("damper_queue_groups", "Groups that have a key in the queue.", stats.groups);
  page.gauge("damper_queue_capacity", "Keys that the queue may hold.", stats.capacity);
  page.gauge("damper_queue_age_seconds", "Time in state ready of the key that has waited longest.",
             in_seconds(stats.oldest_ready));
  page.counter("damper_queue_adds_total", "Adds of new or parked keys.", stats.adds);
  page.counter("damper_queue_merged_total", "Adds of keys that were waiting already.",
               stats.merged);
  page.counter("damper_queue_marked_total", "Adds of keys that were running.", stats.marked);
  page.counter("damper_queue_refused_total", "Adds that were refused because the queue was full.",
               stats.refused);
  page.counter("damper_queue_shed_total",
               "Keys that were removed to make room for more important ones.", stats.shed);
  page.counter("damper_queue_closed_total", "Adds after the queue was closed.", stats.closed);
  page.counter("damper_queue_spurious_done_total", "Done calls for keys that were not running.",
               stats.spurious_done);
  page.counter("damper_queue_dropped_total", "Leases that were destroyed without done.",
               stats.dropped);
  page.histogram("damper_queue_wait_seconds", "Time that ready keys waited for a worker.",
                 reading.waits);
  page.histogram("damper_queue_work_seconds", "Duration of runs.", reading.works);
  page.histogram("damper_rate_limiter_wait_seconds",
                 "Time that attempts or keys waited for the rate limit.", reading.limiter_waits);
}

// The names of client-go, and its help texts where they apply.
void write_workqueue(Page page, const QueueReading& reading) {
  const QueueStats& stats = reading.stats;
  page.gauge("workqueue_depth", "Current depth of workqueue.", stats.ready);
  page.counter("workqueue_adds_total", "Total number of adds handled by workqueue.", stats.readied);
  page.counter("workqueue_retries_total", "Total number of retries handled by workqueue.",
               reading.retries);
  page.gauge("workqueue_unfinished_work_seconds",
             "How many seconds of work has been done that is in progress and hasn't been observed "
             "by work_duration.",
             in_seconds(stats.unfinished));
  page.gauge("workqueue_longest_running_processor_seconds",
             "How many seconds has the longest running processor for workqueue been running.",
             in_seconds(stats.longest_running));
  page.histogram("workqueue_queue_duration_seconds",
                 "How long in seconds an item stays in workqueue before being requested.",
                 reading.waits);
  page.histogram("workqueue_work_duration_seconds",
                 "How long in seconds processing an item from workqueue takes.", reading.works);
}

// The outcomes that are retried, as exported for a dependency.
constexpr std::array<Outcome, QueueMetrics::kMostSeries> kRetried = {
    Outcome::transient, Outcome::timeout, Outcome::overload, Outcome::unavailable,
    Outcome::conflict};
// The reasons for parking a key.
constexpr std::array<Verdict, 4> kParked = {Verdict::permanent, Verdict::not_retryable,
                                            Verdict::pushed_back, Verdict::attempts_spent};

void write_runs(Page page, const ControllerStats& stats) {
  for (std::size_t i = 0; i < kFinishNames.size(); ++i) {
    page.counter("damper_queue_finished_total", "Finished runs, by result.", stats.runs.finished[i],
                 "result", kFinishNames[i]);
  }
  for (const Verdict why : kParked) {
    page.counter("damper_queue_parked_total", "Keys that were given up, by reason.",
                 stats.runs.parked_for[static_cast<std::size_t>(why)], "reason", damper::name(why));
  }
  page.counter("damper_queue_not_parked_total",
               "Keys that were not parked because the limit of parked keys was reached.",
               stats.runs.not_parked);
  constexpr std::string_view kHeld = "damper_queue_held_total";
  constexpr std::string_view kHeldHelp = "Due retries that were held, by reason.";
  page.counter(kHeld, kHeldHelp, stats.retries.held_by_switch, "reason",
               damper::name(Verdict::switched_off));
  page.counter(kHeld, kHeldHelp, stats.retries.held_by_budget, "reason",
               damper::name(Verdict::budget_spent));
  page.counter(kHeld, kHeldHelp, stats.retries.held_by_server, "reason",
               damper::name(Verdict::pushed_back));
  for (const Outcome why : kRetried) {
    page.counter("damper_retries_total", "Retries that were sent, by the outcome before them.",
                 stats.retries.retries[static_cast<std::size_t>(why)], "reason", decide::name(why));
  }
  page.counter("damper_queue_overruns_total", "Runs that ended after their deadline.",
               stats.overruns);
  page.counter("damper_queue_exceptions_total", "Runs that threw an exception.", stats.exceptions);
}

void write_workers(Page page, const QueueMetrics::ControllerReading& reading, Instant now) {
  const ControllerStats& stats = reading.stats;
  page.gauge("damper_workers", "Threads that run keys.", stats.workers);
  const int workers = stats.workers > 0 ? stats.workers : 1;
  page.gauge("damper_worker_utilization", "Share of the workers that are running a key.",
             static_cast<double>(stats.queue.running) / workers);
  page.gauge("damper_retry_budget_balance", "Retries that the budget would grant now.",
             reading.budget.balance(now));
  page.gauge("damper_retry_budget_fill_ratio", "The share of the earned retries that is left.",
             reading.budget.fill(now));
  page.gauge("damper_switch_off", "1 when an operator has switched it off, here or above.",
             reading.switches.retries_off(now) ? 1 : 0, "switch",
             admit::name(admit::Switch::retries));
}

}  // namespace

void write_metrics(std::string_view name, const QueueReading& reading, Exposition& out) {
  write_queue(Page(out, "queue", name), reading);
  write_workqueue(Page(out, "name", name), reading);
}

void QueueMetrics::write_metrics(std::string_view name, const ControllerReading& reading,
                                 Instant now, Exposition& out) {
  std::uint64_t retries = 0;
  for (const std::uint64_t count : reading.stats.retries.retries) retries += count;
  queue::write_metrics(name,
                       {.stats = reading.stats.queue,
                        .retries = retries,
                        .waits = &reading.times.waits,
                        .works = &reading.times.works,
                        .limiter_waits = &reading.times.rate_waits},
                       out);
  const Page page(out, "queue", name);
  write_runs(page, reading.stats);
  write_workers(page, reading, now);
}

Instant QueueMetrics::now() noexcept { return run::now(); }

std::uint64_t QueueMetrics::total(const Histogram& histogram) {
  Histogram::Totals totals;
  histogram.read_totals(totals);
  std::uint64_t sum = 0;
  for (const std::int64_t count : totals.counts) sum += static_cast<std::uint64_t>(count);
  return sum;
}

observe::Registry::Collection QueueMetrics::show(observe::Registry::Collector collector) {
  return registry_.collect(std::move(collector));
}

observe::Registry::Collection QueueMetrics::add(std::string name,
                                                std::function<QueueReading()> read) {
  return show([name = std::move(name), read = std::move(read)](Exposition& out) {
    queue::write_metrics(name, read(), out);
  });
}

}  // namespace damper::queue
