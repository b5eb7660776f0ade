// Queues and refusals: the queueing collapse, CoDel with adaptive LIFO, and the client throttle.
#include "damper/lab/published/published_study.h"

namespace damper::lab {
namespace {

// ---- The queue that never catches up -----------------------------------------------------------

// Its requests are our attempts: a retry is another request there.
Sample sample_failures(const Scenario&, const Record& record) {
  const ClientsRecord& clients = record.clients[0];
  const auto attempts = static_cast<double>(clients.attempts);
  return {.values = {100 * (1 - static_cast<double>(clients.succeeded) / attempts)}};
}

std::vector<Study> line_studies() {
  const PublishedRow row{.result = "Queueing collapse",
                         .unit = "%",
                         .source = "joemag1, queueingsimulator, github.com/joemag1"};
  Scenario overload = builtin_variant("queue-collapse", "overload");
  overload.faults.clear();
  const auto study = [&row](Scenario scenario, std::size_t runs, const char* what, double theirs,
                            double tolerance, const char* detail = "") {
    return study_of(std::move(scenario), runs, sample_failures,
                    {{within_amount(row.named(what, theirs), tolerance), mean_of(0)}}, detail);
  };
  return {study(builtin_variant("queue-collapse", "lifo"), 40, "failed, r = 0.1, spike, LIFO", 0.79,
                0.05),
          study(builtin_variant("queue-collapse", "fifo"), 40, "failed, r = 0.1, spike, FIFO", 9.91,
                0.2),
          study(std::move(overload), 8, "failed, r = 0.5, FIFO", 86.74, 0.5, ", no spike")};
}

// ---- CoDel with adaptive LIFO ------------------------------------------------------------------

// The wait of requests that are refused, in ms: by Little's law, the queue by the rate of refusals.
// The newest requests are served at once and hardly count.
Sample sample_shed(const Scenario&, const Record& record) {
  const auto& ticks = record.services[0].ticks;
  double waiting = 0;
  double refused = 0;
  for (std::size_t i = ticks.size() / 10; i < ticks.size(); ++i) {
    waiting += ticks[i].queued;
    refused += ticks[i].refused;
  }
  return {.values = {waiting / refused * static_cast<double>(record.bucket.count()) / 1e6}};
}

// The longest wait of a request that is served, in ms.
Sample sample_burst(const Scenario&, const Record& record) {
  const Duration service = std::chrono::milliseconds(1);
  const Duration longest = record.clients[0].latency.max() - service;
  return {.values = {static_cast<double>(longest.count()) / 1e6}};
}

std::vector<Study> shed_studies() {
  const PublishedRow row{.result = "CoDel with adaptive LIFO (Facebook)",
                         .unit = "ms",
                         .source = "Maurer, \"Fail at Scale\", ACM Queue, 2015"};
  Scenario often = builtin_variant("overload", "shed");
  often.bucket = std::chrono::milliseconds(1);  // samples the queue often enough
  return {
      study_of(
          std::move(often), 8, sample_shed,
          {{within_percent(row.named("wait until given up, overloaded: M", 5), 5), mean_of(0)}}),
      study_of(
          builtin_variant("overload", "burst"), 8, sample_burst,
          {{within_percent(row.named("longest wait, burst while idle: N", 100), 5), mean_of(0)}})};
}

// ---- The client throttle -----------------------------------------------------------------------

// Arrivals by served requests, once the window has filled.
Sample sample_throttle(const Scenario&, const Record& record) {
  const auto& ticks = record.services[0].ticks;
  double arrived = 0;
  double served = 0;
  for (std::size_t i = ticks.size() / 4; i < ticks.size(); ++i) {
    arrived += ticks[i].first_tries;
    served += ticks[i].served;
  }
  return {.values = {arrived / served}};
}

Study throttle_study(std::int32_t multiplier) {
  PublishedRow row{
      .result = "Client throttle (SRE)",
      .what = "attempts by accepted, K = " + std::string(multiplier == 200 ? "2" : "1.5"),
      .theirs = multiplier / 100.0,
      .source = "\"Handling Overload\", Site Reliability Engineering, 2016"};
  Scenario scenario = builtin_variant("overload", "throttle");
  policy_of(scenario, "api").throttle->multiplier = Percent(multiplier);
  return study_of(std::move(scenario), 4, sample_throttle,
                  {{within_percent(std::move(row), 2), mean_of(0)}},
                  multiplier == 200 ? "" : ", multiplier " + std::to_string(multiplier));
}

}  // namespace

std::vector<Study> queue_studies() {
  return joined({line_studies(), shed_studies(), {throttle_study(200), throttle_study(150)}});
}

}  // namespace damper::lab
