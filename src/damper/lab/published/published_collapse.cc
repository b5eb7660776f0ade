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

std::vector<Study> database_studies() {
  const PublishedRow row{.result = "A retry is enough (HotOS'21)", .source = std::string(kHotOs)};
  const auto study = [](int rate, std::size_t runs, std::vector<StudyRow> rows) {
    Scenario scenario = builtin_variant("metastable-db", "plain");
    scenario.clients[0].rate = rate;
    return study_of(
        std::move(scenario), runs,
        [](const Scenario& played, const Record& record) {
          return Sample{.values = {is_collapsed(played, record) ? 1.0 : 0.0, 1,
                                   find_measure("arrivals_at_end")->of(played, record),
                                   find_measure("goodput_at_end")->of(played, record)}};
        },
        std::move(rows), ", " + std::to_string(rate) + "/s");
  };
  PublishedRow arrivals = row.named("attempts at the database, 280/s", 560);
  arrivals.unit = "/s";
  PublishedRow goodput = row.named("goodput at the end, 280/s", 0);
  goodput.unit = "%";
  return {
      study(145, 60,
            {{between_bounds(row.named("P(collapsed) at 145/s", 0), 0, 0.05), share_of(0, 1)}}),
      study(150, 60,
            {{between_bounds(row.named("P(collapsed) at 150/s", 1), 0.95, 1), share_of(0, 1)}}),
      study(280, 20,
            {{within_percent(arrivals, 1), mean_of(2)}, {within_amount(goodput, 0.5), mean_of(3)}}),
  };
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
  study.run = [scenario, low, high](PlayOptions options) {
    options.latency_over_time = false;
    Sample sample;
    Scenario at = scenario;
    double safe = low;
    double lost = high;
    for (int i = 0; i < 8 && sample.whole; ++i) {
      at.clients[0].rate = (safe + lost) / 2;
      const Record record = play(at, options);
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
  return {border_study("plain", row.named("border, one retry: 300 / 2", 150), 120, 180),
          border_study("budget",
                       row.named("border, 10 % budget: 300 / 1.1", 300 / 1.1,
                                 "our budget keeps a little under 10 % of a sliding window, so the "
                                 "border is higher"),
                       240, 300)};
}

std::vector<Study> spike_studies() {
  const PublishedRow row{.result = "Retry collapse (Brooker)", .source = std::string(kBrooker)};
  const auto sample = [](const Scenario& played, const Record& record) {
    return Sample{.values = {is_collapsed(played, record) ? 1.0 : 0.0, 1}};
  };
  return {study_of(builtin_variant("retry-collapse", "plain"), 4500, sample,
                   {{between_bounds(row.named("P(collapsed at the end)", 0.740), 0.72, 0.76),
                     share_of(0, 1)}}),
          study_of(builtin_variant("retry-collapse", "jittered"), 1000, sample,
                   {{between_bounds(row.named("the same, backoff to 20 and 40 s", 0), 0, 0.005),
                     share_of(0, 1)}})};
}

}  // namespace

std::vector<Study> collapse_studies() {
  return joined({database_studies(), border_studies(), spike_studies()});
}

}  // namespace damper::lab
