// The Tail at Scale: a rare hiccup is common where a request asks many servers, and a hedge cures
// it.
#include <chrono>
#include <cmath>

#include "damper/lab/published/published_study.h"
#include "damper/lab/runs/measure.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kSource = "Dean and Barroso, \"The Tail at Scale\", CACM, 2013";

// ---- Fan-out -----------------------------------------------------------------------------------

// How many requests took over half a second, and how many there were.
Sample look_at_slow(const Scenario& played, const Record& record) {
  const auto count = static_cast<double>(record.clients[0].latency.count());
  const double percent = find_measure("over_half_second")->of(played, record);
  return {.values = {std::round(percent / 100 * count), count}};
}

std::vector<Study> fanout_studies() {
  const PublishedRow row{
      .result = "The tail at scale, fan-out", .unit = "%", .source = std::string(kSource)};
  PublishedRow hundred = row;
  hundred.what = "slow, 100 servers, each 1 in 100";
  hundred.theirs = 63.4;
  PublishedRow thousands = row;
  thousands.what = "slow, 2000 servers, each 1 in 10,000";
  thousands.theirs = 18.1;
  std::vector<Study> all;
  all.push_back(study_of(builtin_variant("tail-fanout", "hundred"), 20, look_at_slow));
  all.back().rows = {{within_amount(hundred, 1), share_of(0, 1, 100)}};
  all.push_back(study_of(builtin_variant("tail-fanout", "two-thousand"), 20, look_at_slow));
  all.back().rows = {{within_amount(thousands, 1), share_of(0, 1, 100)}};
  return all;
}

// ---- Hedging -----------------------------------------------------------------------------------

// The article gives three facts and no distribution. P(one answer takes longer than t) is
// (scale / t)^alpha, and two of the facts fix both numbers: the share 0.02 takes longer than 10 ms,
// and of n answers that a request waits for, one in 1000 n takes longer than 1800 ms, so that one
// in 1000 requests does. That predicts the third fact, 74 ms with hedging. There are two readings:
//   a call for each key, n = 1000     alpha = math::ln(20000) / math::ln(180), scale = 10 ms *
//   0.02^(1 / alpha) a call for each server, n = 100   alpha = math::ln(2000) / math::ln(180)
// With independent replicas t solves (scale^2 / (t (t - 10 ms)))^alpha = 1 / (1000 n): 53 and 41
// ms. A share q of requests that is slow on both replicas adds q (scale / t)^alpha: 74 ms needs
// 0.17 % and 0.80 %, which is the one number that is fitted to it.
Scenario by_server(std::string_view variant) {
  Scenario scenario = builtin_variant("tail-hedge", variant);
  scenario.services[0].calls[0].times = 100;
  scenario.services[1].service_time = Distribution::pareto(690700ns, 1.4637);
  if (scenario.services[1].correlation > 0) scenario.services[1].correlation = 0.008;
  scenario.clients[0].rate *= 10;
  return scenario;
}

// The latencies from the sixth second on: the engine hedges nobody before it knows how long an
// answer takes, and what was published is not the first second.
Sample look_at_tail(const Scenario&, const Record& record) {
  const ServiceRecord& leaf = record.services[1];
  Sample sample;
  sample.values = {100 * static_cast<double>(leaf.hedges) / static_cast<double>(leaf.first_tries)};
  const auto& seconds = record.clients[0].latency_ticks;
  for (std::size_t i = 5; i < seconds.size(); ++i) sample.latency.merge(seconds[i]);
  return sample;
}

Study tail_study(Scenario scenario, std::size_t runs, std::string_view reading) {
  Study study = study_of(std::move(scenario), runs, look_at_tail, true);
  study.of += reading;
  return study;
}

std::vector<Study> hedge_studies() {
  const Estimator p999 = quantile_of(Percent::from_hundredths(9990));
  const PublishedRow row{
      .result = "The tail at scale, hedging", .unit = "ms", .source = std::string(kSource)};
  const auto named = [&row](std::string what, double theirs, std::string note) {
    PublishedRow renamed = row;
    renamed.what = std::move(what);
    renamed.theirs = theirs;
    renamed.note = std::move(note);
    return renamed;
  };
  PublishedRow more = named("more requests", 2, "a fact that the fit used");
  more.unit = "%";
  const PublishedRow before = named("p99.9 without, by key", 1800, "a fact that the fit used");
  const PublishedRow before_by_server =
      named("p99.9 without, by server", 1800, "a fact that the fit used");
  const PublishedRow alone = named("p99.9 hedged, independent, by key", 53,
                                   "independent replicas would do better than 74");
  const PublishedRow alone_by_server =
      named("p99.9 hedged, independent, by server", 41, alone.note);
  const PublishedRow shared =
      named("p99.9 hedged, 0.17 % shared, by key", 74,
            "a share of requests is slow on every replica; 74 needs less than 1 % of them");
  const PublishedRow shared_by_server =
      named("p99.9 hedged, 0.8 % shared, by server", 74, shared.note);

  std::vector<Study> all;
  all.push_back(tail_study(builtin_variant("tail-hedge", "plain"), 20, ""));
  all.back().rows = {{within_percent(before, 15), p999}};
  all.push_back(tail_study(builtin_variant("tail-hedge", "hedged"), 20, ""));
  all.back().rows = {{within_amount(more, 0.1), mean_of(0)}, {within_percent(alone, 10), p999}};
  all.push_back(tail_study(builtin_variant("tail-hedge", "shared-fate"), 20, ""));
  all.back().rows = {{within_percent(shared, 10), p999}};
  all.push_back(tail_study(by_server("plain"), 10, ", 100 calls"));
  all.back().rows = {{within_percent(before_by_server, 15), p999}};
  all.push_back(tail_study(by_server("hedged"), 10, ", 100 calls"));
  all.back().rows = {{within_percent(alone_by_server, 10), p999}};
  all.push_back(tail_study(by_server("shared-fate"), 15, ", 100 calls"));
  all.back().rows = {{within_percent(shared_by_server, 10), p999}};
  return all;
}

}  // namespace

std::vector<Study> tail_studies() {
  std::vector<Study> all = fanout_studies();
  for (Study& study : hedge_studies()) all.push_back(std::move(study));
  return all;
}

}  // namespace damper::lab
