#include "damper/lab/runs/measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "damper/lab/record/record_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

double measured(std::string_view name, const Scenario& scenario, const Record& record) {
  const Measure* const measure = find_measure(name);
  if (measure == nullptr) {
    ADD_FAILURE() << "no measure " << name;
    return -1;
  }
  return measure->of(scenario, record);
}

const Scenario kStorm = small_scenario("naive");

TEST(Measure, EachIsFoundByItsName) {
  std::set<std::string_view> names;
  for (const Measure& measure : measures()) {
    EXPECT_TRUE(names.insert(measure.name).second) << measure.name;
    EXPECT_EQ(find_measure(measure.name), &measure);
    EXPECT_NE(measure.of, nullptr);
    EXPECT_FALSE(measure.what.empty());
  }
  EXPECT_EQ(names.size(), 33U);
  EXPECT_EQ(find_measure("p9"), nullptr);
  EXPECT_EQ(find_measure(""), nullptr);
}

TEST(Measure, WhatTheClientsCost) {
  const Record record = small_record(1, 2);  // 200 requests, 120 retries for those of 6 buckets
  EXPECT_EQ(measured("requests", kStorm, record), 200);
  EXPECT_EQ(measured("attempts", kStorm, record), 320);
  EXPECT_EQ(measured("attempts_per_request", kStorm, record), 1.6);
  EXPECT_EQ(measured("attempts_per_request_in_fault", kStorm, record), 3);
  EXPECT_EQ(measured("success", kStorm, record), 70);
  EXPECT_EQ(measured("failed", kStorm, record), 30);
  EXPECT_EQ(measured("last_end", kStorm, record), 9.99);
}

TEST(Measure, WhatControllersDo) {
  const Report report = controlled_report();
  const Scenario& scenario = report.sets[0].scenario;
  Record record = report.sets[0].records[0];  // 200 events, 120 retries
  EXPECT_EQ(measured("runs_per_event", scenario, record), 1.6);
  EXPECT_EQ(measured("runs_per_event_in_fault", scenario, record), 160 / 60.0);
  EXPECT_EQ(measured("retried_runs", scenario, record), 37.5);
  EXPECT_EQ(measured("load_in_fault", scenario, record), 160 / 3.0);
  EXPECT_EQ(measured("peak_in_fault", scenario, record), 60);  // 30 in half a second
  EXPECT_NEAR(measured("queued_p99", scenario, record), 8, 0.2);
  EXPECT_NEAR(measured("settled_p99", scenario, record), 3000, 60);
  EXPECT_EQ(measured("failing_at_end", scenario, record), 0);
  EXPECT_EQ(measured("backlog_at_end", scenario, record), 3);
  EXPECT_EQ(measured("parked_at_end", scenario, record), 1);
  record.controllers[0].ticks.back().failing = 2;
  EXPECT_EQ(measured("failing_at_end", scenario, record), 2);
}

TEST(Measure, ControllersAreBackWhenTheirHealthyKeysAre) {
  Report report = controlled_report();
  const Scenario& scenario = report.sets[0].scenario;
  Record& record = report.sets[0].records[0];
  EXPECT_EQ(measured("back_after", scenario, record), 1);
  record.controllers[0].ticks.back().failing = 1;  // Over 1 % of 20.
  EXPECT_EQ(measured("back_after", scenario, record), 5);
  report.sets[0].scenario.controllers[0].count = 5;  // Of 100, one is no more than that.
  EXPECT_EQ(measured("back_after", scenario, record), 0);
  report.sets[0].scenario.faults.clear();
  EXPECT_EQ(measured("back_after", scenario, record), 0);
}

// Of the service that the controllers call, as of the one that clients do.
TEST(Measure, WithoutClientsTheServiceIsTheControllers) {
  const Report report = controlled_report();
  const Scenario& scenario = report.sets[0].scenario;
  const Record& record = report.sets[0].records[0];
  EXPECT_EQ(called_service(scenario, record), 0U);
  EXPECT_EQ(bottom_service(scenario, record), 0U);
  EXPECT_EQ(measured("tallest_attempts", scenario, record), 6);
  for (const char* name : {"success", "goodput_at_end", "collapsed", "p99", "requests"}) {
    EXPECT_TRUE(std::isnan(measured(name, scenario, record))) << name;
  }
}

TEST(Measure, WithoutControllersTheyHaveDoneNothing) {
  const Record record = small_record(1, 2);
  for (const char* name : {"runs_per_event", "runs_per_event_in_fault", "retried_runs",
                           "load_in_fault", "peak_in_fault", "queued_p99", "settled_p99",
                           "failing_at_end", "backlog_at_end", "parked_at_end"}) {
    EXPECT_TRUE(std::isnan(measured(name, kStorm, record))) << name;
  }
}

TEST(Measure, SuccessIsOfRequestsThatAreOver) {
  Record record = small_record(1, 2);
  record.clients[0].succeeded = 60;
  record.clients[0].failed = 20;
  record.clients[0].unfinished = 120;
  EXPECT_EQ(measured("success", kStorm, record), 75);
  EXPECT_EQ(measured("failed", kStorm, record), 10);
}

TEST(Measure, WhatTheServiceSaw) {
  Record record = small_record(1, 2);
  record.services[0].refused = 32;
  record.services[0].hedges = 20;
  EXPECT_EQ(measured("wasted", kStorm, record), 12.5);  // 20 of 160 served
  EXPECT_EQ(measured("refused", kStorm, record), 10);
  EXPECT_EQ(measured("hedges", kStorm, record), 10);
  EXPECT_EQ(measured("deepest_queue", kStorm, record), 10);
  EXPECT_EQ(measured("arrivals_at_end", kStorm, record), 20);
}

TEST(Measure, TheTallestIsOfAHundredMilliseconds) {
  Record record = small_record(1, 2);
  EXPECT_EQ(measured("tallest_retries", kStorm, record), 4);   // 20 in 500 ms
  EXPECT_EQ(measured("tallest_attempts", kStorm, record), 6);  // 30
  record.bucket = 160ms;
  EXPECT_EQ(measured("tallest_retries", kStorm, record), 12.5);
  record.bucket = 100ms;
  EXPECT_EQ(measured("tallest_retries", kStorm, record), 20);
  record.services[0].ticks[7].hedges = 5;
  EXPECT_EQ(measured("tallest_attempts", kStorm, record), 35);
  record.bucket = 50ms;  // Two buckets together, from the start on.
  EXPECT_EQ(measured("tallest_retries", kStorm, record), 40);
  record.services[0].ticks.resize(6);  // The last retries are those of bucket 5, with bucket 4.
  EXPECT_EQ(measured("tallest_retries", kStorm, record), 20);
}

TEST(Measure, LatenciesAreInMilliseconds) {
  const Record record = small_record(1, 2);  // 130 of 20 ms, 10 of 800 ms
  EXPECT_NEAR(measured("p50", kStorm, record), 20, 0.4);
  EXPECT_NEAR(measured("p99", kStorm, record), 800, 13);
  EXPECT_NEAR(measured("p999", kStorm, record), 800, 13);
  EXPECT_NEAR(measured("over_half_second", kStorm, record), 100.0 / 14, 0.01);
  EXPECT_EQ(measured("over_second", kStorm, record), 0);
}

TEST(Measure, WhenAllTookLongItSaysAll) {
  Record record = small_record(1, 2);
  record.clients[0].latency = {};
  record.clients[0].latency.add(2s);
  EXPECT_EQ(measured("over_second", kStorm, record), 100);
}

TEST(Measure, TheBottomIsTheEndOfTheChain) {
  Scenario scenario = small_scenario("");
  Record record = small_record(1, 2);
  EXPECT_EQ(measured("attempts_at_bottom", scenario, record), 1.6);
  ServiceSpec disk;
  disk.name = "disk";
  ServiceSpec database;
  database.name = "database";
  database.calls = {{.service = "disk"}};
  scenario.services[0].calls = {{.service = "cache"}, {.service = "database"}};
  scenario.services.insert(scenario.services.begin(), {disk, database});
  record.services.emplace_back().name = "disk";
  record.services[1].attempts = 900;
  EXPECT_EQ(bottom_service(scenario, record), 1U);
  EXPECT_EQ(called_service(scenario, record), 0U);
  EXPECT_EQ(measured("attempts_at_bottom", scenario, record), 4.5);
  record.clients.emplace_back().requests = 100;  // They may reach it, too.
  EXPECT_EQ(measured("attempts_at_bottom", scenario, record), 3);
}

TEST(Measure, ACircleOfServicesHasAnEndAllTheSame) {
  Scenario scenario = small_scenario("");
  scenario.services[0].calls = {{.service = "api"}};
  EXPECT_EQ(bottom_service(scenario, small_record(1, 0)), 0U);
}

TEST(Measure, GoodputAtTheEndIsOfTheLastTenth) {
  Record record = small_record(1, 2);
  EXPECT_EQ(measured("goodput_at_end", kStorm, record), 100);
  record.clients[0].ticks[17].succeeded = 0;  // One bucket too early.
  EXPECT_EQ(measured("goodput_at_end", kStorm, record), 100);
  record.clients[0].ticks[18].succeeded = 1;
  EXPECT_EQ(measured("goodput_at_end", kStorm, record), 55);
  EXPECT_FALSE(is_collapsed(kStorm, record));
  record.clients[0].ticks[19].succeeded = 9;
  EXPECT_FALSE(is_collapsed(kStorm, record));  // 50 %
  record.clients[0].ticks[18].succeeded = 0;
  EXPECT_TRUE(is_collapsed(kStorm, record));
  EXPECT_EQ(measured("collapsed", kStorm, record), 1);
}

TEST(Measure, ABacklogIsNoMoreThanAllOfIt) {
  Record record = small_record(1, 2);
  record.clients[0].ticks[19].succeeded = 100;
  EXPECT_EQ(measured("goodput_at_end", kStorm, record), 100);
}

TEST(Measure, AClosedLoopThatWaitsIsDown) {
  Record record = small_record(1, 2);
  for (std::size_t i = 18; i < 20; ++i) record.clients[0].ticks[i] = {.in_flight = 10};
  Scenario closed = kStorm;
  closed.clients[0].loop = Loop::closed;
  EXPECT_EQ(measured("goodput_at_end", closed, record), 0);
  EXPECT_TRUE(is_collapsed(closed, record));
  // An open loop that is over offers nothing, and is not down.
  EXPECT_TRUE(std::isnan(measured("goodput_at_end", kStorm, record)));
  EXPECT_FALSE(is_collapsed(kStorm, record));
  for (std::size_t i = 18; i < 20; ++i) record.clients[0].ticks[i] = {};  // Nobody wants anything.
  EXPECT_TRUE(std::isnan(measured("goodput_at_end", kStorm, record)));
  EXPECT_FALSE(is_collapsed(kStorm, record));
}

TEST(Measure, WhoIsStillInAFaultHasNotCollapsed) {
  Record record = small_record(1, 2);
  for (ClientsTick& tick : record.clients[0].ticks) tick.succeeded = 0;
  Scenario scenario = small_scenario("");
  scenario.faults[0].length = 7s;  // until 9 s
  EXPECT_TRUE(is_collapsed(scenario, record));
  scenario.faults[0].length = 7001ms;
  EXPECT_FALSE(is_collapsed(scenario, record));
  EXPECT_TRUE(std::isnan(measured("collapsed", scenario, record)));  // It cannot be said.
}

TEST(Measure, BackIsTheSecondFromWhichOnAllIsWell) {
  Record record = small_record(1, 2);
  auto& ticks = record.clients[0].ticks;
  EXPECT_EQ(measured("back_after", kStorm, record), 0);
  ticks[11].succeeded = 9;  // In the first second: 19 of 20.
  EXPECT_EQ(measured("back_after", kStorm, record), 1);
  ticks[15].succeeded = 9;  // It is well in between, and then no more.
  EXPECT_EQ(measured("back_after", kStorm, record), 3);
  ticks[19].succeeded = 9;
  EXPECT_EQ(measured("back_after", kStorm, record), 5);  // Never: the rest of the run.
}

TEST(Measure, BackCountsFromTheEndOfTheLastFault) {
  Record record = small_record(1, 2);
  Scenario scenario = small_scenario("");
  scenario.faults.push_back(scenario.faults[0]);
  scenario.faults[1].at = 6s;
  scenario.faults[1].length = 1s;
  record.clients[0].ticks[14].succeeded = 0;  // 7 s to 7.5 s
  EXPECT_EQ(measured("back_after", scenario, record), 1);
  scenario.faults[1].length = 4s;  // Until the end of the run.
  EXPECT_TRUE(std::isnan(measured("back_after", scenario, record)));
  scenario.faults[1].length = 5s;
  EXPECT_TRUE(std::isnan(measured("back_after", scenario, record)));
  scenario.faults.clear();
  EXPECT_EQ(measured("back_after", scenario, record), 0);
}

TEST(Measure, WhatIsUnderWayAsUsualIsNotMissed) {
  Record record = small_record(1, 2);
  auto& ticks = record.clients[0].ticks;
  ticks[3].in_flight = 2;  // Before the fault, so that 4 are not unusual.
  ticks[12].succeeded = 6;
  ticks[13].in_flight = 4;
  EXPECT_EQ(measured("back_after", kStorm, record), 0);
  ticks[13].in_flight = 5;  // 5 are.
  EXPECT_EQ(measured("back_after", kStorm, record), 2);
  ticks[13].in_flight = 4;
  ticks[11].in_flight = 4;  // They were there before: 4 are missing.
  EXPECT_EQ(measured("back_after", kStorm, record), 2);
  ticks[11].in_flight = 0;
  ticks[3].in_flight = 0;
  ticks[4].in_flight = 100;  // That is the fault already.
  EXPECT_EQ(measured("back_after", kStorm, record), 2);
}

TEST(Measure, AnEmptyRecordHasNoNumbers) {
  Record record = small_record(1, 2);
  record.clients.clear();
  record.services.clear();
  for (const Measure& measure : measures()) {
    const double number = measure.of(kStorm, record);
    if (measure.name != "collapsed" && measure.name != "last_end") {
      EXPECT_TRUE(std::isnan(number)) << measure.name;
    }
  }
  for (const Measure& measure : measures()) static_cast<void>(measure.of({}, {}));  // No crash.
}

TEST(Measure, CountsOfNothingHaveNoRatio) {
  Record record = small_record(1, 2);
  record.clients[0] = ClientsRecord();
  record.services[0] = ServiceRecord();
  record.services[0].name = "api";
  for (const std::string_view name :
       {"attempts_per_request", "attempts_per_request_in_fault", "attempts_at_bottom", "success",
        "failed", "wasted", "refused", "hedges", "p50", "p999", "over_second", "goodput_at_end",
        "arrivals_at_end"}) {
    EXPECT_TRUE(std::isnan(measured(name, kStorm, record))) << name;
  }
}

}  // namespace
}  // namespace damper::lab
