#include "damper/lab/scenario/scenario.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

// Clients app call api, which calls db.
Scenario shop() {
  Scenario scenario;
  scenario.name = "shop";
  scenario.file = "shop.yaml";
  ServiceSpec api;
  api.name = "api";
  api.place = {3, 1};
  api.calls.push_back({.service = "db", .place = {4, 1}});
  ServiceSpec db;
  db.name = "db";
  db.place = {5, 1};
  db.workers = 4;
  scenario.services = {api, db};
  ClientsSpec app;
  app.name = "app";
  app.place = {6, 1};
  app.calls = "api";
  app.calls_place = {6, 9};
  app.rate = 10;
  scenario.clients = {app};
  return scenario;
}

// The error once `change` was made to the shop, or "ok".
template <class Change>
std::string error_after(Change change) {
  Scenario scenario = shop();
  change(scenario);
  const auto error = find_error(scenario);
  return error ? to_string(*error) : "ok";
}

FaultSpec fault(FaultKind kind, std::string on) {
  FaultSpec spec;
  spec.kind = kind;
  spec.place = {7, 1};
  spec.on = std::move(on);
  spec.at = 1s;
  spec.length = 1s;
  return spec;
}

TEST(Scenario, TheTitleHasTheVariant) {
  Scenario scenario = shop();
  EXPECT_EQ(scenario.title(), "shop");
  scenario.variant = "naive";
  EXPECT_EQ(scenario.title(), "shop/naive");
}

TEST(Scenario, NamesAreFound) {
  const Scenario scenario = shop();
  EXPECT_EQ(scenario.find_service("db"), 1U);
  EXPECT_EQ(scenario.find_service("app"), std::nullopt);
  EXPECT_EQ(scenario.find_clients("app"), 0U);
  EXPECT_EQ(scenario.find_clients("db"), std::nullopt);
}

Duration timeout_of(const std::string& policy, std::string_view service) {
  Scenario scenario = shop();
  if (!policy.empty()) scenario.policy = *policy::load(policy, "p.yaml");
  return scenario.policy_for(service).call.timeout;
}

TEST(Scenario, ThePolicyOfAServiceIsItsRouteOrTheOnlyOne) {
  EXPECT_EQ(timeout_of("", "db"), 5s);  // The built-in default.
  EXPECT_EQ(timeout_of("route: {timeout: 1s}", "db"), 1s);
  EXPECT_EQ(timeout_of("routes: {db: {timeout: 1s}, api: {timeout: 2s}}", "api"), 2s);
  EXPECT_EQ(timeout_of("routes: {db: {timeout: 1s}}", "api"), 5s);        // It is db's.
  EXPECT_EQ(timeout_of("routes: {checkout: {timeout: 1s}}", "api"), 1s);  // It is nobody's.
  EXPECT_EQ(timeout_of("routes: {a: {timeout: 1s}, b: {timeout: 2s}}", "api"), 5s);
}

TEST(Scenario, OneThatCanBePlayedHasNoError) {
  EXPECT_EQ(error_after([](Scenario&) {}), "ok");
}

TEST(Scenario, ServicesThatAreCalledMustBeThere) {
  EXPECT_EQ(error_after([](Scenario& s) { s.services[0].calls[0].service = "dbb"; }),
            "shop.yaml:4:1: service api: there is no service \"dbb\"; did you mean db? (accepted: "
            "api, db)");
  EXPECT_EQ(error_after([](Scenario& s) { s.clients[0].calls = "apis"; }),
            "shop.yaml:6:9: clients app: there is no service \"apis\"; did you mean api? "
            "(accepted: api, db)");
}

TEST(Scenario, ServicesMayNotCallEachOtherInACircle) {
  EXPECT_EQ(error_after([](Scenario& s) {
              s.services[1].calls.push_back({.service = "api", .place = {5, 9}});
            }),
            "shop.yaml:5:9: services call each other in a circle: api -> db -> api");
  EXPECT_EQ(error_after([](Scenario& s) {
              s.services[1].calls.push_back({.service = "db", .place = {5, 9}});
            }),
            "shop.yaml:5:9: services call each other in a circle: db -> db");
  EXPECT_EQ(error_after([](Scenario& s) {  // Two ways to the same service are none.
              ServiceSpec cache;
              cache.name = "cache";
              cache.calls.push_back({.service = "db"});
              s.services.push_back(cache);
              s.services[0].calls.push_back({.service = "cache"});
            }),
            "ok");
}

TEST(Scenario, ARequestMayNotCauseTooManyCalls) {
  EXPECT_EQ(error_after([](Scenario& s) { s.services[0].calls[0].times = 10'000; }), "ok");
  const auto layers = [](std::int32_t times) {
    return error_after([&](Scenario& s) {
      ServiceSpec disk;
      disk.name = "disk";
      s.services.push_back(disk);
      s.services[0].calls[0].times = 10'000;
      s.services[1].calls.push_back({.service = "disk", .place = {5, 9}, .times = times});
    });
  };
  EXPECT_EQ(layers(9), "ok");  // 10,000 * (1 + 9)
  EXPECT_EQ(layers(10), "shop.yaml:4:1: a request to api causes more than 100000 calls");
}

TEST(Scenario, NamesAreThereAndDiffer) {
  EXPECT_EQ(error_after([](Scenario& s) { s.services[1].name = "api"; }),
            "shop.yaml:1:1: two services are called \"api\"");
  EXPECT_EQ(error_after([](Scenario& s) { s.services[1].name = "a/b"; }),
            "shop.yaml:5:1: a name must be 1 to 100 letters, digits or . _ -, not \"a/b\"");
  EXPECT_EQ(error_after([](Scenario& s) { s.services.clear(); }),
            "shop.yaml:1:1: the scenario must have 1 to 100 services, not 0");
  EXPECT_EQ(error_after([](Scenario& s) { s.clients.clear(); }),
            "shop.yaml:1:1: the scenario needs clients, controllers or both");
}

// What is wrong with a shop that has these controllers, for each thing that can be.
TEST(Scenario, ControllersAreHeldToWhatTheyNeed) {
  const auto error_with = [](const std::function<void(ControllersSpec&)>& change) {
    return error_after([&](Scenario& s) {
      ControllersSpec spec;
      spec.name = "pods";
      spec.place = {9, 1};
      spec.calls = "db";
      spec.calls_place = {9, 7};
      spec.events = 1;
      change(spec);
      s.clients.clear();
      s.faults.clear();
      s.controllers = {spec};
    });
  };
  EXPECT_EQ(error_with([](ControllersSpec&) {}), "ok");
  EXPECT_EQ(error_with([](ControllersSpec& c) { c.calls = "dbb"; }),
            "shop.yaml:9:7: controllers pods: there is no service \"dbb\"; did you mean db? "
            "(accepted: api, db)");
  EXPECT_EQ(error_with([](ControllersSpec& c) { c.events = 0; }),
            "shop.yaml:9:1: controllers pods: they need the key events, resync or both");
  EXPECT_EQ(error_with([](ControllersSpec& c) { c.events = 0, c.resync = 1s; }), "ok");
  EXPECT_EQ(error_with([](ControllersSpec& c) { c.hot_keys = 101; }),
            "shop.yaml:9:1: controllers pods: hot_keys (101) must be at most keys (100)");
  EXPECT_EQ(error_with([](ControllersSpec& c) { c.broken_keys = 101; }),
            "shop.yaml:9:1: controllers pods: broken_keys (101) must be at most keys (100)");
  EXPECT_EQ(error_with([](ControllersSpec& c) { c.hot_share = 0.5; }),
            "shop.yaml:9:1: controllers pods: hot_share needs the key hot_keys");
  EXPECT_EQ(error_with([](ControllersSpec& c) { c.retries.backoff.cap = 1ms; }),
            "shop.yaml:9:1: controllers pods: base_interval is 5ms; it must be at most "
            "max_interval, which is 1ms");
  EXPECT_EQ(
      error_with([](ControllersSpec& c) { c.workers = 0; }),
      "shop.yaml:9:1: controllers pods: workers must be a whole number from 1 to 1000, not 0");
  EXPECT_EQ(error_with([](ControllersSpec& c) { c.count = 20'000, c.keys = 501; }),
            "shop.yaml:9:1: there are more than 10000000 keys of all controllers together");
  EXPECT_EQ(error_with([](ControllersSpec& c) { c.name = "a/b"; }),
            "shop.yaml:9:1: a name must be 1 to 100 letters, digits or . _ -, not \"a/b\"");
}

TEST(Scenario, EveryValueIsHeldToItsBounds) {
  EXPECT_EQ(error_after([](Scenario& s) { s.services[1].replicas = 0; }),
            "shop.yaml:5:1: service db: replicas must be a whole number from 1 to 10000, not 0");
  EXPECT_EQ(error_after([](Scenario& s) { s.clients[0].rate = -1; }),
            "shop.yaml:6:1: clients app: rate must be a number from 0.001 to 10000000, not -1");
  EXPECT_EQ(error_after([](Scenario& s) {
              s.services[1].errors = std::numeric_limits<double>::quiet_NaN();
            }),
            "shop.yaml:5:1: service db: errors must be a share from 0 to 1, such as 0.1 or 10%, "
            "not nan");
  EXPECT_EQ(error_after([](Scenario& s) { s.length = 0s; }).substr(0, 59),
            "shop.yaml:1:1: the scenario: length must be a duration from");
  EXPECT_EQ(error_after([](Scenario& s) { s.services[0].calls[0].times = 0; }),
            "shop.yaml:4:1: service api: times must be a whole number from 1 to 10000, not 0");
}

TEST(Scenario, ARunHasABoundOnWhatItRecords) {
  EXPECT_EQ(error_after([](Scenario& s) { s.length = 24h; }), "ok");  // 3 * 864,000 buckets
  EXPECT_EQ(error_after([](Scenario& s) {
              s.length = 24h;
              s.bucket = 10ms;
            }),
            "shop.yaml:1:1: a run of 24h has too many buckets of 10ms: make bucket at least 65ms");
  EXPECT_EQ(error_after([](Scenario& s) {
              s.length = 24h;
              s.bucket = 65ms;
            }),
            "ok");
}

TEST(Scenario, AQueueAndALimitAreThoseOfTheEngine) {
  const auto shed = [](std::int32_t bound) {
    return error_after([&](Scenario& s) {
      s.services[1].queue = Discipline::shed;
      s.services[1].queue_bound = bound;
    });
  };
  EXPECT_EQ(shed(1'000'000), "ok");
  EXPECT_EQ(shed(1'000'001).substr(0, 34), "shop.yaml:5:1: service db: queue: ");
  EXPECT_EQ(error_after([](Scenario& s) {
              s.services[1].limit = {.initial = 5, .min = 6};
            }).substr(0, 34),
            "shop.yaml:5:1: service db: limit: ");
}

TEST(Scenario, AProcessHasAClient) {
  EXPECT_EQ(error_after([](Scenario& s) { s.clients[0].processes = 2; }),
            "shop.yaml:6:1: clients app: processes (2) must be at most count (1)");
}

TEST(Scenario, ArrivalsNeedTheirKeyAndNoOther) {
  const auto clients = [](Loop loop, Pattern arrivals, double rate, Duration every) {
    const std::string error = error_after([&](Scenario& s) {
      s.clients[0].loop = loop;
      s.clients[0].arrivals = arrivals;
      s.clients[0].rate = rate;
      s.clients[0].every = every;
    });
    return error == "ok" ? error : error.substr(28);
  };
  EXPECT_EQ(clients(Loop::open, Pattern::poisson, 0, 0s), "poisson arrivals need the key rate");
  EXPECT_EQ(clients(Loop::open, Pattern::metered, 1, 0s), "ok");
  EXPECT_EQ(clients(Loop::open, Pattern::metered, 1, 1s), "every is not for metered arrivals");
  EXPECT_EQ(clients(Loop::open, Pattern::constant, 0, 0s), "constant arrivals need the key every");
  EXPECT_EQ(clients(Loop::open, Pattern::spread, 0, 1s), "ok");
  EXPECT_EQ(clients(Loop::open, Pattern::bursts, 0, 1s), "ok");
  EXPECT_EQ(clients(Loop::open, Pattern::bursts, 1, 1s), "rate is not for bursts arrivals");
  EXPECT_EQ(clients(Loop::closed, Pattern::poisson, 1, 0s), "rate is not for a closed loop");
  EXPECT_EQ(clients(Loop::once, Pattern::constant, 0, 1s), "every is not for a once loop");
  EXPECT_EQ(clients(Loop::once, Pattern::poisson, 0, 0s), "ok");
}

// The error of a fault, without its beginning.
template <class Change>
std::string fault_error(FaultKind kind, std::string on, Change change) {
  const std::string error = error_after([&](Scenario& s) {
    s.faults.push_back(fault(kind, on));
    change(s.faults[0]);
  });
  return error == "ok" ? error : error.substr(15);
}
std::string fault_error(FaultKind kind, std::string on) {
  return fault_error(kind, std::move(on), [](FaultSpec&) {});
}

TEST(Scenario, AFaultHappensToSomethingThatIsThere) {
  for (std::size_t kind = 0; kind + 1 < kFaultNames.size(); ++kind) {
    EXPECT_EQ(fault_error(static_cast<FaultKind>(kind), "db"), "ok") << kFaultNames[kind];
    EXPECT_EQ(fault_error(static_cast<FaultKind>(kind), "app"),
              "fault " + std::string(kFaultNames[kind]) +
                  ": there is no service \"app\"; did you mean api? (accepted: api, db)");
  }
  EXPECT_EQ(fault_error(FaultKind::spike, "app"), "ok");
  EXPECT_EQ(fault_error(FaultKind::spike, "db"),
            "fault spike: there is no group of clients \"db\" (accepted: app)");
}

TEST(Scenario, AFaultHappensWithinTheRun) {
  EXPECT_EQ(fault_error(FaultKind::down, "db", [](FaultSpec& f) { f.at = 30s; }),
            "fault down: it begins at 30s, after the end of the run (30s)");
  EXPECT_EQ(fault_error(FaultKind::down, "db", [](FaultSpec& f) { f.at = 30s - 1ns; }), "ok");
  EXPECT_EQ(fault_error(FaultKind::down, "db", [](FaultSpec& f) { f.length = 0s; }),
            "fault down: it has no length");
}

TEST(Scenario, TheAmountOfAFaultIsOfItsKind) {
  const auto amount = [](FaultKind kind, double value) {
    return fault_error(kind, kind == FaultKind::spike ? "app" : "db",
                       [&](FaultSpec& f) { f.amount = value; });
  };
  EXPECT_EQ(amount(FaultKind::errors, 1.5),
            "fault errors: amount is 1.5; it must be a share from 0 to 1");
  EXPECT_EQ(amount(FaultKind::capacity, 1.5),
            "fault capacity: amount is 1.5; it must be a share from 0 to 1");
  EXPECT_EQ(amount(FaultKind::capacity, 0), "ok");
  EXPECT_EQ(amount(FaultKind::slow, 0),
            "fault slow: amount is 0; it must be a factor from 0.001 to 1000");
  EXPECT_EQ(amount(FaultKind::spike, 0),
            "fault spike: amount is 0; it must be a factor from 0.001 to 1000");
  EXPECT_EQ(amount(FaultKind::slow, 1000), "ok");
}

TEST(Scenario, WhatAFaultCannotDoIsAnError) {
  EXPECT_EQ(fault_error(FaultKind::down, "db", [](FaultSpec& f) { f.requests = 5; }),
            "fault down: requests is for the kind slow alone");
  EXPECT_EQ(fault_error(FaultKind::slow, "db", [](FaultSpec& f) { f.requests = 5; }), "ok");
  EXPECT_EQ(fault_error(FaultKind::down, "db",
                        [](FaultSpec& f) {
                          f.replicas = {0, 1};
                        }),
            "fault down: db has no replica 1: they count from 0 to 0");
  EXPECT_EQ(fault_error(FaultKind::spike, "app", [](FaultSpec& f) { f.replicas = {0}; }),
            "fault spike: clients have no replicas");
  EXPECT_EQ(fault_error(FaultKind::capacity, "api"),
            "fault capacity: api has a worker for every request");
  const auto cut = [](std::int32_t workers, double amount) {
    const std::string error = error_after([&](Scenario& s) {
      s.services[1].workers = workers;  // db
      s.faults.push_back(fault(FaultKind::capacity, "db"));
      s.faults.back().amount = amount;
    });
    const std::size_t at = error.find("fault capacity");
    return at == std::string::npos ? error : error.substr(at);
  };
  EXPECT_EQ(
      cut(1, 0.2),
      "fault capacity: amount is 0.2, which leaves all 1 workers of db, since they are rounded "
      "up; use 0, or slow for a slower one");
  EXPECT_EQ(cut(1, 0), "ok");
  EXPECT_EQ(cut(1, 1), "ok");
  EXPECT_EQ(cut(5, 0.8), "ok");
  EXPECT_NE(cut(5, 0.9), "ok");
  EXPECT_EQ(error_after([](Scenario& s) {
              s.clients[0].arrivals = Pattern::constant;
              s.clients[0].rate = 0;
              s.clients[0].every = 1s;
              s.faults.push_back(fault(FaultKind::spike, "app"));
            }),
            "shop.yaml:7:1: fault spike: it needs clients with poisson or metered arrivals");
}

TEST(Scenario, APromiseHasAMeasureAndABound) {
  const auto promise = [](std::string measure, std::optional<double> least,
                          std::optional<double> most) {
    return error_after([&](Scenario& s) {
      s.expect.push_back({.measure = measure, .place = {8, 1}, .at_least = least, .at_most = most});
    });
  };
  EXPECT_EQ(promise("success", 1, 1), "ok");
  EXPECT_EQ(promise("success", {}, {}), "shop.yaml:8:1: a promise needs at_least, at_most or both");
  EXPECT_EQ(promise("success", 2, 1), "shop.yaml:8:1: no number is at_least and at_most that");
  EXPECT_EQ(promise("sucess", 1, {}).substr(0, 82),
            "shop.yaml:8:1: a promise: there is no measure \"sucess\"; did you mean success? (acc");
}

TEST(Scenario, ThereIsABoundOnFaultsCallsAndPromises) {
  EXPECT_EQ(error_after([](Scenario& s) { s.faults.resize(1001, fault(FaultKind::down, "db")); }),
            "shop.yaml:1:1: the scenario has more than 1000 faults");
  EXPECT_EQ(error_after(
                [](Scenario& s) { s.expect.resize(101, {.measure = "success", .at_least = 1.0}); }),
            "shop.yaml:1:1: the scenario has more than 100 promises");
  EXPECT_EQ(error_after([](Scenario& s) { s.services[0].calls.resize(101, {.service = "db"}); }),
            "shop.yaml:3:1: service api makes more than 100 calls");
}

TEST(Scenario, WhatIsTooMuchTogetherIsRefused) {
  Scenario scenario;
  scenario.name = "large";
  scenario.services.push_back({.name = "db"});
  scenario.clients.push_back(
      {.name = "app", .calls = "db", .count = 10'000'000, .processes = 20'000, .rate = 1});
  EXPECT_EQ(find_error(scenario), std::nullopt);
  scenario.services.push_back({.name = "web", .calls = {{.service = "db"}}});
  EXPECT_EQ(find_error(scenario)->sentence,
            "there are more than 20000 processes, controllers and calling replicas, each with a "
            "budget of its "
            "own; let more clients share a process");
  scenario.services.pop_back();
  scenario.clients.push_back(scenario.clients[0]);
  scenario.clients[1].name = "more";
  scenario.clients[0].processes = scenario.clients[1].processes = 1;
  EXPECT_EQ(find_error(scenario), std::nullopt);
  scenario.clients.push_back(scenario.clients[0]);
  scenario.clients[2].name = "most";
  EXPECT_EQ(find_error(scenario)->sentence,
            "there are more than 20000000 clients in all groups together");
}

}  // namespace
}  // namespace damper::lab
