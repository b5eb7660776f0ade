// Exponential backoff and jitter: 100 clients write one row once each, with optimistic concurrency.
#include <chrono>

#include "damper/lab/published/published_study.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kRuns = 400;  // as theirs

// The numbers of the article's own simulator: means of 400 runs.
struct Point {
  std::string_view strategy;
  std::int32_t clients;
  double calls;
  double time_ms;
};
constexpr Point kPoints[] = {
    {"none", 50, 689.06, 1140.91},         {"none", 100, 2424.31, 2027.57},
    {"exponential", 50, 622.43, 36349.78}, {"exponential", 100, 1854.35, 63508.98},
    {"equal", 50, 347.34, 4265.8},         {"equal", 100, 812.69, 6598.99},
    {"full", 50, 332.42, 2870.22},         {"full", 100, 795.56, 4894.24},
    {"decorrelated", 50, 375.29, 2162.94}, {"decorrelated", 100, 1003.35, 4582.8},
};

// The article's decorrelated jitter is min(cap, U(base, 3 * previous)): many of its delays are the
// cap itself. Ours bounds the interval before the draw, so that none is (trap J2), and clients
// at the cap wait for less. This cap is fitted: with it the last client is done when the article's
// is.
constexpr Duration kLongerCap = 2500ms;
bool reaches_cap(const Point& point) {
  return point.strategy == "decorrelated" && point.clients == 100;
}

PublishedRow row_of(const Point& point, std::string_view what, std::string_view unit,
                    double theirs) {
  return {
      .result = "Backoff and jitter (AWS)",
      .what = std::string(what) + ", " + std::string(point.strategy) +
              ", N = " + std::to_string(point.clients),
      .unit = std::string(unit),
      .theirs = theirs,
      .source = "Brooker, \"Exponential Backoff And Jitter\", AWS Architecture Blog, 2015",
  };
}

Study study_of_point(const Point& point, Scenario scenario) {
  scenario.clients[0].count = point.clients;
  Study study = study_of(std::move(scenario), kRuns, [](const Scenario&, const Record& record) {
    return Sample{.values = {static_cast<double>(record.services[0].attempts),
                             static_cast<double>(record.last_end.count()) / 1e6}};
  });
  if (point.clients != 100) study.of += ", " + std::to_string(point.clients) + " clients";
  return study;
}

}  // namespace

std::vector<Study> backoff_studies() {
  std::vector<Study> all;
  for (const Point& point : kPoints) {
    const PublishedRow calls = within_percent(row_of(point, "calls", "", point.calls), 1);
    PublishedRow time = within_percent(row_of(point, "time", "ms", point.time_ms), 4);
    Scenario scenario = builtin_variant("aws-occ", point.strategy);
    Scenario raised = scenario;
    all.push_back(study_of_point(point, std::move(scenario)));
    all.back().rows = {{calls, mean_of(0)}, {time, mean_of(1)}};
    if (!reaches_cap(point)) continue;

    StudyRow& contrast = all.back().rows.back();
    contrast.row.what += ", cap 2 s";
    contrast.row.judged = false;
    time.note =
        "a delay of ours is never the cap itself, as many of theirs are; the cap of 2.5 s instead "
        "of 2 s is fitted, so that the last client is done when theirs is";
    policy_of(raised, "row").call.backoff.cap = kLongerCap;
    all.push_back(study_of_point(point, std::move(raised)));
    all.back().of += ", max_interval 2.5s";
    all.back().rows = {{time, mean_of(1)}};
  }
  return all;
}

}  // namespace damper::lab
