#include "damper/lab/matrix/defences.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

constexpr double kRetries = 0.10;  // the default retry budget
constexpr double kHedges = 0.05;   // the default ratio of hedges; a hedged call may also be retried

engine::Policy& policy_of(Scenario& scenario) {
  return scenario.policy.routes.front().settings.policy;
}

void add_retries(Scenario& scenario) { policy_of(scenario).call.max_attempts = 3; }

void add_breaker(Scenario& scenario) { policy_of(scenario).breaker.emplace(); }

void add_slow_breaker(Scenario& scenario) {
  policy_of(scenario).breaker = {
      .failure_rate = Percent(100), .slow_call_rate = Percent(50), .slow_call_duration = 1s};
}

void add_row_breaker(Scenario& scenario) {
  policy_of(scenario).breaker = {.failure_rate = Percent(100), .consecutive_failures = 10};
}

template <admit::LimitKind kind>
void add_limit(Scenario& scenario) {
  policy_of(scenario).limit = {.kind = kind, .initial = 300};  // of one process
}

void add_throttle(Scenario& scenario) { policy_of(scenario).throttle.emplace(); }

void add_adaptive_timeout(Scenario& scenario) {
  policy_of(scenario).call.adaptive_timeout.on = true;
}

void add_hedging(Scenario& scenario) {
  engine::CallPolicy& call = policy_of(scenario).call;
  call.max_attempts = std::max(call.max_attempts, 2);
  call.hedge.max_hedges = 1;
}

void add_shed_queue(Scenario& scenario) {
  for (ServiceSpec& service : scenario.services) {
    service.queue = Discipline::shed;
    service.queue_bound = 1000;
    // The defaults are for services that take some milliseconds. An interval is ten service times;
    // a wait shorter than one is no standing queue (RFC 8289, section 4.3: the target is 5 to 10 %
    // of the interval, and at least the time that one packet takes).
    service.shed.interval = 1s;
    service.shed.target = 100ms;
  }
}

void add_all(Scenario& scenario) {
  add_retries(scenario);
  add_breaker(scenario);
  add_limit<admit::LimitKind::gradient>(scenario);
  add_throttle(scenario);
  add_adaptive_timeout(scenario);
  add_hedging(scenario);
  add_shed_queue(scenario);
}

void add_requeue(Scenario& scenario) {
  for (ControllersSpec& group : scenario.controllers) {
    group.retries = engine::RequeuePolicy{.timeout = group.retries.timeout};
  }
}

constexpr std::array kDefences = {
    Defence{"retries", "3 attempts with the default backoff and retry budget", kRetries,
            add_retries},
    Defence{"breaker", "a circuit breaker that trips at 50 % of failures", 0, add_breaker},
    Defence{"breaker-slow", "a circuit breaker that trips when half of the calls take over 1 s", 0,
            add_slow_breaker},
    Defence{"breaker-row", "a circuit breaker that trips at 10 failures in a row", 0,
            add_row_breaker},
    Defence{"limit-fixed", "a concurrency limit of 300", 0, add_limit<admit::LimitKind::fixed>},
    Defence{"limit-aimd", "an adaptive concurrency limit: aimd", 0,
            add_limit<admit::LimitKind::aimd>},
    Defence{"limit-vegas", "an adaptive concurrency limit: vegas", 0,
            add_limit<admit::LimitKind::vegas>},
    Defence{"limit-gradient", "an adaptive concurrency limit: gradient", 0,
            add_limit<admit::LimitKind::gradient>},
    Defence{"throttle", "the client throttle", 0, add_throttle},
    Defence{"adaptive-timeout", "attempt timeouts from the observed latency", 0,
            add_adaptive_timeout},
    Defence{"hedging", "one hedge, after the 95th percentile, and one retry", kRetries + kHedges,
            add_hedging},
    Defence{"shed-queue", "a shed queue before each replica", 0, add_shed_queue},
    Defence{"requeue", "the controllers' default requeue policy", 0, add_requeue},
    Defence{"all",
            "all together: retries, breaker, limit-gradient, throttle, adaptive-timeout, "
            "hedging, shed-queue",
            kRetries + kHedges, add_all},
};

}  // namespace

std::span<const Defence> defences() { return kDefences; }

bool applies(const Defence& defence, const Scenario& trouble) {
  return (defence.add == add_requeue) == trouble.clients.empty();
}

}  // namespace damper::lab
