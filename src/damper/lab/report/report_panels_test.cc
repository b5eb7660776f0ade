#include "damper/lab/report/report_panels.h"

#include <gtest/gtest.h>

#include "damper/lab/record/record_testing.h"

namespace damper::lab {
namespace {

const Panel* find_panel(const std::vector<Panel>& all, const std::string& title) {
  for (const Panel& panel : all) {
    if (panel.title == title) return &panel;
  }
  return nullptr;
}

TEST(ReportPanels, ThereIsOneForEachThingThatPeopleLookAt) {
  const auto all = panels(small_report());
  std::vector<std::string> titles;
  for (const Panel& panel : all) titles.push_back(panel.title);
  EXPECT_EQ(titles,
            (std::vector<std::string>{"Arrivals at api", "Goodput against throughput of api",
                                      "Latency", "Queue of api", "Retry budget"}));
  for (const Panel& panel : all) EXPECT_EQ(panel.figures.size(), 2U) << panel.title;
}

TEST(ReportPanels, ControllersHaveTheirKeysAndTheirBudget) {
  const auto all = panels(controlled_report());
  std::vector<std::string> titles;
  for (const Panel& panel : all) titles.push_back(panel.title);
  EXPECT_EQ(titles,
            (std::vector<std::string>{"Arrivals at api", "Goodput against throughput of api",
                                      "Queue of api", "Keys of controllers", "Retry budget"}));
  const Panel& keys = *find_panel(all, "Keys of controllers");
  EXPECT_EQ(keys.figures[0].chart.title,
            "Keys of controllers, naive: failed, and wait for a retry up to 12, others that wait, "
            "the broken ones included up to 3, parked up to 1 over 10 s");
  EXPECT_EQ(keys.figures[0].chart.top, 15);  // They are stacked.
  ASSERT_EQ(keys.keys.size(), 3U);
  EXPECT_EQ(keys.keys[2].name, "parked");
  EXPECT_EQ(find_panel(all, "Retry budget")->figures[1].chart.series[0].values[0], 3);
}

TEST(ReportPanels, ArrivalsAreASecondAndStacked) {
  const auto all = panels(small_report());
  const Panel& panel = *find_panel(all, "Arrivals at api");
  const text::Chart& naive = panel.figures[0].chart;
  ASSERT_EQ(naive.series.size(), 2U);        // No hedges.
  EXPECT_EQ(naive.series[0].values[0], 20);  // 10 in half a second
  EXPECT_EQ(naive.series[1].values[5], 40);
  EXPECT_EQ(naive.series[1].shape, text::Shape::area);
  EXPECT_EQ(naive.top, 60);
  EXPECT_EQ(naive.seconds, 10);
  EXPECT_EQ(naive.shaded[0].from, 2);
  EXPECT_EQ(naive.shaded[0].to, 5);
  EXPECT_EQ(naive.title,
            "Arrivals at api, naive: first tries up to 20/s, retries up to 40/s over 10 s");
  EXPECT_EQ(panel.figures[1].chart.top, 60);  // The same, to compare.
  EXPECT_EQ(panel.figures[1].chart.series.size(), 1U);
  ASSERT_EQ(panel.keys.size(), 2U);
  EXPECT_EQ(panel.keys[1].name, "retries");
}

TEST(ReportPanels, KeysStandInAFixedOrder) {
  Report report = small_report();
  std::swap(report.sets[0], report.sets[1]);  // Now the first set wastes nothing.
  const auto all = panels(report);
  const Panel& panel = *find_panel(all, "Goodput against throughput of api");
  ASSERT_EQ(panel.keys.size(), 3U);
  EXPECT_EQ(panel.keys[0].ink, "good");
  EXPECT_EQ(panel.keys[1].ink, "unwanted");
  EXPECT_EQ(panel.keys[2].ink, "offered");
  EXPECT_EQ(panel.figures[1].chart.series[1].values[10], 40);  // 20 of 30 in half a second
}

TEST(ReportPanels, LatencyIsLogarithmicBetweenPowersOfTen) {
  const auto all = panels(small_report());
  const Panel& panel = *find_panel(all, "Latency");
  const text::Chart& chart = panel.figures[0].chart;
  EXPECT_NEAR(chart.bottom, 10, 1e-9);
  EXPECT_NEAR(chart.top, 1000, 1e-6);
  EXPECT_EQ(chart.unit, " ms");
  EXPECT_EQ(chart.series.back().name, "p50");  // The highest is drawn first.
  EXPECT_EQ(panel.keys.front().name, "p50");
}

TEST(ReportPanels, ABudgetThatIsNeverShortDoesNotFlattenTheOthers) {
  Report report = small_report();
  for (ClientsTick& tick : report.sets[1].records[0].clients[0].ticks) tick.budget = 100'000;
  const auto all = panels(report);
  const Panel& panel = *find_panel(all, "Retry budget");
  EXPECT_EQ(panel.figures[0].chart.top, 15);  // 4 times 3, rounded up
  EXPECT_EQ(panel.figures[1].chart.top, 15);
}

TEST(ReportPanels, APanelOfNothingIsLeftOut) {
  Report report = small_report();
  for (RunSet& set : report.sets) {
    for (ClientsTick& tick : set.records[0].clients[0].ticks) tick.budget = 0;
    for (ServiceTick& tick : set.records[0].services[0].ticks) tick.queued = tick.working = 0;
  }
  const auto all = panels(report);
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(panels({}).size(), 0U);
}

TEST(ReportPanels, LongRunsAreReduced) {
  Report report = small_report();
  report.sets.resize(1);
  Record& record = report.sets[0].records[0];
  record.services[0].ticks.resize(600);
  record.services[0].ticks[599].retries = 50;
  auto all = panels(report);
  EXPECT_EQ(find_panel(all, "Arrivals at api")->figures[0].chart.series[1].values.back(), 100);
  EXPECT_EQ(find_panel(all, "Arrivals at api")->figures[0].chart.series[1].values.size(), 300U);
  EXPECT_EQ(find_panel(all, "Peaks at api"), nullptr);
  EXPECT_EQ(find_panel(all, "Goodput against throughput of api")
                ->figures[0]
                .chart.series[0]
                .values.size(),
            60U);
  record.services[0].ticks.resize(660);  // Groups of eleven: a mean, not a peak.
  all = panels(report);
  const auto& values = find_panel(all, "Arrivals at api")->figures[0].chart.series[1].values;
  EXPECT_EQ(values.size(), 60U);
  EXPECT_NEAR(values[54], 100.0 / 11, 1e-9);
  const Panel& peaks = *find_panel(all, "Peaks at api");
  EXPECT_EQ(peaks.figures[0].chart.series[1].values.size(), 220U);
  EXPECT_EQ(peaks.figures[0].chart.series[1].values[199], 50);  // in a bucket
  EXPECT_EQ(peaks.note, "The same: the most that arrived in 500ms.");
}

TEST(ReportPanels, ServicesAreBounded) {
  Report report = small_report();
  auto& services = report.sets[0].records[0].services;
  services.resize(1);
  while (services.size() < 20) {
    services.push_back(services[0]);
    services.back().name = "s" + std::to_string(services.size());
  }
  const auto all = panels(report);
  EXPECT_EQ(all.size(), 3 * kMostChartedServices + 2);
  EXPECT_EQ(find_panel(all, "Arrivals at s2")->figures.size(), 1U);  // Only one set has it.
}

}  // namespace
}  // namespace damper::lab
