#include "damper/lab/runs/capacity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "damper/base/random.h"
#include "damper/lab/world/world_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

// `workers` of `web` that wait for `db`, which has a worker for every request.
Scenario waiting(std::int32_t workers, Distribution db, Distribution own = {}) {
  ServiceSpec web = service("web", own, workers);
  web.calls = {{.service = "db"}};
  return tried_once({web, service("db", db)}, {poisson(100, "web")});
}

TEST(Capacity, IsByTheMeanOfWhatTheWorkersWaitForAndNotByTheMedian) {
  EXPECT_EQ(capacity_of(waiting(50, Distribution::exponential(100ms)), 0).known, 500);
  EXPECT_EQ(capacity_of(waiting(20, Distribution::exponential(20ms)), 0).known, 1000);
  EXPECT_EQ(capacity_of(waiting(50, takes(100ms), takes(25ms)), 0).known, 400);
}

TEST(Capacity, OfAServiceWithAWorkerForEveryRequestThereIsNone) {
  const Capacity db = capacity_of(waiting(50, takes(100ms)), 1);
  EXPECT_EQ(db.known, 0);
  EXPECT_EQ(db.at_most, 0);
  EXPECT_EQ(db.why, "");
}

// The mean of the slower of two of exponential(m) is 1.5 m.
TEST(Capacity, OfSeveralCallsTheSlowestCounts) {
  Scenario scenario = waiting(15, Distribution::exponential(100ms));
  scenario.services[0].calls[0].times = 2;
  EXPECT_NEAR(capacity_of(scenario, 0).known, 100, 1);
}

TEST(Capacity, ServiceTimesAreRoundedDownToTheGrain) {
  Scenario scenario = tried_once({service("db", Distribution::uniform(10ms, 20ms), 15)}, {});
  scenario.services[0].grain = 10ms;
  EXPECT_NEAR(capacity_of(scenario, 0).known, 1500, 1);
}

TEST(Capacity, WhereRequestsMayQueueBelowItIsNotKnownButBounded) {
  Scenario scenario = waiting(50, Distribution::exponential(100ms));
  scenario.services[1].workers = 50;
  EXPECT_EQ(capacity_of(scenario, 0).known, 500);  // As many as can call.
  scenario.services[1].workers = 49;
  const Capacity web = capacity_of(scenario, 0);
  EXPECT_EQ(web.known, 0);
  EXPECT_EQ(web.at_most, 500);
  EXPECT_EQ(web.why, "its workers wait for db, where requests may queue");
  EXPECT_EQ(capacity_of(scenario, 1).known, 490);
}

TEST(Capacity, WhatDependsOnThePolicyIsNotKnown) {
  Scenario scenario = waiting(50, Distribution::exponential(100ms));
  scenario.policy.routes[1].settings.policy.call.per_try_timeout = 200ms;
  EXPECT_EQ(capacity_of(scenario, 0).why, "calls of its workers time out");
  scenario.policy.routes[1].settings.policy.call.per_try_timeout = 2s;  // One in 500 million.
  EXPECT_EQ(capacity_of(scenario, 0).known, 500);
  scenario.services[1].loss = 0.01;
  EXPECT_EQ(capacity_of(scenario, 0).why, "its workers wait for db, where requests may fail");
}

TEST(Capacity, ALongHandoverIsNotWaitedForByThoseThatArrive) {
  Scenario scenario = tried_once({service("db", takes(50ms), 10)}, {});
  scenario.services[0].handover = 1ms;
  EXPECT_NEAR(capacity_of(scenario, 0).known, 196.08, 0.01);
  scenario.services[0].handover = 2ms;
  EXPECT_EQ(capacity_of(scenario, 0).known, 0);
  EXPECT_EQ(capacity_of(scenario, 0).at_most, 200);
}

// Graphs of two to five services, each of which calls some of those after it.
class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed) {}

  Scenario make() {
    const int services = whole(2, 5);
    std::vector<ServiceSpec> specs;
    for (int i = 0; i < services; ++i) {
      ServiceSpec spec = service("s" + std::to_string(i), distribution(), whole(1, 20));
      spec.replicas = whole(1, 3);
      spec.network = chance(0.5) ? distribution() : Distribution{};
      if (chance(0.2)) spec.grain = 1ms;
      if (chance(0.2)) spec.handover = chance(0.5) ? 100us : 20ms;
      if (chance(0.1)) spec.per_request = 1ms;
      if (chance(0.1)) spec.errors = 0.2;
      if (chance(0.1)) spec.queue = Discipline::lifo;
      // Some of those that are called have a bound that can be reached.
      if (i > 0) spec.workers = chance(0.6) ? 0 : chance(0.5) ? whole(1, 30) : 1000;
      for (int next = i + 1; next < services; ++next) {
        if (!chance(i == 0 ? 0.6 : 0.3)) continue;
        spec.calls.push_back({.service = "s" + std::to_string(next), .times = whole(1, 3)});
      }
      specs.push_back(std::move(spec));
    }
    Scenario scenario = tried_once(std::move(specs), {});
    if (!chance(0.2)) return scenario;
    scenario.policy.routes.back().settings.policy.call.per_try_timeout = 50ms;
    return scenario;
  }

 private:
  bool chance(double share) { return random_.draw() < share; }
  int whole(int low, int high) { return low + static_cast<int>(random_.draw() * (high - low + 1)); }
  Distribution distribution() {
    const auto time = std::chrono::milliseconds(whole(1, 30));
    switch (whole(0, 5)) {
      case 0: return Distribution::constant(time);
      case 1: return Distribution::uniform(Duration{0}, time);
      case 2: return Distribution::exponential(time);
      case 3: return Distribution::normal(time, time / 3);
      case 4: return Distribution::lognormal(time, 0.8);
      default: return Distribution::mix(time, 5 * time, Percent(10));
    }
  }

  Random random_;
};

// What the service serves a second when more clients than it has workers never pause.
double saturated(Scenario scenario, std::size_t at, double expected) {
  scenario.length = Duration{static_cast<std::int64_t>(30'000 / expected * 1e9)};
  scenario.bucket = scenario.length / 100;
  const Record record = played(scenario);
  const std::vector<ServiceTick>& ticks = record.services[at].ticks;
  std::uint64_t served = 0;
  for (std::size_t i = 10; i < 100; ++i) served += ticks[i].served;
  return static_cast<double>(served) / (static_cast<double>(scenario.bucket.count()) * 90 / 1e9);
}

// Invariant (1).
TEST(Capacity, OfRandomGraphsIsWhatASaturatedServiceServesOrIsNotKnown) {
  int known = 0;
  int bounded = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Scenario scenario = RandomGraph(seed).make();
    const ServiceSpec& top = scenario.services[0];
    scenario.clients = {closed(20 * top.replicas * top.workers, {}, top.name)};
    ASSERT_FALSE(find_error(scenario));
    const Capacity capacity = capacity_of(scenario, 0);
    const double serves = saturated(scenario, 0, capacity.known + capacity.at_most);
    if (capacity.known > 0) {
      EXPECT_NEAR(serves / capacity.known, 1, 0.03) << capacity.known;
      ++known;
    } else {
      EXPECT_LT(serves / capacity.at_most, 1.03) << capacity.at_most << ' ' << capacity.why;
      ++bounded;
    }
  }
  EXPECT_GE(known, 20);
  EXPECT_GE(bounded, 10);
}

}  // namespace
}  // namespace damper::lab
