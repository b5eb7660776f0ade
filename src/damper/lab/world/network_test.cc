#include "damper/lab/world/network.h"

#include <gtest/gtest.h>

#include "damper/lab/world/world_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

Record play_under(const engine::Policy& policy, std::vector<ServiceSpec> services,
                  std::vector<ClientsSpec> clients, std::vector<FaultSpec> faults = {}) {
  Scenario scenario = world_of(std::move(services), std::move(clients), std::move(faults));
  for (const ServiceSpec& spec : scenario.services) set_policy(scenario, spec.name, policy);
  return played(scenario);
}

TEST(Network, TheNetworkTakesItsTimeEachWay) {
  ServiceSpec db = service("db", takes(1s));
  db.network = takes(30ms);
  const Record record = play_under(eager(1), {db}, {at_once(1)});
  EXPECT_EQ(record.last_end, 1060ms);
  EXPECT_EQ(record.services[0].ticks[10].served, 1u);
}

TEST(Network, WhatIsLostIsNeverAnswered) {
  ServiceSpec db = service("db");
  db.loss = 0.5;
  const Record record = play_under(eager(1, 1s), {db}, {at_once(10'000)});
  EXPECT_NEAR(static_cast<double>(record.services[0].attempts), 5000, 150);
  EXPECT_NEAR(static_cast<double>(record.clients[0].succeeded), 2500, 130);
  EXPECT_EQ(record.clients[0].attempts, 10'000u);
  EXPECT_EQ(record.services[0].served, record.services[0].attempts);
  EXPECT_EQ(record.last_end, 1s);
}

TEST(Network, EachLegToAnOptimisticRowMayBeLost) {
  ServiceSpec db = service("db");
  db.optimistic = true;
  db.loss = 0.5;
  ClientsSpec users = at_once(16'000);
  users.first = Distribution::uniform(0s, 8s);  // One after the other: no conflicts.
  const Record record = play_under(eager(1, 1s), {db}, {users});
  EXPECT_NEAR(static_cast<double>(record.services[0].attempts), 2000, 130);  // The third leg.
  EXPECT_NEAR(static_cast<double>(record.clients[0].succeeded), 1000, 95);   // The fourth.
}

TEST(Network, WhatIsHeldArrivesWhenTheLastHoldEnds) {
  const Record record =
      play_under(eager(1), {service("db")}, {at_once(3)},
                 {fault(FaultKind::held, 0s, 2s), fault(FaultKind::held, 1s, 2s)});
  EXPECT_EQ(record.clients[0].latency.min(), 3s);
  EXPECT_EQ(record.clients[0].latency.max(), 3s);
  EXPECT_EQ(record.services[0].ticks[30].first_tries, 3u);
}

TEST(Network, AnAnswerIsHeldAsWell) {
  const Record record = play_under(eager(1), {service("db", takes(1s))}, {at_once(1)},
                                   {fault(FaultKind::held, 500ms, 2500ms)});
  EXPECT_EQ(record.services[0].ticks[10].served, 1u);
  EXPECT_EQ(record.last_end, 3s);
}

TEST(Network, AHoldUpToTheEndOfTheRunLetsNothingThroughBefore) {
  const Record record =
      play_under(eager(1), {service("db")}, {at_once(1)}, {fault(FaultKind::held, 0s, 20s)});
  EXPECT_EQ(record.clients[0].unfinished, 1u);
  EXPECT_EQ(record.services[0].attempts, 0u);
}

TEST(Network, WhatArrivesWhileALossIsOnIsGone) {
  const Record record = play_under(eager(2, 1s), {service("db", takes(300ms))}, {at_once(1)},
                                   {fault(FaultKind::lost, 200ms, 200ms)});
  EXPECT_EQ(record.services[0].attempts, 2u);
  EXPECT_EQ(record.services[0].good, 1u);  // The answer at 300 ms was lost.
  EXPECT_EQ(record.last_end, 1300ms + 1ns);
}

TEST(Network, AnAnswerThatComesTooLateIsNotGood) {
  const Record record = play_under(eager(1, 100ms), {service("db", takes(200ms))}, {at_once(1)});
  EXPECT_EQ(record.services[0].served, 1u);
  EXPECT_EQ(record.services[0].good, 0u);
  EXPECT_EQ(count(record, Verdict::attempts_spent), 1u);
}

ServiceSpec three_replicas(Balance balance) {
  ServiceSpec db = service("db");
  db.replicas = 3;
  db.balance = balance;
  return db;
}

FaultSpec first_replica_down() {
  FaultSpec down = fault(FaultKind::down, 0s, 10s);
  down.replicas = {0};
  return down;
}

TEST(Network, RotationTakesAllInTurnAndAnotherOneForARetry) {
  const Record record = play_under(eager(2), {three_replicas(Balance::rotate)}, {at_once(300)},
                                   {first_replica_down()});
  EXPECT_EQ(record.clients[0].succeeded, 300u);
  EXPECT_EQ(record.clients[0].attempts, 400u);
}

TEST(Network, AShardIsWhereItIs) {
  const Record record = play_under(eager(3), {three_replicas(Balance::keyed)}, {at_once(3000)},
                                   {first_replica_down()});
  const double failed = static_cast<double>(record.clients[0].failed);
  EXPECT_NEAR(failed, 1000, 80);
  EXPECT_EQ(record.clients[0].attempts, 3000u + 2 * record.clients[0].failed);
}

TEST(Network, SpreadIsByChanceEachTime) {
  const Record record = play_under(eager(2), {three_replicas(Balance::spread)}, {at_once(9000)},
                                   {first_replica_down()});
  EXPECT_NEAR(static_cast<double>(record.clients[0].attempts), 12'000, 135);
  EXPECT_NEAR(static_cast<double>(record.clients[0].failed), 1000, 90);  // A ninth.
}

TEST(Network, AHedgeGoesToAnotherReplica) {
  ServiceSpec db = three_replicas(Balance::rotate);
  db.service_time = takes(10ms);
  FaultSpec slow = fault(FaultKind::slow, 5s, 5s, 100);
  slow.replicas = {0};
  engine::Policy policy = eager(2);
  policy.call.hedge = {.max_hedges = 1, .min_samples = 10, .ratio = Percent(100)};
  ClientsSpec users = poisson(30);
  const Record record = play_under(policy, {db}, {users}, {slow});
  EXPECT_EQ(record.clients[0].failed, 0u);
  EXPECT_GT(record.services[0].hedges, 30u);
  EXPECT_LT(record.clients[0].latency.max(), 500ms);  // Not the second that a slow one takes.
}

// client -> web -> mid -> db, three attempts at each, and db is down.
Scenario layers(bool ownership) {
  ServiceSpec web = service("web");
  web.calls = {{.service = "mid"}};
  ServiceSpec mid = service("mid");
  mid.calls = {{.service = "db"}};
  Scenario scenario =
      world_of({web, mid, service("db")}, {at_once(100, "web")}, {fault(FaultKind::down, 0s, 10s)});
  for (const ServiceSpec& spec : scenario.services) set_policy(scenario, spec.name, eager(3));
  scenario.ownership = ownership;
  return scenario;
}

TEST(Network, WithoutOwnershipLayersMultiply) {
  const Record record = played(layers(false));
  EXPECT_EQ(record.services[0].attempts, 300u);
  EXPECT_EQ(record.services[1].attempts, 900u);
  EXPECT_EQ(record.services[2].attempts, 2700u);
  EXPECT_EQ(record.services[2].first_tries, 900u);
}

TEST(Network, WithOwnershipOneLayerRetries) {
  const Record record = played(layers(true));
  EXPECT_EQ(record.services[0].attempts, 300u);
  EXPECT_EQ(record.services[2].attempts, 300u);
  EXPECT_EQ(count(record, Verdict::attempts_spent), 100u);
}

TEST(Network, ALayerThatDoesNotRetryOwnsNothing) {
  Scenario scenario = layers(true);
  scenario.policy.routes.clear();
  set_policy(scenario, "web", eager(1));
  set_policy(scenario, "mid", eager(3));
  set_policy(scenario, "db", eager(3));
  const Record record = played(scenario);
  EXPECT_EQ(record.services[0].attempts, 100u);
  EXPECT_EQ(record.services[2].attempts, 300u);  // Web owns them.
}

// The client may repeat only what never left; what is not repeated in between stays its own.
TEST(Network, WhoOwnsTheUnsentIsKnownAllTheWayDown) {
  Scenario scenario = layers(true);
  scenario.clients[0].idempotent = false;
  scenario.faults[0].answer = Outcome::unavailable;
  scenario.policy.routes.clear();
  set_policy(scenario, "web", eager(3));
  set_policy(scenario, "mid", eager(1));
  set_policy(scenario, "db", eager(3));
  EXPECT_EQ(played(scenario).services[2].attempts, 100u);
}

}  // namespace
}  // namespace damper::lab
