#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "damper/base/random.h"
#include "damper/lab/world/world_testing.h"

namespace damper::lab {

// Worlds of all kinds, small ones, for properties that hold in every world. One draw in each
// statement or in each part of a braced list: the order of a function's arguments is the
// compiler's.
class RandomScenario {
 public:
  explicit RandomScenario(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] Scenario make() {
    Scenario scenario;
    scenario.name = "random";
    scenario.length = milliseconds(1500, 3000);
    scenario.bucket = milliseconds(10, 300);
    scenario.ownership = chance(0.7);
    scenario.deadlines_travel = chance(0.7);
    const std::int32_t services = whole(1, 4);
    for (std::int32_t i = 0; i < services; ++i) {
      scenario.services.push_back(make_service(i, services));
      if (chance(0.8)) set_policy(scenario, scenario.services.back().name, make_policy());
    }
    const std::int32_t groups = whole(1, 3);
    for (std::int32_t i = 0; i < groups; ++i) {
      scenario.clients.push_back(make_clients(i, services));
    }
    const std::int32_t faults = whole(0, 5);
    for (std::int32_t i = 0; i < faults; ++i) add_fault(scenario);
    return scenario;
  }

  // Puts controllers into a world, beside its clients or in their place.
  void add_controllers(Scenario& scenario) {
    const auto services = static_cast<std::int32_t>(scenario.services.size());
    const std::int32_t groups = whole(1, 2);
    for (std::int32_t i = 0; i < groups; ++i) {
      scenario.controllers.push_back(make_controllers(i, services));
    }
    if (!chance(0.3)) return;
    scenario.clients.clear();
    std::erase_if(scenario.faults,
                  [](const FaultSpec& fault) { return fault.kind == FaultKind::spike; });
  }

 private:
  [[nodiscard]] bool chance(double share) { return random_.draw() < share; }
  [[nodiscard]] std::int32_t whole(std::int32_t low, std::int32_t high) {
    return low + static_cast<std::int32_t>(random_.draw() * (high - low + 1));
  }
  [[nodiscard]] Duration milliseconds(std::int32_t low, std::int32_t high) {
    return std::chrono::milliseconds(whole(low, high));
  }
  template <class Enum>
  [[nodiscard]] Enum one_of(std::int32_t count) {
    return static_cast<Enum>(whole(0, count - 1));
  }
  [[nodiscard]] std::string name(std::int32_t number) { return "s" + std::to_string(number); }

  [[nodiscard]] Distribution make_time(std::int32_t most) {
    switch (whole(0, 4)) {
      case 0: return {};
      case 1: return Distribution::constant(milliseconds(0, most));
      case 2: return Distribution::uniform(Duration{0}, milliseconds(1, most));
      case 3:
        return Distribution::pareto(milliseconds(1, most), 1.5,
                                    std::chrono::milliseconds(20 * most));
      default: return Distribution::exponential(milliseconds(1, most));
    }
  }

  [[nodiscard]] ServiceSpec make_service(std::int32_t number, std::int32_t services) {
    ServiceSpec spec = service(name(number));
    spec.service_time = make_time(20);
    if (!chance(0.2)) spec.workers = whole(1, 6);
    spec.replicas = whole(1, 3);
    spec.balance = one_of<Balance>(3);
    spec.queue = one_of<Discipline>(3);
    spec.queue_bound = whole(spec.queue == Discipline::shed ? 1 : 0, 40);
    if (chance(0.2)) spec.grain = milliseconds(1, 5);
    if (chance(0.2)) spec.per_request = std::chrono::microseconds(whole(1, 500));
    if (chance(0.3)) spec.handover = std::chrono::microseconds(whole(1, 3000));
    if (chance(0.2)) spec.fails_after = milliseconds(10, 500);
    if (chance(0.3)) {
      spec.limit.emplace().kind = one_of<admit::LimitKind>(4);
      spec.limit->initial = whole(1, 30);
      spec.limit->min = 1;
    }
    if (chance(0.2)) spec.refusal = decide::Outcome::unavailable;
    if (chance(0.3)) spec.errors = random_.draw() / 4;
    if (chance(0.3)) spec.correlation = random_.draw();
    spec.optimistic = chance(0.2);
    spec.heeds_deadline = chance(0.5);
    spec.heeds_cancel = chance(0.5);
    spec.network = make_time(10);
    if (chance(0.3)) spec.loss = random_.draw() / 4;
    for (std::int32_t other = number + 1; other < services; ++other) {
      if (chance(0.5)) spec.calls.push_back({.service = name(other), .times = whole(1, 3)});
    }
    return spec;
  }

  [[nodiscard]] engine::Policy make_policy() {
    engine::Policy policy;
    policy.call.timeout = milliseconds(50, 2000);
    if (chance(0.5)) policy.call.per_try_timeout = milliseconds(5, 300);
    policy.call.max_attempts = whole(1, 4);
    policy.call.backoff = {.jitter = one_of<schedule::Jitter>(4),
                           .base = milliseconds(1, 50),
                           .cap = milliseconds(50, 500)};
    policy.call.adaptive_timeout.on = chance(0.2);
    if (chance(0.3)) {
      policy.call.hedge.max_hedges = whole(1, 3);
      policy.call.hedge.min_samples = 5;
      policy.call.hedge.ratio = Percent(50);
    }
    if (chance(0.5)) policy.budget = {.percent = Percent(500), .reserve = 100};
    if (chance(0.3)) {
      policy.breaker.emplace().consecutive_failures = whole(1, 10);
      policy.breaker->open_base = milliseconds(20, 200);
      policy.breaker->open_cap = milliseconds(200, 1000);
    }
    if (chance(0.2)) policy.throttle.emplace();
    if (chance(0.3)) policy.limit.emplace();
    return policy;
  }

  [[nodiscard]] ClientsSpec make_clients(std::int32_t number, std::int32_t services) {
    ClientsSpec spec;
    spec.name = "c" + std::to_string(number);
    spec.calls = name(whole(0, services - 1));
    spec.count = whole(1, 20);
    spec.processes = whole(1, spec.count);
    spec.loop = chance(0.6) ? Loop::open : one_of<Loop>(3);
    if (spec.loop == Loop::open) {
      spec.arrivals = one_of<Pattern>(5);
      if (spec.arrivals == Pattern::poisson || spec.arrivals == Pattern::metered) {
        spec.rate = 1 + random_.draw() * 200;
      } else {
        spec.every = milliseconds(50, 500);
      }
      spec.burst = whole(1, 20);
    }
    spec.think = make_time(100);
    spec.first = make_time(100);
    if (chance(0.3)) spec.until = milliseconds(500, 2000);
    if (chance(0.5)) spec.deadline = milliseconds(5, 500);
    spec.idempotent = chance(0.8);
    spec.criticality = one_of<admit::Criticality>(4);
    if (chance(0.2)) spec.gives_up = random_.draw();
    if (chance(0.2)) spec.gives_up_over = random_.draw();
    if (chance(0.2)) spec.bucket = whole(1, 20);
    return spec;
  }

  [[nodiscard]] ControllersSpec make_controllers(std::int32_t number, std::int32_t services) {
    ControllersSpec spec;
    spec.name = "k" + std::to_string(number);
    spec.calls = name(whole(0, services - 1));
    spec.count = whole(1, 5);
    spec.workers = whole(1, 5);
    spec.keys = whole(1, 30);
    spec.events = 1 + random_.draw() * 100;
    spec.hot_keys = whole(0, spec.keys);
    if (spec.hot_keys > 0) spec.hot_share = random_.draw();
    if (chance(0.5)) spec.broken_keys = whole(0, spec.keys);
    if (chance(0.3)) spec.broken_answer = decide::Outcome::overload;
    if (chance(0.1)) spec.broken_answer = decide::Outcome::permanent;
    if (chance(0.3)) spec.resync = milliseconds(100, 2000);
    spec.coalesce = chance(0.7);
    if (chance(0.3)) spec.rate_limit = 1 + random_.draw() * 100;
    spec.burst = whole(1, 20);
    spec.retries.timeout = milliseconds(5, 1000);
    spec.retries.max_attempts = whole(0, 6);
    spec.retries.backoff = {.jitter = one_of<schedule::Jitter>(4),
                            .base = milliseconds(1, 20),
                            .cap = milliseconds(20, 500)};
    if (chance(0.5)) spec.retries.budget.min_per_second = whole(0, 100);
    return spec;
  }

  void add_fault(Scenario& scenario) {
    FaultSpec spec;
    spec.kind = one_of<FaultKind>(7);
    spec.at = chance(0.2) ? Duration{0} : milliseconds(0, 1400);
    spec.length = chance(0.2) ? scenario.length - spec.at : milliseconds(1, 2000);
    if (spec.kind == FaultKind::spike) {
      const ClientsSpec& clients = scenario.clients[0];
      if (clients.rate <= 0) return;
      spec.on = clients.name;
      spec.amount = 0.5 + random_.draw() * 5;
    } else {
      const auto at = static_cast<std::size_t>(
          whole(0, static_cast<std::int32_t>(scenario.services.size()) - 1));
      const ServiceSpec& service = scenario.services[at];
      if (spec.kind == FaultKind::capacity && service.workers == 0) return;
      spec.on = service.name;
      spec.amount = spec.kind == FaultKind::slow ? 0.1 + random_.draw() * 20 : random_.draw();
      if (spec.kind == FaultKind::capacity && chance(0.5)) spec.amount = 0;
      // A share that leaves all workers is refused.
      if (spec.kind == FaultKind::capacity && spec.amount * service.workers > service.workers - 1) {
        spec.amount = 0;
      }
      if (spec.kind == FaultKind::slow && chance(0.3)) spec.requests = whole(1, 100);
      if (chance(0.3)) spec.replicas = {whole(0, service.replicas - 1)};
      if (chance(0.3)) spec.answer = decide::Outcome::unavailable;
      if (chance(0.2)) spec.answer = decide::Outcome::overload;
    }
    scenario.faults.push_back(spec);
  }

  Random random_;
};

}  // namespace damper::lab
