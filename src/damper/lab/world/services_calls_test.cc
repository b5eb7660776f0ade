#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "damper/lab/world/world_testing.h"

// Services that call each other, and the rows that they write.

namespace damper::lab {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

// The request to web is given up at 1 s, while web waits for two calls to db.
TEST(ServicesCalls, WhatWasCalledForOneWhoIsGivenUpIsGivenUpAsWell) {
  for (const bool heeds : {false, true}) {
    ServiceSpec web = service("web", {}, 1);
    web.calls = {{.service = "db", .times = 2}};
    ServiceSpec db = service("db", takes(3s), 1);
    web.heeds_cancel = db.heeds_cancel = heeds;
    Scenario scenario = tried_once(
        {web, db}, {one_at(0s, "a", 1s, "web"), one_at(2s, "b"), one_at(2s, "c", kForever, "web")});
    scenario.deadlines_travel = false;
    const Record record = played(scenario);
    EXPECT_EQ(record.clients[1].latency.max(), heeds ? 3s : 7s);
    EXPECT_EQ(record.services[0].ticks[25].queued, heeds ? 0u : 1u);  // Web's worker is free for c.
    EXPECT_EQ(record.services[1].attempts, 5u);
  }
}

// Of three calls two are over when the request is given up, in any order: the third one goes.
TEST(ServicesCalls, WhicheverCallIsLeftIsGivenUp) {
  std::array<Duration, 3> times = {10ms, 20ms, 4s};
  do {
    ServiceSpec web = service("web");
    web.heeds_cancel = true;
    std::vector<ServiceSpec> services;
    std::vector<ClientsSpec> clients = {one_at(0s, "a", 1s, "web")};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string name(1, static_cast<char>('x' + i));
      web.calls.push_back({.service = name});
      services.push_back(service(name, takes(times.at(i)), 1));
      services.back().heeds_cancel = true;
      clients.push_back(one_at(2s, "to-" + name, kForever, name));
    }
    services.push_back(web);
    Scenario scenario = tried_once(services, clients);
    scenario.deadlines_travel = false;
    const Record record = played(scenario);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(record.clients[i + 1].latency.max(), times.at(i));
      EXPECT_EQ(record.services[i].served, times.at(i) == 4s ? 1u : 2u);
    }
  } while (std::next_permutation(times.begin(), times.end()));
}

// Both read version 0 at 10 ms, both write at 30 ms; who loses reads again.
TEST(ServicesCalls, AnOptimisticRowIsWrittenByWhoeverReadItLast) {
  ServiceSpec db = service("db");
  db.optimistic = true;
  db.network = takes(10ms);
  Scenario scenario = world_of({db}, {at_once(2)});
  set_policy(scenario, "db", eager(5));
  const Record record = played(scenario);
  EXPECT_EQ(record.clients[0].succeeded, 2u);
  EXPECT_EQ(record.clients[0].attempts, 3u);
  EXPECT_EQ(record.clients[0].latency.min(), 40ms);
  EXPECT_EQ(record.clients[0].latency.max(), 80ms + 1ns);
  EXPECT_EQ(record.services[0].attempts, 3u);  // writes
  EXPECT_EQ(record.services[0].first_tries, 2u);
  EXPECT_EQ(record.services[0].served, 3u);
  EXPECT_EQ(record.services[0].good, 2u);
}

TEST(ServicesCalls, AReadAndItsWriteDrawApart) {
  ServiceSpec db = service("db", Distribution::exponential(1s));
  db.optimistic = true;
  db.errors = 0.5;
  ClientsSpec users = at_once(4000);
  users.first = Distribution::uniform(0s, 1s);
  Scenario scenario = world_of({db}, {users});
  scenario.length = 1h;
  scenario.bucket = 1min;
  set_policy(scenario, "db", eager(1));
  const Record record = played(scenario);
  EXPECT_NEAR(static_cast<double>(record.services[0].attempts), 2000, 95);
  std::uint64_t failed = 0;
  for (const ServiceTick& tick : record.services[0].ticks) failed += tick.failed;
  EXPECT_NEAR(static_cast<double>(failed), 2000 + 1000, 100);  // Not 2000 alone.
  EXPECT_EQ(record.services[0].served, record.services[0].attempts);
}

TEST(ServicesCalls, AReadTakesItsOwnTime) {
  ServiceSpec db = service("db", Distribution::mix(0s, 1s, Percent(50)));
  db.optimistic = true;
  Scenario scenario = tried_once({db}, {closed(1)});
  scenario.length = 1h;
  scenario.bucket = 1min;
  const LatencySketch latency = played(scenario).clients[0].latency;
  EXPECT_NEAR(std::chrono::duration<double>(latency.mean()).count(), 1, 0.05);
  // Half of them 1 s: either the one or the other took its time.
  EXPECT_NEAR(std::chrono::duration<double>(*latency.quantile(Percent(30))).count(), 1, 0.02);
  EXPECT_NEAR(std::chrono::duration<double>(*latency.quantile(Percent(70))).count(), 1, 0.02);
}

// The answer to the read comes at 20 ms; nobody waits for it.
TEST(ServicesCalls, OneWhoIsGivenUpAfterItsReadDoesNotWrite) {
  ServiceSpec db = service("db");
  db.optimistic = true;
  db.network = takes(10ms);
  EXPECT_EQ(played(tried_once({db}, {one_at(0s, "a", 15ms)})).services[0].attempts, 0u);
  EXPECT_EQ(played(tried_once({db}, {one_at(0s, "a", 25ms)})).services[0].attempts, 1u);
}

TEST(ServicesCalls, AServiceReadsAgainAfterAConflictAsWell) {
  ServiceSpec web = service("web");
  web.calls = {{.service = "db"}};
  ServiceSpec db = service("db");
  db.optimistic = true;
  db.network = takes(10ms);
  Scenario scenario = world_of({web, db}, {at_once(2, "web")});
  set_policy(scenario, "web", eager(1));
  set_policy(scenario, "db", eager(5));
  const Record record = played(scenario);
  EXPECT_EQ(record.clients[0].succeeded, 2u);
  EXPECT_EQ(record.services[1].attempts, 3u);
}

TEST(ServicesCalls, CallsTakeTheReplicasInTurn) {
  ServiceSpec web = service("web");
  web.calls = {{.service = "db", .times = 4}};
  ServiceSpec db = service("db", takes(1s), 1);
  db.replicas = 4;
  EXPECT_EQ(played(tried_once({web, db}, {at_once(1, "web")})).last_end, 1s);
  web.calls = {{.service = "db"}};  // Single ones too.
  EXPECT_EQ(played(tried_once({web, db}, {at_once(4, "web")})).last_end, 1s);
  EXPECT_EQ(played(tried_once({web, db}, {at_once(5, "web")})).last_end, 2s);
}

TEST(ServicesCalls, AServiceAnswersWhenTheLastOfItsCallsIsOver) {
  ServiceSpec web = service("web", takes(100ms), 1);
  web.calls = {{.service = "db", .times = 3}, {.service = "log"}};
  const Record record = played(tried_once(
      {web, service("db", takes(10ms), 1), service("log", takes(20ms))}, {at_once(2, "web")}));
  EXPECT_EQ(record.clients[0].latency.min(), 130ms);
  EXPECT_EQ(record.clients[0].latency.max(), 260ms);  // Its worker waits with it.
  EXPECT_EQ(record.services[1].served, 6u);
  EXPECT_EQ(record.services[2].served, 2u);
}

// Every call is refused before it is sent: too little time is left.
TEST(ServicesCalls, CallsThatAreOverAtOnceEndTheRequest) {
  ServiceSpec web = service("web", {}, 1);
  web.calls = {{.service = "db", .times = 3}};
  Scenario scenario = world_of({web, service("db")}, {at_once(2, "web")});
  scenario.clients[0].deadline = 500ms;
  set_policy(scenario, "web", eager(1));
  engine::Policy hurried = eager(1);
  hurried.call.needed = 1s;
  set_policy(scenario, "db", hurried);
  const Record record = played(scenario);
  EXPECT_EQ(record.clients[0].failed, 2u);
  EXPECT_EQ(record.services[0].served, 2u);
  EXPECT_EQ(record.services[1].attempts, 0u);
  EXPECT_EQ(record.last_end, 0s);
}

TEST(ServicesCalls, OneCallThatFailsFailsTheRequest) {
  ServiceSpec web = service("web");
  web.calls = {{.service = "db", .times = 2}, {.service = "log"}};
  FaultSpec down = fault(FaultKind::down, 0s, 1s, 1, "log");
  down.answer = Outcome::overload;
  const Record record =
      played(tried_once({web, service("db"), service("log")}, {at_once(1, "web")}, {down}));
  EXPECT_EQ(count(record, Verdict::overload), 1u);
  EXPECT_EQ(record.services[0].good, 0u);
  EXPECT_EQ(record.services[1].good, 2u);
}

TEST(ServicesCalls, ADeadlineTravelsWithTheCalls) {
  for (const bool travels : {false, true}) {
    ServiceSpec web = service("web");
    web.calls = {{.service = "db"}};
    Scenario scenario = tried_once({web, service("db", takes(5s))}, {one_at(0s, "a", 1s, "web")});
    scenario.deadlines_travel = travels;
    const Record record = played(scenario);
    EXPECT_EQ(record.services[0].ticks[travels ? 10 : 50].served, 1u);
  }
}

// A request of a sheddable caller makes room for one of a critical caller.
TEST(ServicesCalls, CriticalityTravelsWithTheCalls) {
  ServiceSpec web = service("web");
  web.calls = {{.service = "db"}};
  ServiceSpec db = service("db", takes(1s), 1);
  db.queue = Discipline::shed;
  db.queue_bound = 1;
  ClientsSpec low = one_at(10ms, "low", kForever, "web");
  low.criticality = admit::Criticality::sheddable;
  const Record record = played(tried_once({web, db}, {one_at(0s, "a"), low, one_at(20ms, "b")}));
  EXPECT_EQ(record.clients[0].succeeded, 1u);
  EXPECT_EQ(record.clients[1].failed, 1u);
  EXPECT_EQ(record.clients[2].succeeded, 1u);
  EXPECT_EQ(record.services[1].refused, 1u);
}

}  // namespace
}  // namespace damper::lab
