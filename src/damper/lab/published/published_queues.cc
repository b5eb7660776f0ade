// Queues and who turns requests away: the queueing collapse, CoDel with adaptive LIFO, and the
// client throttle.
#include <algorithm>

#include "damper/lab/published/published_study.h"

namespace damper::lab {
namespace {

// ---- The queue that never catches up -----------------------------------------------------------

// Its requests are our attempts: one that comes again is another request there.
Sample look_at_failures(const Scenario&, const Record& record) {
  const ClientsRecord& clients = record.clients[0];
  const auto attempts = static_cast<double>(clients.attempts);
  return {.values = {100 * (1 - static_cast<double>(clients.succeeded) / attempts)}};
}

std::vector<Study> line_studies() {
  const PublishedRow row{.result = "Queueing collapse",
                         .unit = "%",
                         .source = "joemag1, queueingsimulator, github.com/joemag1"};
  PublishedRow lifo = row;
  lifo.what = "failed, r = 0.1, spike, LIFO";
  lifo.theirs = 0.79;
  PublishedRow fifo = row;
  fifo.what = "failed, r = 0.1, spike, FIFO";
  fifo.theirs = 9.91;
  PublishedRow full = row;
  full.what = "failed, r = 0.5, FIFO";
  full.theirs = 86.74;
  Scenario overload = builtin_variant("queue-collapse", "overload");
  overload.faults.clear();

  std::vector<Study> all;
  all.push_back(study_of(builtin_variant("queue-collapse", "lifo"), 40, look_at_failures));
  all.back().rows = {{within_amount(lifo, 0.05), mean_of(0)}};
  all.push_back(study_of(builtin_variant("queue-collapse", "fifo"), 40, look_at_failures));
  all.back().rows = {{within_amount(fifo, 0.2), mean_of(0)}};
  all.push_back(study_of(std::move(overload), 8, look_at_failures));
  all.back().of += ", no spike";
  all.back().rows = {{within_amount(full, 0.5), mean_of(0)}};
  return all;
}

// ---- CoDel with adaptive LIFO ------------------------------------------------------------------

// How long a request waits that is not served, in ms: by Little's law, those who wait by those who
// are turned away in a time. The newest are served at once, and hardly count among those who wait.
Sample look_at_shed(const Scenario&, const Record& record) {
  const auto& ticks = record.services[0].ticks;
  double waiting = 0;
  double refused = 0;
  for (std::size_t i = ticks.size() / 10; i < ticks.size(); ++i) {
    waiting += ticks[i].queued;
    refused += ticks[i].refused;
  }
  return {.values = {waiting / refused * static_cast<double>(record.bucket.count()) / 1e6}};
}

// The longest wait of one that is served, in ms.
Sample look_at_burst(const Scenario&, const Record& record) {
  const Duration service = std::chrono::milliseconds(1);
  const Duration longest = record.clients[0].latency.max() - service;
  return {.values = {static_cast<double>(longest.count()) / 1e6}};
}

std::vector<Study> shed_studies() {
  const PublishedRow row{.result = "CoDel with adaptive LIFO (Facebook)",
                         .unit = "ms",
                         .source = "Maurer, \"Fail at Scale\", ACM Queue, 2015"};
  PublishedRow target = row;
  target.what = "wait until given up, overloaded: M";
  target.theirs = 5;
  PublishedRow interval = row;
  interval.what = "longest wait, burst while idle: N";
  interval.theirs = 100;
  Scenario often = builtin_variant("overload", "shed");
  often.bucket = std::chrono::milliseconds(1);  // so that who waits is counted often enough
  std::vector<Study> all;
  all.push_back(study_of(std::move(often), 8, look_at_shed));
  all.back().rows = {{within_percent(target, 5), mean_of(0)}};
  all.push_back(study_of(builtin_variant("overload", "burst"), 8, look_at_burst));
  all.back().rows = {{within_percent(interval, 5), mean_of(0)}};
  return all;
}

// ---- The client throttle -----------------------------------------------------------------------

// What arrives by what is served, once the window has filled.
Sample look_at_throttle(const Scenario&, const Record& record) {
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
  Study study = study_of(std::move(scenario), 4, look_at_throttle);
  if (multiplier != 200) study.of += ", multiplier " + std::to_string(multiplier);
  study.rows = {{within_percent(std::move(row), 2), mean_of(0)}};
  return study;
}

}  // namespace

std::vector<Study> queue_studies() {
  std::vector<Study> all = line_studies();
  for (Study& study : shed_studies()) all.push_back(std::move(study));
  all.push_back(throttle_study(200));
  all.push_back(throttle_study(150));
  return all;
}

}  // namespace damper::lab
