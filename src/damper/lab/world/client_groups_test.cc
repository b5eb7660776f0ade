#include "damper/lab/world/client_groups.h"

#include <gtest/gtest.h>

#include "damper/lab/world/world_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

Scenario under(const engine::Policy& policy, const ServiceSpec& db, const ClientsSpec& users,
               std::vector<FaultSpec> faults = {}) {
  Scenario scenario = world_of({db}, {users}, std::move(faults));
  set_policy(scenario, "db", policy);
  return scenario;
}

TEST(ClientGroups, AClosedLoopHasOneRequestAtATimeForEachClient) {
  const Record record =
      played(under(eager(1), service("db", takes(300ms)), closed(4, takes(700ms))));
  EXPECT_EQ(record.clients[0].requests, 4u * 10);  // At 0 s, 1 s, ... 9 s; not at the end.
  EXPECT_EQ(record.clients[0].succeeded, 4u * 10);
  EXPECT_EQ(record.clients[0].unfinished, 0u);
  EXPECT_EQ(record.clients[0].ticks[1].in_flight, 4u);
  EXPECT_EQ(record.clients[0].ticks[5].in_flight, 0u);
}

TEST(ClientGroups, AClosedLoopWithoutThinkingGoesOnAtOnce) {
  EXPECT_EQ(played(under(eager(1), service("db", takes(100ms)), closed(1))).clients[0].requests,
            100u);
}

TEST(ClientGroups, RequestsOfOneClientDiffer) {
  const Record record =
      played(under(eager(1), service("db", Distribution::exponential(20ms)), closed(1)));
  const LatencySketch& latency = record.clients[0].latency;
  EXPECT_NEAR(std::chrono::duration<double>(latency.mean()).count(), 0.02, 0.003);
  EXPECT_LT(*latency.quantile(Percent(20)), *latency.quantile(Percent(80)) / 4);
}

TEST(ClientGroups, AClosedLoopGoesOnAfterAFailure) {
  const Record record = played(under(eager(1), service("db", takes(300ms)), closed(1, takes(700ms)),
                                     {fault(FaultKind::errors, 0s, 5s, 1)}));
  EXPECT_EQ(record.clients[0].failed, 5u);
  EXPECT_EQ(record.clients[0].succeeded, 5u);
}

// A request that is over in no time: nothing takes any, or it is refused before it is sent.
TEST(ClientGroups, AClosedLoopWithoutAnyTimeDoesNotStopTheClock) {
  const Record record = played(under(eager(1), service("db"), closed(2)));
  EXPECT_EQ(record.clients[0].succeeded, 2u * 10'000);
  engine::Policy policy = eager(1);
  policy.call.needed = 1h;
  ClientsSpec hurried = closed(2);
  hurried.deadline = 1s;
  EXPECT_EQ(count(played(under(policy, service("db"), hurried)), Verdict::deadline_too_close),
            2u * 10'000);
}

TEST(ClientGroups, NothingBeginsAfterUntil) {
  ClientsSpec users = closed(1, takes(700ms));
  users.until = 3s;
  EXPECT_EQ(played(under(eager(1), service("db", takes(300ms)), users)).clients[0].requests, 4u);
  users = poisson(100);
  users.until = 3s;
  const Record record = played(under(eager(1), service("db"), users));
  EXPECT_GT(record.clients[0].ticks[29].requests, 0u);
  for (std::size_t i = 30; i < 100; ++i) ASSERT_EQ(record.clients[0].ticks[i].requests, 0u);
}

TEST(ClientGroups, PoissonArrivalsComeAtTheirRate) {
  const Record record = played(under(eager(1), service("db"), poisson(1000)));
  EXPECT_NEAR(static_cast<double>(record.clients[0].requests), 10'000, 300);
  EXPECT_EQ(record.clients[0].succeeded, record.clients[0].requests);
}

TEST(ClientGroups, ASpikeIsSoManyTimesAsMany) {
  for (const Pattern pattern : {Pattern::poisson, Pattern::metered}) {
    ClientsSpec users = poisson(1000);
    users.arrivals = pattern;
    const Record record = played(
        under(eager(1), service("db"), users, {fault(FaultKind::spike, 2s, 4s, 3, "users")}));
    double in_spike = 0;
    for (std::size_t i = 20; i < 60; ++i) in_spike += record.clients[0].ticks[i].requests;
    EXPECT_NEAR(in_spike, 12'000, 330);
    EXPECT_NEAR(static_cast<double>(record.clients[0].requests), 18'000, 405);
    EXPECT_EQ(static_cast<double>(record.clients[0].requests_in_fault), in_spike);
  }
}

TEST(ClientGroups, BurstsAndStepsAreExact) {
  ClientsSpec users = poisson(0);
  users.count = 10;
  users.arrivals = Pattern::bursts;
  users.every = 1s;
  users.burst = 7;
  EXPECT_EQ(played(under(eager(1), service("db"), users)).clients[0].requests, 7u * 10);
  users.arrivals = Pattern::constant;
  Record record = played(under(eager(1), service("db"), users));
  EXPECT_EQ(record.clients[0].requests, 10u * 10);
  EXPECT_EQ(record.clients[0].ticks[10].requests, 10u);
  users.arrivals = Pattern::spread;
  record = played(under(eager(1), service("db"), users));
  EXPECT_EQ(record.clients[0].requests, 10u * 10);
  for (std::size_t i = 0; i < 99; ++i) ASSERT_EQ(record.clients[0].ticks[i].requests, 1u);
}

TEST(ClientGroups, LevelsAreThoseAtTheEndOfTheBucket) {
  ClientsSpec users = at_once(5);
  const Record record = played(under(eager(1), service("db", takes(1s), 1), users));
  for (std::size_t i = 0; i < 50; ++i) {
    ASSERT_EQ(record.clients[0].ticks[i].in_flight, 5 - i / 10) << i;
  }
  EXPECT_EQ(record.clients[0].ticks[50].in_flight, 0u);
}

// A process may spend 10 retries, and each of its clients would take two.
TEST(ClientGroups, ClientsOfOneProcessShareItsBudget) {
  for (const std::int32_t processes : {1, 4, 20}) {
    engine::Policy policy = eager(3);
    policy.budget = {.percent = Percent(0), .reserve = 10};
    ClientsSpec users = at_once(20);
    users.processes = processes;
    const Record record =
        played(under(policy, service("db"), users, {fault(FaultKind::down, 0s, 10s)}));
    const auto retries = static_cast<std::int32_t>(record.clients[0].attempts) - 20;
    EXPECT_EQ(retries, std::min(40, 10 * processes));
    EXPECT_EQ(record.clients[0].ticks[0].budget, processes == 20 ? 8.0F : 0.0F);
  }
}

TEST(ClientGroups, RequestsThatBeganInAFaultAreCountedApart) {
  ClientsSpec users = poisson(0);
  users.arrivals = Pattern::constant;
  users.every = 100ms;
  const Record record =
      played(under(eager(2), service("db"), users, {fault(FaultKind::down, 1s, 2s)}));
  EXPECT_EQ(record.clients[0].requests, 100u);
  EXPECT_EQ(record.clients[0].requests_in_fault, 20u);
  EXPECT_EQ(record.clients[0].attempts_in_fault, 40u);
  EXPECT_EQ(record.clients[0].attempts, 120u);
}

TEST(ClientGroups, OneThatIsNotIdempotentIsNotRepeated) {
  ClientsSpec users = at_once(10);
  users.idempotent = false;
  const Record record =
      played(under(eager(3), service("db"), users, {fault(FaultKind::down, 0s, 10s)}));
  EXPECT_EQ(count(record, Verdict::not_idempotent), 10u);
}

const std::vector<FaultSpec> kAllFail = {fault(FaultKind::down, 0s, 20s)};

TEST(ClientGroups, SomeGoAwayAfterEachFailure) {
  ClientsSpec users = at_once(10'000);
  users.gives_up = 0.5;
  const Record record = played(under(eager(3), service("db"), users, kAllFail));
  // 1 + 1/2 + 1/4, with a deviation of 0.83 each.
  EXPECT_NEAR(static_cast<double>(record.clients[0].attempts), 17'500, 250);
  EXPECT_NEAR(static_cast<double>(count(record, Verdict::pushed_back)), 8750, 100);
}

TEST(ClientGroups, ATokenBucketOfTheirOwnRunsDry) {
  ClientsSpec users = at_once(100);
  users.bucket = 10;
  users.bucket_refill = 0;
  const Record record = played(under(eager(3), service("db"), users, kAllFail));
  EXPECT_EQ(record.clients[0].attempts, 100u + 9);  // Down to one.
  users.bucket_refill = 1;
  users.count = 1;
  users.arrivals = Pattern::constant;
  users.loop = Loop::open;
  users.every = 1s;
  users.until = 9s;
  EXPECT_EQ(played(under(eager(3), service("db"), users, kAllFail)).clients[0].attempts,
            4 * 3u + 6 * 2);  // Each failure takes one: 10 8 6 4 2, then one retry each.
}

TEST(ClientGroups, ABreakerOfTheirOwnStopsAllRetries) {
  ClientsSpec users = poisson(0);
  users.arrivals = Pattern::constant;
  users.every = 1s;
  users.until = 9s;
  users.gives_up_over = 0.5;
  const Record record = played(under(eager(3), service("db"), users, kAllFail));
  EXPECT_EQ(record.clients[0].attempts, 10u);
  users.gives_up_over = 1;  // Never.
  EXPECT_EQ(played(under(eager(3), service("db"), users, kAllFail)).clients[0].attempts, 30u);
}

}  // namespace
}  // namespace damper::lab
