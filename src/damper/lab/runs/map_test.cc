#include "damper/lab/runs/map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "damper/lab/runs/map_testing.h"
#include "damper/lab/scenario/builtin.h"

namespace damper::lab {
namespace {

TEST(MapResult, RegionsAreThoseOfTheLiterature) {
  const MapResult map = small_map();
  EXPECT_EQ(region_of(map, 0, 0), Region::calm);        // 0 of 10, here and above
  EXPECT_EQ(region_of(map, 0, 1), Region::vulnerable);  // 0 of 10, but a larger trigger tips it
  EXPECT_EQ(region_of(map, 1, 1), Region::vulnerable);  // 4 of 10
  EXPECT_EQ(region_of(map, 0, 2), Region::vulnerable);  // 1 of 10
  EXPECT_EQ(region_of(map, 1, 2), Region::metastable);  // 10 of 10
}

// With 10 runs nothing is sure: 9 of 10 was, and is 0.60 to 0.98.
TEST(MapResult, CollapseIsSureWhenTheIntervalIsOverNinetyFivePercent) {
  MapResult map = small_map();
  const auto with = [&map](std::int64_t k, std::int64_t n) {
    map.cells[5].collapsed = {.k = k, .n = n};
    return region_of(map, 1, 2);
  };
  EXPECT_EQ(with(3, 4), Region::vulnerable);    // 0.30 to 0.95
  EXPECT_EQ(with(4, 4), Region::metastable);    // 0.51 to 1
  EXPECT_EQ(with(3, 3), Region::vulnerable);    // 0.44 to 1
  EXPECT_EQ(with(9, 10), Region::metastable);   // 0.60 to 0.98
  EXPECT_EQ(with(72, 72), Region::metastable);  // 0.9494 to 1
  EXPECT_EQ(with(73, 73), Region::sure);        // 0.95001 to 1
}

TEST(MapResult, ALoadIsSafeWhenTheIntervalIsUnderFivePercent) {
  MapResult map = small_map();
  map.cells[0].collapsed = {.k = 0, .n = 72};
  EXPECT_EQ(region_of(map, 0, 0), Region::calm);
  map.cells[0].collapsed = {.k = 0, .n = 73};
  EXPECT_EQ(region_of(map, 0, 0), Region::safe);
  map.cells[0].collapsed = {.k = 1, .n = 1000};
  EXPECT_EQ(region_of(map, 0, 0), Region::vulnerable);
}

TEST(MapResult, WhatWasNotRunIsUnknown) {
  MapResult map = small_map();
  map.cells.resize(5);
  EXPECT_EQ(region_of(map, 1, 2), Region::unknown);
  EXPECT_EQ(map.cell(1, 2).load, 200);
  EXPECT_EQ(map.cell(1, 2).trigger, 10);
  EXPECT_EQ(map.cell(1, 2).collapsed.n, 0);
  EXPECT_EQ(describe_cell(map, 1, 2), "200/s, 10 s: not run");
}

TEST(MapResult, BordersAreReadFromTheCells) {
  MapResult map = small_map();
  auto borders = find_borders(map);
  ASSERT_EQ(borders.size(), 2U);
  EXPECT_EQ(borders[0].trigger, 5);
  EXPECT_EQ(borders[0].calm, 150);
  EXPECT_EQ(borders[0].metastable, std::nullopt);
  EXPECT_EQ(borders[1].calm, 100);
  EXPECT_EQ(borders[1].metastable, 200);
  map.cells[0].collapsed.k = 1;  // What lies above a collapse is not calm.
  EXPECT_EQ(find_borders(map)[0].calm, std::nullopt);
  map.cells[0].collapsed = {};  // Nor is what lies above the unknown.
  EXPECT_EQ(find_borders(map)[0].calm, std::nullopt);
}

TEST(MapResult, ALoadHasItsPlaceBetweenTheColumns) {
  const std::vector<double> loads = {100, 150, 250};
  EXPECT_EQ(column_of(loads, 100), 0.5);
  EXPECT_EQ(column_of(loads, 125), 1.0);
  EXPECT_EQ(column_of(loads, 150), 1.5);
  EXPECT_EQ(column_of(loads, 200), 2.0);
  EXPECT_EQ(column_of(loads, 300), 3.0);
  EXPECT_EQ(column_of(loads, 301), std::nullopt);
  EXPECT_EQ(column_of(loads, 75), 0.0);
  EXPECT_EQ(column_of(loads, 74), std::nullopt);
  EXPECT_EQ(column_of({100}, 100), std::nullopt);
  EXPECT_EQ(column_of({100, 100}, 100), std::nullopt);  // No axis.
}

TEST(MapResult, ACellSaysHowSureItIs) {
  EXPECT_EQ(describe_cell(small_map(), 1, 1),
            "150/s, 10 s: 4 of 10 collapsed, 0.400 (0.17 to 0.69), vulnerable");
}

TEST(MapResult, RegionsHaveNames) {
  EXPECT_EQ(name(Region::unknown), "unknown");
  EXPECT_EQ(name(Region::metastable), "metastable");
}

using namespace std::chrono_literals;

// A database of 100 a second whose clients try once more after 100 ms: safe under 50 a second.
Scenario fragile() {
  Scenario scenario;
  scenario.name = "fragile";
  scenario.file = "fragile.yaml";
  scenario.length = 60s;
  scenario.services.push_back({.name = "db",
                               .workers = 1,
                               .service_time = Distribution::constant(10ms),
                               .queue_bound = 1'000'000});
  scenario.clients.push_back({.name = "app", .calls = "db", .rate = 40});
  scenario.faults.push_back({.kind = FaultKind::held, .on = "db", .at = 5s, .length = 2s});
  policy::Route route;
  engine::CallPolicy& call = route.settings.policy.call;
  call.max_attempts = 2;
  call.per_try_timeout = 100ms;
  call.backoff = {.jitter = schedule::Jitter::none, .base = 1ns, .cap = 1ns};
  route.settings.policy.budget.min_per_second = 10'000;
  scenario.policy.routes.push_back(route);
  scenario.map = {.loads = {20, 40, 60}, .triggers = {0, 2}};
  return scenario;
}

TEST(Map, APointHasAnotherLoadAndAnotherTrigger) {
  const Scenario at = at_point(fragile(), 12.5, 3);
  EXPECT_EQ(at.clients[0].rate, 12.5);
  EXPECT_EQ(at.faults[0].length, 3s);
  EXPECT_EQ(at.length, 61s);  // As much time after the fault as before.
  EXPECT_TRUE(at_point(fragile(), 10, 0).faults.empty());
  Scenario patient = fragile();
  patient.map.length = 100s;
  EXPECT_EQ(at_point(patient, 12.5, 3).length, 101s);
}

TEST(Map, ClientsInStepHaveTheirIntervalChanged) {
  Scenario scenario = fragile();
  scenario.clients[0].arrivals = Pattern::constant;
  scenario.clients[0].count = 500;
  EXPECT_EQ(at_point(scenario, 1000, 2).clients[0].every, 500ms);
  scenario.clients[0].arrivals = Pattern::bursts;
  scenario.clients[0].burst = 10;
  EXPECT_EQ(at_point(scenario, 1000, 2).clients[0].every, 10ms);
}

TEST(Map, ErrorsASpikeASlowdownAndACutAreSizedByTheirAmount) {
  for (const FaultKind kind :
       {FaultKind::errors, FaultKind::slow, FaultKind::spike, FaultKind::capacity}) {
    Scenario scenario = fragile();
    scenario.faults[0].kind = kind;
    const Scenario at = at_point(scenario, 10, 0.5);
    EXPECT_EQ(at.faults[0].amount, 0.5);
    EXPECT_EQ(at.faults[0].length, 2s);
    EXPECT_EQ(at.length, 60s);
  }
}

TEST(Map, FindsWhereItStaysDownAndTheBorder) {
  const MapResult map = draw_map(fragile(), {.runs = 4});
  ASSERT_EQ(map.cells.size(), 6U);
  EXPECT_EQ(map.cells[2].load, 60);  // Without a trigger nothing tips over.
  EXPECT_EQ(map.cells[2].trigger, 0);
  EXPECT_EQ(map.cells[2].collapsed.k, 0);
  EXPECT_EQ(map.cells[4].load, 40);
  EXPECT_EQ(map.cells[4].collapsed.k, 0);
  EXPECT_EQ(map.cells[5].collapsed.k, 4);
  EXPECT_EQ(map.cells[5].collapsed.n, 4);
  ASSERT_FALSE(map.borders.empty());
  EXPECT_EQ(map.borders.back().trigger, 2);
  ASSERT_TRUE(map.sure && map.sure->safe && map.sure->sure);
  EXPECT_EQ(map.sure->trigger, 2);
  EXPECT_GT(map.sure->safe->load, 41);  // 100 / 2 attempts, less what 53 s cannot drain
  EXPECT_LT(map.sure->safe->load, map.sure->sure->load);
  EXPECT_LE(map.sure->sure->load, 60);
  EXPECT_LT(map.sure->safe->collapsed.interval(kLooksZ).high, kSafe);
  EXPECT_GT(map.sure->sure->collapsed.interval(kLooksZ).low, kSure);
}

// 27.6/s was called safe, and 443 of 1,000 runs collapse there; at 26/s it is 63.
TEST(Map, TheSafeLoadOfTheRetryCollapseIsUnderTheOneAtWhichSixPercentCollapse) {
  Scenario scenario = load_builtin("retry-collapse")->front();
  scenario.map.triggers = {3};
  const MapResult map = draw_map(scenario, {.runs = 4, .border_runs = 600});
  ASSERT_TRUE(map.sure);
  if (map.sure->safe) {
    EXPECT_LT(map.sure->safe->load, 26);
  }
  if (map.sure->sure) {
    EXPECT_GT(map.sure->sure->load, 29);  // 0.83
  }
}

// The least share that is left is the largest trigger: on top, and the one whose border is
// searched.
TEST(Map, ACapacityCutIsTheLargerTheLessItLeaves) {
  Scenario scenario = fragile();
  scenario.faults[0] = {
      .kind = FaultKind::capacity, .on = "db", .at = 5s, .length = 2s, .amount = 0.5};
  scenario.services[0].workers = 10;
  scenario.services[0].service_time = Distribution::constant(100ms);
  scenario.map = {.loads = {20}, .triggers = {0.1, 0.8, 0.4}};
  const MapResult map = draw_map(scenario, {.runs = 1, .border_runs = 20});
  EXPECT_EQ(map.triggers, (std::vector<double>{0.8, 0.4, 0.1}));
  ASSERT_TRUE(map.sure);
  EXPECT_EQ(map.sure->trigger, 0.1);
  EXPECT_EQ(trigger_text(map, 0.4), "40 % left");
  scenario.faults[0].kind = FaultKind::errors;
  const MapResult errors = draw_map(scenario, {.runs = 1, .border_runs = 0});
  EXPECT_EQ(errors.triggers, (std::vector<double>{0.1, 0.4, 0.8}));
  EXPECT_EQ(trigger_text(errors, 0.4), "40 %");
  EXPECT_FALSE(errors.sure);
}

TEST(Map, HasTheCapacityAndWhatTheRetriesLeaveOfIt) {
  const MapResult map = draw_map(fragile(), {.runs = 1, .border_runs = 0});
  EXPECT_EQ(map.capacity, 100);
  EXPECT_EQ(map.hidden_capacity, 50);
}

TEST(Map, IsTheSameWithAnyNumberOfThreads) {
  const MapResult one = draw_map(fragile(), {.runs = 2, .threads = 1});
  const MapResult many = draw_map(fragile(), {.runs = 2, .threads = 4});
  for (std::size_t i = 0; i < one.cells.size(); ++i) {
    EXPECT_EQ(one.cells[i].collapsed.k, many.cells[i].collapsed.k);
  }
  ASSERT_TRUE(one.sure && one.sure->safe && many.sure && many.sure->safe);
  EXPECT_EQ(one.sure->safe->load, many.sure->safe->load);
  EXPECT_EQ(one.sure->runs, many.sure->runs);
}

TEST(Map, StoppedBeforeItBeganItHasNoRuns) {
  const std::atomic<bool> stop{true};
  const MapResult map = draw_map(fragile(), {.runs = 2, .stop = &stop});
  EXPECT_TRUE(map.interrupted);
  for (const MapCell& cell : map.cells) EXPECT_EQ(cell.collapsed.n, 0);
}

std::string error_of(const Scenario& scenario) {
  const auto error = find_map_error(scenario);
  return error ? to_string(*error) : "";
}

TEST(Map, SaysWhyItCannotBeDrawn) {
  EXPECT_EQ(error_of(fragile()), "");
  Scenario nobody = fragile();
  nobody.clients.clear();
  EXPECT_EQ(error_of(nobody), "fragile.yaml: a map needs clients: the scenario has none");
  Scenario closed = fragile();
  closed.clients[0].loop = Loop::closed;
  closed.clients[0].place = {4, 3};
  EXPECT_EQ(error_of(closed),
            "fragile.yaml:4:3: a map needs clients with a load: the first clients, app, have loop: "
            "closed, and open is needed");
  Scenario calm = fragile();
  calm.faults.clear();
  EXPECT_EQ(error_of(calm), "fragile.yaml: a map needs a trigger: the scenario has no faults");
  Scenario counted = fragile();
  counted.faults[0].requests = 10;
  EXPECT_EQ(
      error_of(counted),
      "fragile.yaml: a map needs a trigger with a length or an amount: the first fault counts "
      "requests");
  Scenario silent = fragile();
  silent.map = {};
  EXPECT_EQ(error_of(silent),
            "fragile.yaml: the scenario has no sweep; add map: {load: {from: 100, to: "
            "300, step: 10}, trigger: [1, 2, 5, 10]}, or give --load and --trigger");
}

TEST(Map, WhatNoScenarioMayBeIsRefused) {
  Scenario wild = fragile();
  wild.map.loads = {1e18};
  EXPECT_EQ(error_of(wild),
            "fragile.yaml: a load of a map is 1000000000000000000; it must be from 0.001 to "
            "10000000 requests a second");
  wild.map.loads = {std::nan("")};
  EXPECT_NE(error_of(wild), "");
  wild = fragile();
  wild.map.triggers = {1e9};
  EXPECT_EQ(error_of(wild),
            "fragile.yaml: a trigger of a map is 1000000000; it must be from 0 to 86400");
  wild.map.triggers = {std::nan("")};
  EXPECT_NE(error_of(wild), "");
  wild = fragile();
  wild.faults[0].kind = FaultKind::capacity;
  wild.map.triggers = {5};  // a share over 1
  EXPECT_NE(error_of(wild), "");
}

TEST(Map, TheLeastOfAllServicesOnTheWayIsTheCapacity) {
  Scenario scenario = fragile();
  scenario.services.push_back({.name = "web", .calls = {{.service = "db", .times = 2}}});
  scenario.clients[0].calls = "web";
  const MapResult map = draw_map(scenario, {.runs = 1, .border_runs = 0});
  EXPECT_EQ(map.capacity, 50);  // Two calls of each request, of 100.
}

TEST(Map, ACapacityThatIsNotKnownIsBoundedAndHasAReason) {
  Scenario scenario = fragile();
  scenario.services.push_back({.name = "web", .workers = 10, .calls = {{.service = "db"}}});
  scenario.clients[0].calls = "web";
  scenario.map = {.loads = {20}, .triggers = {0}};
  const MapResult map = draw_map(scenario, {.runs = 1, .border_runs = 0});
  EXPECT_EQ(map.capacity, 0);
  EXPECT_EQ(map.hidden_capacity, 0);
  EXPECT_EQ(map.capacity_at_most, 100);
  EXPECT_EQ(map.capacity_doubt, "web: its workers wait for db, where requests may queue");
}

}  // namespace

}  // namespace damper::lab
