#include <gtest/gtest.h>

#include <cmath>

#include "damper/base/trace_hash.h"
#include "damper/lab/runs/measure.h"
#include "damper/lab/scenario/random_scenario_testing.h"
#include "damper/lab/world/world.h"
#include "damper/lab/world/world_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

ControllersSpec pods(double events = 20) {
  ControllersSpec spec;
  spec.name = "pods";
  spec.calls = "db";
  spec.events = events;
  return spec;
}

Scenario controlled(const ControllersSpec& spec, ServiceSpec db = service("db", takes(5ms)),
                    std::vector<FaultSpec> faults = {}) {
  Scenario scenario = world_of({std::move(db)}, {}, std::move(faults));
  scenario.controllers = {spec};
  return scenario;
}

std::uint64_t sum(const ControllersRecord& record, std::uint32_t ControllersTick::*field) {
  std::uint64_t total = 0;
  for (const ControllersTick& tick : record.ticks) total += tick.*field;
  return total;
}

void check_balance(const ControllersRecord& record) {
  EXPECT_EQ(sum(record, &ControllersTick::events), record.events);
  EXPECT_EQ(sum(record, &ControllersTick::runs), record.runs);
  EXPECT_EQ(sum(record, &ControllersTick::retries), record.retries);
  EXPECT_EQ(sum(record, &ControllersTick::succeeded), record.succeeded);
  EXPECT_EQ(sum(record, &ControllersTick::failed), record.failed);
  EXPECT_EQ(record.runs, record.succeeded + record.failed + record.ticks.back().running);
  EXPECT_LE(record.events_in_fault, record.events);
  EXPECT_LE(record.runs_in_fault, record.runs);
  EXPECT_LE(record.ticks.back().failing, record.ticks.back().waiting);
}

TEST(ControllerGroups, EachRunIsOneRequest) {
  const Record record = played(controlled(pods()));
  const ControllersRecord& all = record.controllers[0];
  check_balance(all);
  EXPECT_NEAR(static_cast<double>(all.events), 200, 45);
  EXPECT_EQ(all.runs, record.services[0].attempts);
  EXPECT_EQ(all.runs, record.services[0].first_tries);
  EXPECT_EQ(all.succeeded, record.services[0].good);
  EXPECT_EQ(all.failed, 0u);
  EXPECT_LE(all.runs, all.events);  // Some were for a key that was under way.
  EXPECT_GE(all.runs + 10, all.events);
  EXPECT_EQ(all.settled.quantile(Percent(50)), all.settled.quantile(Percent(10)));  // 5 ms
}

TEST(ControllerGroups, ARunOfAKeyThatFailedArrivesAsARetry) {
  ControllersSpec spec = pods();
  spec.retries.backoff = {.jitter = schedule::Jitter::none, .base = 100ms, .cap = 100ms};
  spec.retries.budget.min_per_second = 10'000;
  const Record record =
      played(controlled(spec, service("db", takes(5ms)), {fault(FaultKind::down, 2s, 2s)}));
  const ControllersRecord& all = record.controllers[0];
  check_balance(all);
  EXPECT_GT(all.retries, 200u);
  EXPECT_EQ(all.retries, record.services[0].attempts - record.services[0].first_tries);
  EXPECT_EQ(all.ticks.back().failing, 0u);
  std::uint32_t most = 0;
  for (std::size_t i = 20; i < 40; ++i) most = std::max(most, all.ticks[i].failing);
  EXPECT_GT(most, 15u);
  // Within two seconds, every 105 ms or so: fewer than 20.
  EXPECT_EQ(all.ticks.back().parked, 0u);
}

// The queue retries, and nobody else: neither the call of the run nor the service below.
TEST(ControllerGroups, TheQueueOwnsTheRetries) {
  ServiceSpec front = service("db");
  front.calls = {{.service = "disk"}};
  ServiceSpec disk = service("disk");
  Scenario scenario = controlled(pods(), front, {fault(FaultKind::down, 0s, 10s, 1, "disk")});
  scenario.services.push_back(disk);
  set_policy(scenario, "disk", eager(3));
  Record record = played(scenario);
  EXPECT_EQ(record.services[0].attempts, record.controllers[0].runs);
  EXPECT_EQ(record.services[1].attempts, record.controllers[0].runs);
  EXPECT_EQ(record.controllers[0].succeeded, 0u);
  scenario.ownership = false;
  record = played(scenario);
  EXPECT_GT(record.services[1].attempts, 2 * record.controllers[0].runs);
}

TEST(ControllerGroups, ARunThatIsNotAnsweredInTimeHasFailed) {
  ControllersSpec spec = pods(1);
  spec.retries.timeout = 20ms;
  const Record record = played(controlled(spec, service("db", takes(30ms))));
  const ControllersRecord& all = record.controllers[0];
  check_balance(all);
  EXPECT_EQ(all.succeeded, 0u);
  EXPECT_GT(all.failed, 5u);
  EXPECT_EQ(all.settled.count(), 0);
}

TEST(ControllerGroups, ABrokenKeyFailsUntilItIsGivenUp) {
  ControllersSpec spec = pods(0);
  spec.keys = 10;
  spec.resync = 1h;  // Each key once.
  spec.broken_keys = 2;
  spec.retries.max_attempts = 2;
  Scenario scenario = controlled(spec);
  scenario.length = 2h;
  scenario.bucket = 1min;
  scenario.controllers[0].resync = 100min;
  const Record record = played(scenario);
  const ControllersRecord& all = record.controllers[0];
  check_balance(all);
  EXPECT_EQ(all.events, 10u);
  EXPECT_EQ(all.succeeded, 8u);
  EXPECT_EQ(all.failed, 2u * 2);
  EXPECT_EQ(all.retries, 2u * 1);
  EXPECT_EQ(all.ticks.back().parked, 2u);
  EXPECT_EQ(all.ticks.back().waiting, 0u);
  EXPECT_EQ(all.settled.count(), 8);
  EXPECT_EQ(all.queued.count(), 8);
  // With more attempts they fail alone at last, which shows nothing: they are not given up.
  scenario.controllers[0].retries.max_attempts = 4;
  const Record patient = played(scenario);
  EXPECT_EQ(patient.controllers[0].ticks.back().parked, 0u);
  EXPECT_EQ(patient.controllers[0].ticks.back().waiting, 2u);
  // What cannot be mended by trying is given up at once.
  scenario.controllers[0].broken_answer = decide::Outcome::permanent;
  EXPECT_EQ(played(scenario).controllers[0].failed, 2u);
}

TEST(ControllerGroups, EachKeyIsAddedAgainEverySoOften) {
  ControllersSpec spec = pods(0);
  spec.count = 3;
  spec.keys = 10;
  spec.resync = 2s;
  const Record record = played(controlled(spec));
  EXPECT_EQ(record.controllers[0].events, 3u * 10 * 5);
  EXPECT_EQ(record.controllers[0].runs, 150u);
}

TEST(ControllerGroups, EventsOfOneKeyAreCoalescedOrNot) {
  ControllersSpec spec = pods(100);
  spec.keys = 1;
  const ServiceSpec slow = service("db", takes(100ms));
  const Record once = played(controlled(spec, slow));
  EXPECT_NEAR(static_cast<double>(once.controllers[0].runs), 100, 3);  // One at a time.
  spec.coalesce = false;
  const Record each = played(controlled(spec, slow));
  EXPECT_EQ(each.controllers[0].events, once.controllers[0].events);
  EXPECT_NEAR(static_cast<double>(each.controllers[0].runs), 400, 10);  // Four workers.
  EXPECT_GT(each.controllers[0].ticks.back().waiting, 500u);
}

TEST(ControllerGroups, ControllersAndClientsShareAService) {
  Scenario scenario = controlled(pods());
  scenario.clients = {poisson(30)};
  const Record record = played(scenario);
  EXPECT_EQ(record.services[0].attempts, record.controllers[0].runs + record.clients[0].attempts);
  EXPECT_EQ(record.clients[0].failed, 0u);
}

// ---- The same seed, the same trace -------------------------------------------------------------

Scenario controllers_in_trouble() {
  ControllersSpec spec = pods(10);
  spec.count = 20;
  spec.hot_keys = 2;
  spec.hot_share = 0.5;
  spec.broken_keys = 1;
  spec.resync = 5s;
  Scenario scenario = controlled(spec, service("db", Distribution::exponential(5ms), 4),
                                 {fault(FaultKind::down, 2s, 3s)});
  scenario.services[0].network = Distribution::exponential(1ms);
  scenario.services[0].loss = 0.001;
  scenario.services[0].queue_bound = 20;
  scenario.controllers[0].retries.timeout = 200ms;
  return scenario;
}

TEST(ControllerGroups, TheSameSeedGivesTheSameTraceOnEveryMachine) {
  const Record record = played(controllers_in_trouble(), 42);
  EXPECT_EQ(record.trace_hash, played(controllers_in_trouble(), 42).trace_hash);
  EXPECT_NE(record.trace_hash, played(controllers_in_trouble(), 43).trace_hash);
  EXPECT_GT(record.controllers[0].succeeded, 1000u);
  EXPECT_GT(record.controllers[0].retries, 100u);
}

// To look is not to touch.
TEST(ControllerGroups, TheBucketDoesNotChangeTheTrace) {
  Scenario scenario = controllers_in_trouble();
  const std::uint64_t hash = played(scenario).trace_hash;
  scenario.bucket = 7ms;
  EXPECT_EQ(played(scenario).trace_hash, hash);
}

TEST(ControllerGroups, TwoPoliciesSeeTheSameEvents) {
  const Scenario scenario = controllers_in_trouble();
  Scenario other = scenario;
  other.controllers[0].coalesce = false;
  other.controllers[0].retries.max_attempts = 1;
  const Record a = played(scenario);
  const Record b = played(other);
  EXPECT_NE(a.trace_hash, b.trace_hash);
  for (std::size_t i = 0; i < a.controllers[0].ticks.size(); ++i) {
    ASSERT_EQ(a.controllers[0].ticks[i].events, b.controllers[0].ticks[i].events) << i;
  }
}

// Each run checks its own books as well, queues included.
TEST(ControllerGroups, EveryWorldBalances) {
  std::uint64_t succeeded = 0;
  std::uint64_t parked = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    RandomScenario random(seed);
    Scenario scenario = random.make();
    random.add_controllers(scenario);
    const auto wrong = find_error(scenario);
    ASSERT_FALSE(wrong) << wrong->sentence;
    const Record record = play(scenario, {.seed = seed});
    EXPECT_FALSE(record.cut_short);
    for (const ControllersRecord& all : record.controllers) {
      SCOPED_TRACE(all.name);
      check_balance(all);
      succeeded += all.succeeded;
      parked += all.ticks.back().parked;
    }
  }
  EXPECT_GT(succeeded, 10'000u);
  EXPECT_GT(parked, 10u);
}

TEST(ControllerGroups, TooManyWaitingKeysCutItShort) {
  ControllersSpec spec = pods(2000);
  spec.coalesce = false;
  const Scenario scenario = controlled(spec, service("db", takes(1s)));
  EXPECT_TRUE(play(scenario, {.most_in_flight = 1000}).cut_short);
  EXPECT_FALSE(play(scenario, {.most_in_flight = 100'000}).cut_short);
}

// ---- One broken key ----------------------------------------------------------------------------

// One controller of 1000 keys before an API that does 100 calls a second.
double queued_p99(std::int32_t broken_keys, std::uint64_t seed,
                  const engine::RequeuePolicy& retries = {}) {
  ControllersSpec spec = pods(80);
  spec.keys = 1000;
  spec.rate_limit = 100;
  spec.burst = 1;
  spec.broken_keys = broken_keys;
  spec.retries = retries;
  Scenario scenario = controlled(spec, service("db", takes(10ms), 1));
  scenario.length = 300s;
  return find_measure("queued_p99")->of(scenario, played(scenario, seed));
}

TEST(ControllerGroups, ABrokenKeyDoesNotHoldUpTheHealthyOnes) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const double without = queued_p99(0, seed);
    EXPECT_GT(without, 10) << seed;  // ms: there is a queue.
    EXPECT_LE(queued_p99(1, seed), 1.2 * without) << seed;
    // Whereas one that is run again at once takes the API from them.
    engine::RequeuePolicy loop;
    loop.max_attempts = 0;
    loop.backoff = {.jitter = schedule::Jitter::none, .base = 1ms, .cap = 1ms};
    loop.budget.min_per_second = 10'000;
    EXPECT_GT(queued_p99(1, seed, loop), 1.5 * without) << seed;
  }
}

}  // namespace
}  // namespace damper::lab
