#include "damper/queue/work_queue/queue_metrics.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "damper/observe/dependency_metrics.h"
#include "damper/observe/promtool_testing.h"
#include "damper/observe/transition_log.h"
#include "damper/queue/controller/controller.h"
#include "damper/queue/controller/controller_testing.h"
#include "damper/queue/limiters/limiters.h"
#include "damper/queue/work_queue/work_queue.h"

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

// The sample's value; nothing when there is none.
std::optional<std::string> value(const observe::Registry& registry, const std::string& series) {
  const std::string text = "\n" + registry.expose();
  const std::size_t at = text.find("\n" + series + " ");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t start = at + series.size() + 2;
  return text.substr(start, text.find('\n', start) - start);
}

TEST(QueueMetrics, AQueueIsShownUnderBothNames) {
  observe::Registry registry;
  QueueMetrics metrics(registry);
  QueueReading reading;
  reading.stats = {.ready = 1,
                   .delayed = 2,
                   .running = 3,
                   .parked = 4,
                   .groups = 5,
                   .capacity = 6,
                   .adds = 70,
                   .readied = 79,
                   .merged = 8,
                   .marked = 9,
                   .refused = 10,
                   .shed = 11,
                   .closed = 12,
                   .spurious_done = 13,
                   .dropped = 15,
                   .oldest_ready = 1500ms,
                   .unfinished = 2s,
                   .longest_running = 500ms};
  reading.retries = 14;
  const auto shown = metrics.add("q", [&] { return reading; });
  for (const auto& [series, expected] :
       std::initializer_list<std::pair<std::string, std::string>>{{"depth", "1"},
                                                                  {"delayed", "2"},
                                                                  {"running", "3"},
                                                                  {"parked", "4"},
                                                                  {"groups", "5"},
                                                                  {"capacity", "6"},
                                                                  {"adds_total", "70"},
                                                                  {"merged_total", "8"},
                                                                  {"marked_total", "9"},
                                                                  {"refused_total", "10"},
                                                                  {"shed_total", "11"},
                                                                  {"closed_total", "12"},
                                                                  {"spurious_done_total", "13"},
                                                                  {"dropped_total", "15"},
                                                                  {"age_seconds", "1.5"}}) {
    EXPECT_EQ(value(registry, "damper_queue_" + series + "{queue=\"q\"}"), expected) << series;
  }
  for (const auto& [series, expected] : std::initializer_list<std::pair<std::string, std::string>>{
           {"depth", "1"},
           {"adds_total", "79"},
           {"retries_total", "14"},
           {"unfinished_work_seconds", "2"},
           {"longest_running_processor_seconds", "0.5"}}) {
    EXPECT_EQ(value(registry, "workqueue_" + series + "{name=\"q\"}"), expected) << series;
  }
  // Without histograms there are none, rather than empty ones.
  EXPECT_EQ(registry.expose().find("_bucket"), std::string::npos);
  EXPECT_EQ(observe::promtool(registry.expose()), "");
}

TEST(QueueMetrics, AWorkQueueIsShownWithTheDelaysOfItsLimiter) {
  observe::Registry registry;
  QueueMetrics metrics(registry);
  // The key is not due before it is read, however slow the machine is.
  WorkQueue<std::string> queue({}, per_key<std::string>({.jitter = schedule::Jitter::none,
                                                         .base = std::chrono::hours(1),
                                                         .cap = std::chrono::hours(1)}));
  const auto shown = metrics.add("q", queue);
  queue.add("a");
  EXPECT_TRUE(queue.get().done_rate_limited());
  const auto of = [&](const std::string& series) {
    return value(registry, series + "{queue=\"q\"}");
  };
  EXPECT_EQ(of("damper_rate_limiter_wait_seconds_count"), "1");
  EXPECT_EQ(of("damper_queue_work_seconds_count"), "1");
  EXPECT_EQ(of("damper_queue_delayed"), "1");
  EXPECT_EQ(value(registry, "workqueue_retries_total{name=\"q\"}"), "1");
  EXPECT_EQ(observe::promtool(registry.expose()), "");
}

TEST(QueueMetrics, AControllerIsShownWithWhatItCounted) {
  observe::Registry registry;
  ControllerOptions options = quick(4);
  options.name = "deployments";
  options.retries.max_attempts = 2;
  const auto successes = [](auto& of) { return of.stats().runs.finished[0]; };
  const auto run = [&](Controller<std::string>& all, const std::string& key,
                       const RunContext& context) -> Reconcile {
    if (context.attempt() == 2) {  // Parked: another key has succeeded.
      EXPECT_TRUE(eventually([&] { return successes(all) > 0; }));
    }
    if (key == "broken") return failed(Outcome::timeout);
    if (key == "hopeless") return terminal("no");
    if (key == "bug") throw std::runtime_error("bug");
    return done();
  };
  Controller<std::string>* self = nullptr;
  Controller<std::string> controller(
      options, [&](const std::string& key, const RunContext& context) -> Reconcile {
        return run(*self, key, context);
      });
  self = &controller;
  QueueMetrics metrics(registry);
  const auto shown = metrics.add(controller);
  const auto failures = [&] { return controller.stats().runs.finished[2]; };
  for (const char* key : {"broken", "bug"}) controller.add(key);
  EXPECT_TRUE(eventually([&] { return failures() == 2; }));
  for (const char* key : {"a", "b", "hopeless"}) controller.add(key);
  EXPECT_TRUE(eventually([&] { return controller.stats().queue.parked == 3; }));
  EXPECT_TRUE(eventually([&] { return successes(controller) == 2; }));
  const auto of = [&](const std::string& series, const std::string& labels = {}) {
    return value(registry, "damper_" + series + "{queue=\"deployments\"" + labels + "}");
  };
  EXPECT_EQ(of("queue_parked"), "3");
  EXPECT_EQ(of("queue_finished_total", ",result=\"done\""), "2");
  EXPECT_EQ(of("queue_finished_total", ",result=\"requeue\""), "0");  // Invariant (1).
  EXPECT_EQ(of("queue_finished_total", ",result=\"failed\""), "4");
  EXPECT_EQ(of("queue_finished_total", ",result=\"terminal\""), "1");
  EXPECT_EQ(
      value(registry, "damper_queue_parked_total{queue=\"deployments\",reason=\"attempts_spent\"}"),
      "2");
  EXPECT_EQ(of("queue_parked_total", ",reason=\"permanent\""), "1");
  EXPECT_EQ(of("queue_not_parked_total"), "0");
  EXPECT_EQ(of("queue_held_total", ",reason=\"switched_off\""), "0");
  EXPECT_EQ(of("queue_held_total", ",reason=\"budget_spent\""), "0");
  EXPECT_EQ(of("queue_held_total", ",reason=\"pushed_back\""), "0");
  EXPECT_EQ(of("retries_total", ",reason=\"timeout\""), "1");
  EXPECT_EQ(of("retries_total", ",reason=\"transient\""), "1");
  EXPECT_EQ(of("retries_total", ",reason=\"conflict\""), "0");
  EXPECT_EQ(of("queue_exceptions_total"), "2");
  EXPECT_EQ(of("queue_overruns_total"), "0");
  EXPECT_EQ(of("workers"), "4");
  EXPECT_EQ(of("worker_utilization"), "0");
  EXPECT_EQ(of("switch_off", ",switch=\"retries\""), "0");
  EXPECT_EQ(of("queue_wait_seconds_count"), "7");
  EXPECT_EQ(of("queue_work_seconds_count"), "7");
  EXPECT_EQ(of("rate_limiter_wait_seconds_count"), "0");
  EXPECT_EQ(value(registry, "workqueue_retries_total{name=\"deployments\"}"), "2");
  EXPECT_EQ(value(registry, "workqueue_queue_duration_seconds_count{name=\"deployments\"}"), "7");
  EXPECT_EQ(value(registry, "workqueue_work_duration_seconds_count{name=\"deployments\"}"), "7");
  controller.switches().set(admit::Switch::retries, {.off = true});
  EXPECT_EQ(of("switch_off", ",switch=\"retries\""), "1");
}

TEST(QueueMetrics, UtilizationIsTheShareOfWorkersThatAreBusy) {
  observe::Registry registry;
  std::latch running(2);
  std::latch go(1);
  Controller<int> controller({.name = "c", .workers = 4}, [&](const int&) {
    running.count_down();
    go.wait();
    return done();
  });
  const auto shown = QueueMetrics(registry).add(controller);
  controller.add(1);
  controller.add(2);
  running.wait();
  EXPECT_EQ(value(registry, "damper_worker_utilization{queue=\"c\"}"), "0.5");
  go.count_down();
}

TEST(QueueMetrics, PromtoolAcceptsThemBesideADependencysAndHostileNames) {  // Invariant (2).
  observe::Registry registry;
  engine::Policy policy;
  policy.attempt_rate.emplace();  // It shares a family with the queues.
  Dependency dependency("db", policy);
  const auto of_dependency = observe::DependencyMetrics(registry).add(dependency);
  Controller<int> controller({.name = "a\"b\\c\nd\xFF"}, [](const int&) { return done(); });
  const auto of_controller = QueueMetrics(registry).add(controller);
  const auto of_queue = QueueMetrics(registry).add("", [] { return QueueReading{}; });
  const std::string text = registry.expose();
  EXPECT_EQ(observe::promtool(text), "");
  EXPECT_EQ(text.find("NaN"), std::string::npos);
  EXPECT_EQ(text.find("Inf "), std::string::npos);
  EXPECT_EQ(text.find("dropped_series"), std::string::npos);
  EXPECT_NE(text.find("damper_retries_total{dependency=\"db\",reason=\"timeout\"} 0\n"),
            std::string::npos);
}

TEST(QueueMetrics, AScrapeRunsBesideRuns) {
  observe::Registry registry;
  Controller<int> controller({.name = "c", .workers = 2}, [](const int&) { return done(); });
  const auto shown = QueueMetrics(registry).add(controller);
  std::jthread producer([&] {
    for (int i = 0; i < 2000; ++i) controller.add(i);
  });
  std::uint64_t before = 0;
  for (int i = 0; i < 20; ++i) {
    const auto adds = std::stoull(*value(registry, "damper_queue_adds_total{queue=\"c\"}"));
    EXPECT_GE(adds, before);
    before = adds;
  }
  producer.join();
  EXPECT_TRUE(controller.drain(1min).empty());
  EXPECT_EQ(value(registry, "damper_queue_finished_total{queue=\"c\",result=\"done\"}"), "2000");
}

// The log lines that an operator reads, from the log itself.
TEST(QueueMetrics, TheTransitionLogHasALineForEachTransitionOfAKey) {
  std::string lines;
  observe::TransitionLog log(
      [&](std::string_view line) { lines += line.substr(line.find(" event=") + 1); });
  ControllerOptions options = quick();
  options.retries.backoff = {.jitter = schedule::Jitter::none, .base = 1us, .cap = 100us};
  options.sink = &log;
  options.retries.max_attempts = 12;
  std::atomic<int> failing = 11;
  Controller<std::string> controller(options,
                                     [&](const std::string& key, const RunContext& context) {
                                       if (key == "bad template") return terminal("no such field");
                                       if (key == "well") return requeue_after(0s);
                                       if (static_cast<int>(context.attempt()) > failing)
                                         return done();
                                       return Reconcile(failed(Outcome::transient));
                                     });
  controller.add("deployments/web");
  EXPECT_TRUE(eventually([&] { return controller.stats().runs.finished[0] == 1; }));
  controller.add("bad template");
  EXPECT_TRUE(eventually([&] { return controller.stats().queue.parked == 1; }));
  failing = 100;
  controller.add("well");  // Between any two runs of the one that fails.
  controller.add("deployments/api");
  EXPECT_TRUE(eventually([&] { return controller.stats().queue.parked == 2; }));
  (void)controller.stop();
  EXPECT_EQ(lines,
            "event=first_failure key=deployments/web count=1 length=1us\n"
            "event=backoff_growing key=deployments/web count=3 length=4us\n"
            "event=repeated_failure key=deployments/web count=10 length=100us\n"
            "event=recovered key=deployments/web count=11\n"
            "event=parked key=\"bad template\" count=1 detail=permanent\n"
            "event=first_failure key=deployments/api count=1 length=1us\n"
            "event=backoff_growing key=deployments/api count=3 length=4us\n"
            "event=repeated_failure key=deployments/api count=10 length=100us\n"
            "event=parked key=deployments/api count=12 detail=attempts_spent\n");
}

}  // namespace
}  // namespace damper::queue
