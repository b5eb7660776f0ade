// Failures that outlive their trigger: the HotOS'21 example, its border as theorem 2 of OSDI'22 has
// it, and a service that is slower the more it has to do.
#include <chrono>

#include "damper/base/check.h"
#include "damper/lab/published/published_study.h"
#include "damper/lab/runs/measure.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kHotOs =
    "Bronson and others, \"Metastable Failures in Distributed Systems\", HotOS 2021";
constexpr std::string_view kOsdi =
    "Huang and others, \"Metastable Failures in the Wild\", OSDI 2022, theorem 2";
constexpr std::string_view kBrooker =
    "Brooker, simulator_example/simple_collapse_sim, github.com/mbrooker";

Study database_study(double rate, std::size_t runs) {
  Scenario scenario = builtin_variant("metastable-db", "plain");
  scenario.clients[0].rate = rate;
  Study study =
      study_of(std::move(scenario), runs, [](const Scenario& played, const Record& record) {
        return Sample{.values = {is_collapsed(played, record) ? 1.0 : 0.0, 1,
                                 find_measure("arrivals_at_end")->of(played, record),
                                 find_measure("goodput_at_end")->of(played, record)}};
      });
  study.of += ", " + std::to_string(static_cast<int>(rate)) + "/s";
  return study;
}

std::vector<Study> database_studies() {
  const PublishedRow row{.result = "A retry is enough (HotOS'21)", .source = std::string(kHotOs)};
  const auto collapses = [&row](double rate, double theirs, double low, double high) {
    PublishedRow collapse = row;
    collapse.what = "P(collapsed) at " + std::to_string(static_cast<int>(rate)) + "/s";
    collapse.theirs = theirs;
    Study study = database_study(rate, 60);
    study.rows = {{between_bounds(collapse, low, high), share_of(0, 1)}};
    return study;
  };
  PublishedRow arrivals = row;
  arrivals.what = "attempts at the database, 280/s";
  arrivals.unit = "/s";
  arrivals.theirs = 560;
  PublishedRow goodput = row;
  goodput.what = "goodput at the end, 280/s";
  goodput.unit = "%";
  goodput.theirs = 0;
  Study lost = database_study(280, 20);
  lost.rows = {{within_percent(arrivals, 1), mean_of(2)},
               {within_amount(goodput, 0.5), mean_of(3)}};
  std::vector<Study> all;
  all.push_back(collapses(145, 0, 0, 0.05));
  all.push_back(collapses(150, 1, 0.95, 1));
  all.push_back(std::move(lost));
  return all;
}

// The border between loads that recover and loads that do not, found for each seed by halving.
Study border_study(std::string_view variant, PublishedRow row, double low, double high) {
  Scenario scenario = builtin_variant("metastable-db", variant);
  scenario.length = 1500s;  // near the border the queue drains slowly
  scenario.bucket = 1s;
  DAMPER_CHECK(!find_error(scenario));
  Study study{.rows = {{within_percent(std::move(row), 1), mean_of(0)}},
              .of = scenario.title() + ", load halved 8 times",
              .runs = 8,
              .run = {}};
  study.run = [scenario, low, high](std::uint64_t seed, const std::atomic<bool>* stop) {
    Sample sample;
    Scenario at = scenario;
    double safe = low;
    double lost = high;
    for (int i = 0; i < 8 && sample.whole; ++i) {
      at.clients[0].rate = (safe + lost) / 2;
      const Record record = play(at, {.seed = seed, .latency_over_time = false, .stop = stop});
      (is_collapsed(at, record) ? lost : safe) = at.clients[0].rate;
      sample.whole = !record.cut_short;
    }
    sample.values = {(safe + lost) / 2};
    return sample;
  };
  return study;
}

std::vector<Study> border_studies() {
  const PublishedRow row{
      .result = "Hidden capacity (OSDI'22)", .unit = "/s", .source = std::string(kOsdi)};
  PublishedRow plain = row;
  plain.what = "border, one retry: 300 / 2";
  plain.theirs = 150;
  PublishedRow budget = row;
  budget.what = "border, 10 % budget: 300 / 1.1";
  budget.theirs = 300 / 1.1;
  budget.note = "our budget keeps a little under 10 % of a sliding window, so the border is higher";
  std::vector<Study> all;
  all.push_back(border_study("plain", plain, 120, 180));
  all.push_back(border_study("budget", budget, 240, 300));
  return all;
}

std::vector<Study> spike_studies() {
  const PublishedRow row{.result = "Retry collapse (Brooker)", .source = std::string(kBrooker)};
  const auto look = [](const Scenario& played, const Record& record) {
    return Sample{.values = {is_collapsed(played, record) ? 1.0 : 0.0, 1}};
  };
  PublishedRow plain = row;
  plain.what = "P(collapsed at the end)";
  plain.theirs = 0.740;
  PublishedRow jittered = row;
  jittered.what = "the same, backoff to 20 and 40 s";
  jittered.theirs = 0;
  std::vector<Study> all;
  all.push_back(study_of(builtin_variant("retry-collapse", "plain"), 4500, look));
  all.back().rows = {{between_bounds(plain, 0.72, 0.76), share_of(0, 1)}};
  all.push_back(study_of(builtin_variant("retry-collapse", "jittered"), 1000, look));
  all.back().rows = {{between_bounds(jittered, 0, 0.005), share_of(0, 1)}};
  return all;
}

}  // namespace

std::vector<Study> collapse_studies() {
  std::vector<Study> all;
  for (auto* const part : {database_studies, border_studies, spike_studies}) {
    for (Study& study : part()) all.push_back(std::move(study));
  }
  return all;
}

}  // namespace damper::lab
