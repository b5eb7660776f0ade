#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/check.h"
#include "damper/lab/scenario/scenario.h"
#include "damper/lab/world/world.h"

namespace damper::lab {

// Small worlds for tests: a service `db`, clients `users` that call it, 10 s.

inline ServiceSpec service(std::string name, Distribution service_time = {},
                           std::int32_t workers = 0) {
  ServiceSpec spec;
  spec.name = std::move(name);
  spec.service_time = service_time;
  spec.workers = workers;
  return spec;
}

inline ClientsSpec poisson(double rate, std::string calls = "db") {
  ClientsSpec spec;
  spec.name = "users";
  spec.calls = std::move(calls);
  spec.rate = rate;
  return spec;
}

// `count` clients, each with one request, all at once.
inline ClientsSpec at_once(std::int32_t count, std::string calls = "db") {
  ClientsSpec spec;
  spec.name = "users";
  spec.calls = std::move(calls);
  spec.count = count;
  spec.loop = Loop::once;
  return spec;
}

inline Distribution takes(Duration time) { return Distribution::constant(time); }

// One request at that time.
inline ClientsSpec one_at(Duration time, std::string name, Duration deadline = kForever,
                          std::string calls = "db") {
  ClientsSpec spec = at_once(1, std::move(calls));
  spec.name = std::move(name);
  spec.first = takes(time);
  spec.deadline = deadline;
  return spec;
}

inline ClientsSpec closed(std::int32_t count, Distribution think = {}, std::string calls = "db") {
  ClientsSpec spec = at_once(count, std::move(calls));
  spec.loop = Loop::closed;
  spec.think = think;
  return spec;
}

inline FaultSpec fault(FaultKind kind, Duration at, Duration length, double amount = 1,
                       std::string on = "db") {
  FaultSpec spec;
  spec.kind = kind;
  spec.on = std::move(on);
  spec.at = at;
  spec.length = length;
  spec.amount = amount;
  return spec;
}

inline Scenario world_of(std::vector<ServiceSpec> services, std::vector<ClientsSpec> clients,
                         std::vector<FaultSpec> faults = {}) {
  Scenario scenario;
  scenario.name = "test";
  scenario.length = std::chrono::seconds(10);
  scenario.services = std::move(services);
  scenario.clients = std::move(clients);
  scenario.faults = std::move(faults);
  return scenario;
}

// Calls to the service are made under this policy.
inline void set_policy(Scenario& scenario, std::string service, const engine::Policy& policy) {
  policy::Route route;
  route.name = std::move(service);
  route.settings.policy = policy;
  scenario.policy.routes.push_back(std::move(route));
}

// At most `attempts` attempts, without backoff, and a budget that does not matter.
inline engine::Policy eager(std::int32_t attempts, Duration per_try = Duration{0}) {
  engine::Policy policy;
  policy.call.timeout = std::chrono::hours(1);
  policy.call.per_try_timeout = per_try;
  policy.call.max_attempts = attempts;
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = Duration{1}, .cap = Duration{1}};
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  return policy;
}

// A world in which nothing is tried twice.
inline Scenario tried_once(std::vector<ServiceSpec> services, std::vector<ClientsSpec> clients,
                           std::vector<FaultSpec> faults = {}) {
  Scenario scenario = world_of(std::move(services), std::move(clients), std::move(faults));
  for (const ServiceSpec& spec : scenario.services) set_policy(scenario, spec.name, eager(1));
  return scenario;
}

// Plays a scenario that has no error.
inline Record played(const Scenario& scenario, std::uint64_t seed = 1) {
  DAMPER_CHECK(!find_error(scenario));
  return play(scenario, {.seed = seed});
}

inline std::uint64_t count(const Record& record, Verdict verdict) {
  return record.clients[0].verdicts[static_cast<std::size_t>(verdict)];
}

}  // namespace damper::lab
