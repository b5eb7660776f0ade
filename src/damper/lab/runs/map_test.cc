#include "damper/lab/runs/map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "damper/lab/runs/map_testing.h"

namespace damper::lab {
namespace {

TEST(MapResult, RegionsAreThoseOfTheLiterature) {
  const MapResult map = small_map();
  EXPECT_EQ(region_of(map, 0, 0), Region::safe);        // 0 of 10, here and above
  EXPECT_EQ(region_of(map, 0, 1), Region::vulnerable);  // 0 of 10, but a larger trigger tips it
  EXPECT_EQ(region_of(map, 1, 1), Region::vulnerable);  // 4 of 10
  EXPECT_EQ(region_of(map, 0, 2), Region::vulnerable);  // 1 of 10
  EXPECT_EQ(region_of(map, 1, 2), Region::metastable);  // 10 of 10
}

TEST(MapResult, CollapseIsSureWhenTheIntervalSaysSo) {
  MapResult map = small_map();
  map.cells[5].collapsed = {.k = 3, .n = 4};  // 0.30 to 0.95
  EXPECT_EQ(region_of(map, 1, 2), Region::vulnerable);
  map.cells[5].collapsed = {.k = 4, .n = 4};  // 0.51 to 1
  EXPECT_EQ(region_of(map, 1, 2), Region::metastable);
  map.cells[5].collapsed = {.k = 3, .n = 3};  // 0.44 to 1
  EXPECT_EQ(region_of(map, 1, 2), Region::vulnerable);
}

TEST(MapResult, AFewRunsProveNothing) {
  MapResult map = small_map();
  map.cells[0].collapsed = {.k = 0, .n = 3};  // 0 to 0.56
  EXPECT_EQ(region_of(map, 0, 0), Region::vulnerable);
  map.cells[0].collapsed = {.k = 0, .n = 4};  // 0 to 0.49
  EXPECT_EQ(region_of(map, 0, 0), Region::safe);
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
  EXPECT_EQ(borders[0].safe, 150);
  EXPECT_EQ(borders[0].collapsed, std::nullopt);
  EXPECT_EQ(borders[1].safe, 100);
  EXPECT_EQ(borders[1].collapsed, 200);
  map.cells[0].collapsed.k = 1;  // What lies above a collapse is not safe.
  EXPECT_EQ(find_borders(map)[0].safe, std::nullopt);
  map.cells[0].collapsed = {};  // Nor is what lies above the unknown.
  EXPECT_EQ(find_borders(map)[0].safe, std::nullopt);
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
  EXPECT_GT(*map.borders.back().safe, 44);  // 100 / 2 attempts, less what 53 s cannot drain
  EXPECT_LT(*map.borders.back().collapsed, 51);
  EXPECT_LT(*map.borders.back().collapsed - *map.borders.back().safe, 0.3);
}

TEST(Map, HasTheCapacityAndWhatTheRetriesLeaveOfIt) {
  const MapResult map = draw_map(fragile(), {.runs = 1});
  EXPECT_EQ(map.capacity, 100);
  EXPECT_EQ(map.hidden_capacity, 50);
}

TEST(Map, IsTheSameWithAnyNumberOfThreads) {
  const MapResult one = draw_map(fragile(), {.runs = 2, .threads = 1});
  const MapResult many = draw_map(fragile(), {.runs = 2, .threads = 4});
  for (std::size_t i = 0; i < one.cells.size(); ++i) {
    EXPECT_EQ(one.cells[i].collapsed.k, many.cells[i].collapsed.k);
  }
  EXPECT_EQ(one.borders.back().safe, many.borders.back().safe);
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
  const MapResult map = draw_map(scenario, {.runs = 1});
  EXPECT_EQ(map.capacity, 50);  // Two calls of each request, of 100.
}

}  // namespace

}  // namespace damper::lab
