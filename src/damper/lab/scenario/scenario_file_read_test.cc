#include "damper/lab/scenario/scenario_file.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

Expected<Scenario, config::Error> read(const std::string& yaml) {
  const auto tree = config::parse_yaml(yaml, "s.yaml");
  EXPECT_TRUE(tree) << to_string(tree.error());
  return read_scenario(*tree, "s.yaml");
}

std::string error_of(const std::string& yaml) {
  const auto scenario = read(yaml);
  return scenario ? "ok" : to_string(scenario.error());
}

// The error in a scenario with one more line, the fourth.
std::string error_with(const std::string& line) {
  return error_of("scenario: s\nservices: {db: {}}\nclients: {app: {calls: db, rate: 1}}\n" + line);
}

TEST(ScenarioRead, EveryPartReachesItsField) {
  const auto scenario = read(R"(scenario: s
about: words
length: 1m
bucket: 200ms
ownership: false
deadlines_travel: false
services:
  api:
    replicas: 3
    queue: lifo
    limit: on
    calls: [db, {service: cache, times: 4}]
  db:
    queue: {discipline: shed, bound: 9, target: 2ms, interval: 50ms}
    limit: {kind: aimd, min: 2, initial: 3, max: 4}
  cache:
clients:
  app: {calls: api, rate: 5}
  batch: {loop: once, calls: db}
faults:
  - {on: db, kind: down, at: 5s, for: 10s, answer: permanent}
  - {on: app, kind: spike, at: 6s, amount: 2}
policy: {route: {timeout: 9s}}
expect:
  - {measure: success, of: other, at_least: 1, at_most: 2}
map: {load: [1, 2], trigger: {from: 1, to: 3, step: 1}}
)");
  ASSERT_TRUE(scenario) << to_string(scenario.error());
  EXPECT_EQ(scenario->name, "s");
  EXPECT_EQ(scenario->about, "words");
  EXPECT_EQ(scenario->file, "s.yaml");
  EXPECT_EQ(scenario->length, 1min);
  EXPECT_EQ(scenario->bucket, 200ms);
  EXPECT_FALSE(scenario->ownership);
  EXPECT_FALSE(scenario->deadlines_travel);
  ASSERT_EQ(scenario->services.size(), 3U);
  const ServiceSpec& api = scenario->services[0];
  EXPECT_EQ(api.name, "api");
  EXPECT_EQ(api.place, (config::SourceLocation{8, 3}));
  EXPECT_EQ(api.replicas, 3);
  EXPECT_EQ(api.queue, Discipline::lifo);
  EXPECT_TRUE(api.limit);
  ASSERT_EQ(api.calls.size(), 2U);
  EXPECT_EQ(api.calls[0].service, "db");
  EXPECT_EQ(api.calls[0].times, 1);
  EXPECT_EQ(api.calls[0].place, (config::SourceLocation{12, 13}));
  EXPECT_EQ(api.calls[1].service, "cache");
  EXPECT_EQ(api.calls[1].times, 4);
  const ServiceSpec& db = scenario->services[1];
  EXPECT_EQ(db.queue, Discipline::shed);
  EXPECT_EQ(db.queue_bound, 9);
  EXPECT_EQ(db.shed.target, 2ms);
  EXPECT_EQ(db.shed.interval, 50ms);
  ASSERT_TRUE(db.limit);
  EXPECT_EQ(db.limit->kind, admit::LimitKind::aimd);
  EXPECT_EQ(db.limit->max, 4);
  EXPECT_EQ(scenario->services[2].name, "cache");
  EXPECT_FALSE(scenario->services[2].limit);
  ASSERT_EQ(scenario->clients.size(), 2U);
  EXPECT_EQ(scenario->clients[0].calls, "api");
  EXPECT_EQ(scenario->clients[0].calls_place, (config::SourceLocation{18, 16}));
  EXPECT_EQ(scenario->clients[0].rate, 5);
  EXPECT_EQ(scenario->clients[1].loop, Loop::once);
  ASSERT_EQ(scenario->faults.size(), 2U);
  EXPECT_EQ(scenario->faults[0].place, (config::SourceLocation{21, 5}));
  EXPECT_EQ(scenario->faults[0].at, 5s);
  EXPECT_EQ(scenario->faults[0].length, 10s);
  EXPECT_EQ(scenario->faults[0].answer, decide::Outcome::permanent);
  EXPECT_EQ(scenario->faults[1].kind, FaultKind::spike);
  EXPECT_EQ(scenario->faults[1].length, 54s);  // To the end.
  ASSERT_EQ(scenario->policy.routes.size(), 1U);
  EXPECT_EQ(scenario->policy.routes[0].settings.policy.call.timeout, 9s);
  ASSERT_EQ(scenario->expect.size(), 1U);
  EXPECT_EQ(scenario->expect[0].measure, "success");
  EXPECT_EQ(scenario->expect[0].of, "other");
  EXPECT_EQ(scenario->expect[0].at_least, 1);
  EXPECT_EQ(scenario->expect[0].at_most, 2);
  EXPECT_EQ(scenario->map.loads, (std::vector<double>{1, 2}));
  EXPECT_EQ(scenario->map.triggers, (std::vector<double>{1, 2, 3}));
}

TEST(ScenarioRead, AnUnknownKeyIsAnErrorWithTheOneThatWasMeant) {
  EXPECT_EQ(error_with("lenght: 3s"),
            "s.yaml:4:1: unknown key \"lenght\" in the scenario; did you mean length? (accepted: "
            "scenario, about, length, bucket, ownership, deadlines_travel, services, clients, "
            "controllers, faults, policy, variants, expect, map)");
  EXPECT_EQ(error_of("scenario: s\nservices:\n  db: {worker: 3}\n").substr(0, 71),
            "s.yaml:3:8: unknown key \"worker\" in service db; did you mean workers? (");
  EXPECT_EQ(error_of("services:\n  db:\n    queue: {bond: 3}\n"),
            "s.yaml:3:13: unknown key \"bond\" in queue; did you mean bound? "
            "(accepted: discipline, bound, target, interval)");
  EXPECT_EQ(error_of("clients: {app: {colour: red}}").substr(0, 47),
            "s.yaml:1:17: unknown key \"colour\" in clients ap");
  EXPECT_EQ(error_with("faults:\n  - {in: db}").substr(0, 42),
            "s.yaml:5:6: unknown key \"in\" in a fault; d");
  EXPECT_EQ(error_with("expect: [{measures: x}]").substr(0, 70),
            "s.yaml:4:11: unknown key \"measures\" in a promise; did you mean measure");
  EXPECT_EQ(error_with("map: {loads: [1]}"),
            "s.yaml:4:7: unknown key \"loads\" in map; did you mean load? (accepted: length, load, "
            "trigger)");
}

TEST(ScenarioRead, AValueOutsideItsBoundsIsAnError) {
  EXPECT_EQ(error_of("clients:\n  app: {calls: db, rate: -5}"),
            "s.yaml:2:26: rate must be a number from 0.001 to 10000000, not \"-5\"");
  EXPECT_EQ(error_with("length: 25h"),
            "s.yaml:4:9: length must be a duration from 1ms to 24h, such as 250ms, 2s or 1.5m, not "
            "\"25h\"");
  EXPECT_EQ(error_of("services: {db: {queue: last}}"),
            "s.yaml:1:24: queue must be one of fifo, lifo, shed, not \"last\"");
  EXPECT_EQ(error_with("length:"),
            "s.yaml:4:1: length must be a duration from 1ms to 24h, such as "
            "250ms, 2s or 1.5m, not nothing");
}

TEST(ScenarioRead, APartOfTheWrongKindIsAnError) {
  EXPECT_EQ(error_of("- a").substr(0, 62),
            "s.yaml:1:1: the scenario must be a map of keys (accepted: scen");
  EXPECT_EQ(error_of("services: [db]"),
            "s.yaml:1:1: services must be a map from names to services");
  EXPECT_EQ(error_of("services: {}"), "s.yaml:1:1: services must be a map from names to services");
  EXPECT_EQ(error_of("services: {db: 3}").substr(0, 41),
            "s.yaml:1:12: service db must be a map of ");
  EXPECT_EQ(error_of("services: {db: {calls: api}}"),
            "s.yaml:1:17: calls must be a list of services, such as [db] or [{service: db, times: "
            "3}]");
  EXPECT_EQ(error_of("services: {db: {limit: 3}}"),
            "s.yaml:1:24: limit must be on, off or a map of keys, not \"3\"");
  EXPECT_EQ(error_of("services: {db: {queue: [fifo]}}"),
            "s.yaml:1:17: queue must be fifo, lifo, shed or a map of keys");
  EXPECT_EQ(error_with("faults: {on: db}"), "s.yaml:4:1: faults must be a list of faults");
  EXPECT_EQ(error_with("faults: [db]").substr(0, 44),
            "s.yaml:4:10: a fault must be a map of keys (");
  EXPECT_EQ(error_of("services: {'a b': {}}"),
            "s.yaml:1:12: a name must be 1 to 100 letters, digits or . _ -, not \"a b\"");
}

TEST(ScenarioRead, ControllersHaveTheWordsOfAPolicyFile) {
  const auto read = [](const std::string& keys) {
    auto scenario = load_scenario(
        "scenario: s\nservices: {db: }\ncontrollers: {pods: {calls: db, events: 1, " + keys + "}}",
        "s.yaml");
    EXPECT_TRUE(scenario) << to_string(scenario.error());
    return scenario ? scenario->front().controllers.front() : ControllersSpec{};
  };
  const ControllersSpec fresh = read("");
  EXPECT_EQ(fresh.requeue_policy().max_attempts, engine::RequeuePolicy{}.max_attempts);
  EXPECT_FALSE(fresh.requeue_policy().rate);
  EXPECT_EQ(fresh.calls_place, (config::SourceLocation{3, 29}));
  EXPECT_EQ(read("retry_policy: {num_retries: 4}").retries.max_attempts, 5);
  EXPECT_EQ(read("retry_policy: {num_retries: off}").retries.max_attempts, 0);
  const ControllersSpec said = read(
      "timeout: 7s, rate_limit: 9, burst: 3, broken_answer: overload, retry_policy: "
      "{overload_base_interval: 3s, retry_back_off: {jitter: equal, base_interval: 1s, "
      "max_interval: 2s}}, retry_budget: {budget_percent: 12.5, window: 5s, reserve: 7, "
      "min_retries_per_second: 8}");
  const engine::RequeuePolicy policy = said.requeue_policy();
  EXPECT_EQ(policy.timeout, std::chrono::seconds(7));
  EXPECT_EQ(policy.rate->rate_per_second, 9);
  EXPECT_EQ(policy.rate->burst, 3);
  EXPECT_EQ(said.broken_answer, decide::Outcome::overload);
  EXPECT_EQ(policy.backoff.jitter, schedule::Jitter::equal);
  EXPECT_EQ(policy.backoff.base, std::chrono::seconds(1));
  EXPECT_EQ(policy.backoff.cap, std::chrono::seconds(2));
  EXPECT_EQ(policy.overload_base, std::chrono::seconds(2));  // Not over the cap.
  EXPECT_EQ(policy.budget.percent.hundredths(), 1250);
  EXPECT_EQ(policy.budget.window, std::chrono::seconds(5));
  EXPECT_EQ(policy.budget.reserve, 7);
  EXPECT_EQ(policy.budget.min_per_second, 8);
}

TEST(ScenarioRead, AnErrorInControllersSaysWhere) {
  EXPECT_EQ(error_of("controllers: {pods: {key: 3}}").substr(0, 70),
            "s.yaml:1:22: unknown key \"key\" in controllers pods; did you mean keys?");
  EXPECT_EQ(error_of("controllers: {pods: {retry_policy: {retry_back_off: {base: 1s}}}}"),
            "s.yaml:1:54: unknown key \"base\" in retry_policy.retry_back_off "
            "(accepted: jitter, base_interval, max_interval)");
  EXPECT_EQ(error_of("controllers: {pods: {retry_budget: 3}}"),
            "s.yaml:1:22: retry_budget must be a map of keys");
  EXPECT_EQ(error_of("controllers: {pods: {retry_policy: {num_retries: x}}}"),
            "s.yaml:1:50: num_retries must be a whole number from 0 to 999999, or off, not \"x\"");
  EXPECT_EQ(error_of("controllers: {pods: {events: 1}}"),
            "s.yaml:1:15: controllers pods needs the key calls");
}

TEST(ScenarioRead, WhatIsNeededMustBeThere) {
  EXPECT_EQ(error_of("about: x"), "s.yaml:1:1: the scenario needs the key scenario");
  EXPECT_EQ(error_of("scenario: s"), "s.yaml:1:1: the scenario needs the key services");
  EXPECT_EQ(error_of("clients: {app: {rate: 1}}"), "s.yaml:1:11: clients app needs the key calls");
  EXPECT_EQ(error_with("faults: [{on: db}]"), "s.yaml:4:10: a fault needs the key kind");
  EXPECT_EQ(error_with("expect: [{at_most: 1}]"), "s.yaml:4:10: a promise needs the key measure");
  EXPECT_EQ(error_of("services: {db: {calls: [{times: 2}]}}"),
            "s.yaml:1:25: a call needs the key service");
}

TEST(ScenarioRead, APolicyIsReadAsAPolicyFileIsWithItsPlaceInThisFile) {
  EXPECT_EQ(error_with("policy:\n  route:\n    retry_policy: {num_retires: 2}").substr(0, 75),
            "s.yaml:6:20: unknown key \"num_retires\" in retry_policy; did you mean num_re");
  EXPECT_EQ(error_with("policy: {rout: {}}"),
            "s.yaml:4:10: unknown key \"rout\" in policy; did you mean route? (accepted: "
            "route, routes, dependencies, defaults)");
  EXPECT_EQ(error_with("policy:"),
            "s.yaml:4:1: policy is empty (expected: route, routes or dependencies)");
  EXPECT_EQ(error_with("policy: {defaults: {}}"),
            "s.yaml:4:1: policy has no route (expected: route, routes or dependencies)");
  EXPECT_EQ(error_with("policy: 3").substr(0, 42), "s.yaml:4:9: policy must be a map of keys (");
}

TEST(ScenarioRead, EverySizeHasABound) {
  const auto many = [](int count, const std::string& item) {
    std::string text;
    for (int i = 0; i < count; ++i) text += item;
    return text;
  };
  EXPECT_EQ(error_with("faults: [" + many(1000, "{on: db, kind: down},") + "]"), "ok");
  EXPECT_EQ(error_with("faults: [" + many(1001, "{on: db, kind: down},") + "]"),
            "s.yaml:4:1: faults has more than 1000 entries");
  EXPECT_EQ(error_with("expect: [" + many(101, "{measure: success, at_most: 1},") + "]"),
            "s.yaml:4:1: expect has more than 100 entries");
  EXPECT_EQ(error_of("services: {db: {calls: [" + many(101, "a,") + "]}}"),
            "s.yaml:1:17: calls has more than 100 entries");
  std::string services = "services: {";
  for (int i = 0; i <= 100; ++i) services += "s" + std::to_string(i) + ": {},";
  EXPECT_EQ(error_of(services + "}"), "s.yaml:1:1: services has more than 100 entries");
  std::string clients = "clients: {";
  for (int i = 0; i <= 100; ++i) clients += "c" + std::to_string(i) + ": {calls: s},";
  EXPECT_EQ(error_of(clients + "}"), "s.yaml:1:1: clients has more than 100 entries");
}

}  // namespace
}  // namespace damper::lab
