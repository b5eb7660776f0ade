#include "damper/lab/runs/facts_of.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/lab/scenario/builtin.h"
#include "damper/lab/scenario/scenario_file.h"
#include "damper/policy/lint/lint.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;
using policy::Facts;
using policy::Route;

Scenario scenario_of(const std::string& yaml) {
  auto scenarios = load_scenario(yaml, "s.yaml");
  EXPECT_TRUE(scenarios) << to_string(scenarios.error());
  return scenarios ? scenarios->front() : Scenario{};
}

Facts facts_about(const Scenario& scenario, std::string_view service) {
  for (const Route& route : facts_of(scenario)) {
    if (route.name == service) return *route.settings.facts;
  }
  ADD_FAILURE() << service;
  return {};
}

const std::string kShop = R"(scenario: shop
services:
  web:
    {replicas: 2, workers: 10, service_time: 10ms, network: 1ms,
     calls: [db, {service: cache, times: 3}]}
  cache: {service_time: 2ms, calls: [db]}
  db: {replicas: 1, workers: 4, service_time: 8ms, network: 500us}
  spare: {}
clients:
  people: {calls: web, count: 50, processes: 5, rate: 100}
  jobs: {calls: db, count: 8, processes: 4, arrivals: constant, every: 2s}
)";

TEST(FactsOf, AServiceThatSomebodyCallsHasARoute) {
  std::string names;
  for (const Route& route : facts_of(scenario_of(kShop))) names += route.name + ' ';
  EXPECT_EQ(names, "web cache db ");
}

TEST(FactsOf, TheLoadGoesThroughTheCalls) {
  const Scenario shop = scenario_of(kShop);
  EXPECT_EQ(facts_about(shop, "web").load, 100);
  EXPECT_EQ(facts_about(shop, "cache").load, 300);
  EXPECT_EQ(facts_about(shop, "db").load, 100 + 300 + 4);
}

TEST(FactsOf, EveryWayToArriveHasItsRate) {
  const auto load = [](const std::string& clients) {
    return facts_about(scenario_of("{scenario: s, services: {db: }, clients: {app: {calls: db, " +
                                   clients + "}}}"),
                       "db")
        .load;
  };
  EXPECT_EQ(load("rate: 7"), 7);
  EXPECT_EQ(load("arrivals: metered, rate: 7"), 7);
  EXPECT_EQ(load("count: 10, arrivals: spread, every: 2s"), 5);
  EXPECT_EQ(load("count: 10, arrivals: bursts, burst: 3, every: 2s"), 1.5);
  EXPECT_EQ(load("loop: closed"), 0);  // Not known.
  EXPECT_EQ(load("loop: once"), 0);
}

TEST(FactsOf, ALoadOfWhichAPartIsNotKnownIsNotKnown) {
  EXPECT_EQ(facts_about(scenario_of(kShop + "  batch: {calls: cache, loop: closed}\n"), "db").load,
            0);
}

TEST(FactsOf, TheCapacityIsWhatTheWorkersCanDo) {
  const Scenario shop = scenario_of(kShop);
  EXPECT_EQ(facts_about(shop, "db").capacity, 500);   // 4 / 8 ms
  EXPECT_EQ(facts_about(shop, "cache").capacity, 0);  // A worker for every request.
  // 2 * 10 / (10 ms + 2 ms + 8 ms + 2 * 0.5 ms) if no request queued at db.
  EXPECT_EQ(facts_about(shop, "web").capacity, 0);
  EXPECT_NEAR(facts_about(shop, "web").capacity_at_most, 952.4, 0.1);
  EXPECT_EQ(facts_about(shop, "web").capacity_doubt,
            "its workers wait for db, where requests may queue");
}

TEST(FactsOf, TheProcessesThatCallItAreItsClients) {
  const Scenario shop = scenario_of(kShop);
  EXPECT_EQ(facts_about(shop, "web").clients, 5);
  EXPECT_EQ(facts_about(shop, "cache").clients, 2);       // web's replicas
  EXPECT_EQ(facts_about(shop, "db").clients, 2 + 1 + 4);  // web's, cache's and the jobs
  const Scenario more = scenario_of(kShop + "  robots: {calls: web, rate: 1}\n");
  EXPECT_EQ(facts_about(more, "web").clients, 6);
  EXPECT_EQ(facts_about(more, "db").clients, 2 + 1 + 4);
}

TEST(FactsOf, TheLatencyIsOfAHealthyAttempt) {
  Scenario shop = scenario_of(kShop);
  EXPECT_EQ(facts_about(shop, "web").latency.p99, 0s);  // A service with a queue has none.
  for (ServiceSpec& service : shop.services) service.workers = 0;
  EXPECT_EQ(facts_about(shop, "db").latency.p50, 9ms);
  EXPECT_EQ(facts_about(shop, "cache").latency.p999, 11ms);
  EXPECT_EQ(facts_about(shop, "web").latency.p99, 23ms);
  const Scenario fan_out = scenario_of(
      "{scenario: s, services: {root: {calls: [{service: leaf, times: 100}]}, leaf: "
      "{service_time: 'mix(10ms, 1s, 1%)'}}, clients: {app: {calls: root, rate: 1}}}");
  EXPECT_EQ(facts_about(fan_out, "leaf").latency.p50, 10ms);
  EXPECT_EQ(facts_about(fan_out, "root").latency.p50, 1s);  // 0.5^(1/100) is over 99 %.
}

TEST(FactsOf, CallsAndOwnershipAreTheScenarios) {
  const Scenario shop = scenario_of(kShop + "ownership: false\n");
  EXPECT_EQ(facts_about(shop, "web").calls, (std::vector<std::string>{"db", "cache"}));
  EXPECT_FALSE(facts_about(shop, "web").ownership);
}

TEST(FactsOf, ThePolicyIsTheOneOfTheRouteWithItsPlaces) {
  const Scenario shop = scenario_of(kShop + "policy: {routes: {db: {timeout: 1s}}}\n");
  const auto routes = facts_of(shop);
  EXPECT_EQ(routes[0].settings.policy.call.timeout, 5s);
  EXPECT_EQ(routes[0].place, (config::SourceLocation{3, 3}));  // The service's.
  EXPECT_EQ(routes[2].settings.policy.call.timeout, 1s);
  EXPECT_EQ(routes[2].place, (config::SourceLocation{12, 19}));
  EXPECT_FALSE(routes[2].places.empty());
}

// A run is one attempt, and at most as many are first ones as there are events.
TEST(FactsOf, ControllersLoadAServiceAndRetryOnTheirOwn) {
  const Scenario fleet = scenario_of(R"(scenario: fleet
services:
  api: {workers: 10, service_time: 10ms, calls: [db]}
  db: {}
controllers:
  pods: {calls: api, count: 50, events: 2, keys: 100, resync: 100s}
policy: {route: {retry_policy: {num_retries: 7}}}
)");
  const auto routes = facts_of(fleet);
  ASSERT_EQ(routes.size(), 2u);
  EXPECT_EQ(routes[0].name, "api");
  EXPECT_EQ(routes[0].settings.policy.call.max_attempts, 1);
  EXPECT_EQ(routes[0].settings.facts->load, 50 * 3);
  EXPECT_EQ(routes[0].settings.facts->clients, 0);
  EXPECT_EQ(routes[1].name, "db");
  EXPECT_EQ(routes[1].settings.policy.call.max_attempts, 8);
  EXPECT_EQ(routes[1].settings.facts->load, 150);
  Scenario limited = fleet;
  limited.controllers[0].rate_limit = 1;
  EXPECT_EQ(facts_about(limited, "api").load, 50);
}

// The sentence of the finding about a variant of a built-in; empty when there is none.
std::string finding(std::string_view builtin, std::size_t variant, policy::Rule rule) {
  const auto scenarios = load_builtin(builtin);
  for (const policy::Finding& found : policy::lint(facts_of((*scenarios)[variant]))) {
    if (found.rule == rule) return found.why;
  }
  return {};
}

TEST(FactsOf, TheLinterFindsTheHiddenCapacityOfTheMetastableDatabase) {
  const auto rule = policy::Rule::load_over_hidden_capacity;
  EXPECT_NE(finding("metastable-db", 0, rule).find("150/s"), std::string::npos)
      << finding("metastable-db", 0, rule);
  EXPECT_EQ(finding("metastable-db", 1, rule), "");
  const auto hidden = policy::Rule::hidden_capacity;
  EXPECT_NE(finding("metastable-db", 1, hidden).find("272.7/s"), std::string::npos)
      << finding("metastable-db", 1, hidden);
}

// 50 workers that wait for 100 ms on average do 500 a second: with the median it was 721.
TEST(FactsOf, TheLinterFindsTheLoadOverAMeanCapacity) {
  const auto rules = [](const std::string& db) {
    const Scenario scenario = scenario_of(
        "{scenario: s, services: {web: {workers: 50, calls: [db]}, db: {service_time: "
        "exponential(100ms)" +
        db + "}}, clients: {app: {calls: web, rate: 600}}, policy: {route: {timeout: 10s}}}");
    std::string said;
    for (const policy::Finding& found : policy::lint(facts_of(scenario))) {
      said += found.route + ' ' + std::string(policy::name(found.rule)) + ": " + found.why + '\n';
    }
    return said;
  };
  EXPECT_NE(rules("").find("web load-over-capacity: the load of 600/s is not under the capacity of "
                           "500/s"),
            std::string::npos)
      << rules("");
  // Beside a queue it is a bound.
  EXPECT_NE(rules(", workers: 40")
                .find("web load-over-capacity: the load is 600/s, retries not "
                      "counted; the capacity is not known, because its workers "
                      "wait for db, where requests may queue; it is at most "
                      "500/s"),
            std::string::npos)
      << rules(", workers: 40");
}

TEST(FactsOf, TheLinterSaysWhichCapacityIsNotKnown) {
  const Scenario scenario = scenario_of(
      "{scenario: s, services: {web: {workers: 50, calls: [db]}, db: {workers: 40, service_time: "
      "exponential(100ms)}}, clients: {app: {calls: web, rate: 100}}}");
  for (const policy::Finding& found : policy::lint(facts_of(scenario))) {
    if (found.rule != policy::Rule::capacity_unknown) continue;
    EXPECT_EQ(found.route, "web");
    EXPECT_EQ(found.fix, "find it by simulation: damper lab map");
    return;
  }
  FAIL();
}

TEST(FactsOf, TheLinterFindsTheLayersThatMultiply) {
  const auto rule = policy::Rule::layered_retries;
  EXPECT_EQ(finding("layers", 0, rule), "");  // One layer owns the retries.
  EXPECT_NE(finding("layers", 1, rule).find("27"), std::string::npos) << finding("layers", 1, rule);
}

}  // namespace
}  // namespace damper::lab
