// The troubles of the matrix, and the cells that are known not to hold.
#include <array>
#include <chrono>

#include "damper/lab/matrix/defences.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;
using policy::HarmReason;

// The system of every trouble: 8 replicas of 2 workers that take 100 ms, so a capacity of 160/s, at
// half load from two processes. An attempt has a second.
constexpr double kCapacity = 160;
constexpr double kLoad = kCapacity / 2;
constexpr Duration kStart = 60s;  // of the trouble

void set_timeouts(Scenario& scenario, Duration call, Duration attempt) {
  engine::Policy& policy = scenario.policy.routes.front().settings.policy;
  policy.call.timeout = call;
  policy.call.per_try_timeout = attempt;
}

Scenario system(Duration length, double rate = kLoad) {
  Scenario scenario;
  scenario.name = "matrix";
  scenario.file = "matrix";
  scenario.length = length;
  scenario.bucket = 1s;
  scenario.services = {{.name = "api",
                        .replicas = 8,
                        .workers = 2,
                        .service_time = Distribution::exponential(100ms)}};
  scenario.clients = {{.name = "web", .calls = "api", .count = 2, .processes = 2, .rate = rate}};
  policy::Route& route = scenario.policy.routes.emplace_back();
  route.settings.policy.call.max_attempts = 1;
  set_timeouts(scenario, 5s, 1s);
  return scenario;
}

// The system with one fault on the service, from kStart on, and two minutes after it.
Scenario with_fault(FaultSpec fault, double rate = kLoad) {
  Scenario scenario = system(kStart + fault.length + 2min, rate);
  fault.on = fault.kind == FaultKind::spike ? "web" : "api";
  fault.at += kStart;
  scenario.faults.push_back(fault);
  return scenario;
}

Scenario down() { return with_fault({.kind = FaultKind::down, .length = 3min}); }

// A lost request gets no response: the attempt times out.
Scenario dead_replica() {
  return with_fault({.kind = FaultKind::lost, .length = 5min, .replicas = {3}});
}

template <int percent>
Scenario errors() {
  return with_fault({.kind = FaultKind::errors, .length = 3min, .amount = percent / 100.0});
}

Scenario hang() { return with_fault({.kind = FaultKind::lost, .length = 1h}, 16); }

Scenario six_seconds() {
  Scenario scenario = with_fault({.kind = FaultKind::slow, .length = 5min, .amount = 60});
  scenario.services[0].workers = 0;  // It is slow, not overloaded.
  scenario.services[0].service_time = Distribution::constant(100ms);
  set_timeouts(scenario, 20s, 10s);
  return scenario;
}

Scenario brown_out() { return with_fault({.kind = FaultKind::slow, .length = 5min, .amount = 3}); }

Scenario flapping() {
  Scenario scenario = with_fault({.kind = FaultKind::down, .length = 5s});
  const FaultSpec first = scenario.faults[0];
  for (int i = 1; i < 18; ++i) {
    FaultSpec next = first;
    next.at += i * 10s;
    scenario.faults.push_back(next);
  }
  scenario.length = scenario.faults.back().end() + 2min;
  return scenario;
}

// The first request of a process fails, and no other.
Scenario cold_failure() {
  Scenario scenario = system(2min, 0);
  ClientsSpec& web = scenario.clients[0];
  web = {.name = "web", .calls = "api", .arrivals = Pattern::constant, .every = 100ms};
  scenario.faults = {{.kind = FaultKind::down, .on = "api", .length = 50ms}};
  return scenario;
}

Scenario quiet() {
  Scenario scenario = with_fault({.kind = FaultKind::errors, .length = 6h, .amount = 0.2});
  scenario.clients[0] = {
      .name = "web", .calls = "api", .arrivals = Pattern::constant, .every = 60s};
  scenario.length = kStart + 6h + 1h;
  return scenario;
}

// One call in 2,000 needs 150 times as long as the others, and is given it.
Scenario slow_few() {
  Scenario scenario = system(30min);
  scenario.services[0].workers = 0;
  scenario.services[0].service_time = Distribution::mix(20ms, 3s, Percent::from_hundredths(5));
  set_timeouts(scenario, 15s, 5s);
  return scenario;
}

// A second group of the same processes, with `share` of the load.
Scenario with_tenant(const ClientsSpec& tenant, double share) {
  Scenario scenario = system(kStart + 5min, kLoad * (1 - share));
  ClientsSpec added = tenant;
  added.name = "tenant";
  added.calls = "api";
  added.count = added.processes = 2;
  added.rate = kLoad * share;
  added.shares = "web";
  scenario.clients.push_back(added);
  return scenario;
}

Scenario short_deadlines() { return with_tenant({.deadline = 10ms}, 0.6); }

Scenario failing_route() { return with_tenant({.answer = decide::Outcome::transient}, 0.1); }

template <int percent>
Scenario overload() {
  return with_fault(
      {.kind = FaultKind::spike, .length = 2min, .amount = kCapacity / kLoad * percent / 100.0});
}

// A minute down; then the service is 1.5 times slower for half a minute.
Scenario slow_start() {
  Scenario scenario = with_fault({.kind = FaultKind::down, .length = 1min});
  FaultSpec warm_up = scenario.faults[0];
  warm_up.kind = FaultKind::slow;
  warm_up.at = scenario.faults[0].end();
  warm_up.length = 30s;
  warm_up.amount = 1.5;
  scenario.faults.push_back(warm_up);
  scenario.length += 30s;
  return scenario;
}

// Controllers without Damper's requeue policy: backoff for each key without jitter, no budget, and
// nothing is parked.
Scenario controllers(Duration length) {
  Scenario scenario = system(length, 1);
  scenario.clients.clear();
  ControllersSpec group{
      .name = "controllers", .calls = "api", .count = 2, .keys = 200, .events = 10};
  group.resync = 10min;
  group.retries.max_attempts = 0;
  group.retries.backoff.jitter = schedule::Jitter::none;
  group.retries.budget.percent = Percent(1000);
  group.retries.budget.min_per_second = 10'000;
  scenario.controllers = {group};
  return scenario;
}

Scenario controllers_down() {
  Scenario scenario = controllers(kStart + 30min + 10min);
  scenario.faults = {{.kind = FaultKind::down, .on = "api", .at = kStart, .length = 30min}};
  return scenario;
}

Scenario controllers_broken_key() {
  Scenario scenario = controllers(kStart + 20min);
  scenario.controllers[0].broken_keys = 2;
  scenario.controllers[0].hot_keys = 1;
  scenario.controllers[0].hot_share = 0.2;
  return scenario;
}

Scenario controllers_errors() {
  Scenario scenario = controllers(kStart + 10min + 5min);
  scenario.faults = {
      {.kind = FaultKind::errors, .on = "api", .at = kStart, .length = 10min, .amount = 0.2}};
  return scenario;
}

constexpr std::array kTroubles = {
    Trouble{"down", "the service is down for 3 min, and answers so at once", down},
    Trouble{"dead-replica", "one of eight replicas does not answer for 5 min", dead_replica},
    Trouble{"errors-5", "5 % of the requests fail for 3 min", errors<5>},
    Trouble{"errors-20", "20 % of the requests fail for 3 min", errors<20>},
    Trouble{"hang", "nothing is answered for an hour", hang},
    Trouble{"six-seconds", "every request takes 6 s for 5 min, within its timeout", six_seconds},
    Trouble{"brown-out", "the service is three times slower for 5 min", brown_out},
    Trouble{"flapping", "the service is down for 5 s in every 10 s, for 3 min", flapping},
    Trouble{"cold-failure", "the first request of a process fails, and no other", cold_failure},
    Trouble{"quiet", "a client with one request a minute, of which 20 % fail", quiet},
    Trouble{"slow-few", "one request in 2,000 needs 150 times as long as the others", slow_few},
    Trouble{"short-deadlines", "60 % of the requests have deadlines under the latency",
            short_deadlines},
    Trouble{"failing-route", "one route in ten of the same process always fails", failing_route},
    Trouble{"load-90", "the load is 0.9 of the capacity for 2 min", overload<90>},
    Trouble{"load-100", "the load is the capacity for 2 min", overload<100>},
    Trouble{"load-150", "the load is 1.5 times the capacity for 2 min", overload<150>},
    Trouble{"load-300", "the load is 3 times the capacity for 2 min", overload<300>},
    Trouble{"slow-start", "down for 1 min, then 1.5 times slower for 30 s", slow_start},
    Trouble{"keys-down", "controllers whose service is down for half an hour", controllers_down},
    Trouble{"keys-broken", "controllers with keys that always fail, one of them hot",
            controllers_broken_key},
    Trouble{"keys-errors", "controllers of whose runs 20 % fail for 10 min", controllers_errors},
};

constexpr std::array kKnownHarms = {
    KnownHarm{"breaker", "down", HarmReason::open_time},
    KnownHarm{"breaker", "hang", HarmReason::open_time},
    KnownHarm{"breaker", "slow-start", HarmReason::open_time},
    KnownHarm{"breaker-slow", "down", HarmReason::open_time},
    KnownHarm{"breaker-slow", "hang", HarmReason::open_time},
    KnownHarm{"breaker-slow", "slow-start", HarmReason::open_time},
    KnownHarm{"breaker-row", "down", HarmReason::open_time},
    KnownHarm{"breaker-row", "hang", HarmReason::open_time},
    KnownHarm{"breaker-row", "slow-start", HarmReason::open_time},
    KnownHarm{"all", "down", HarmReason::open_time},
    KnownHarm{"all", "hang", HarmReason::open_time},
    KnownHarm{"all", "slow-start", HarmReason::open_time},
    KnownHarm{"breaker", "flapping", HarmReason::flapping},
    KnownHarm{"breaker-row", "flapping", HarmReason::flapping},
    KnownHarm{"all", "flapping", HarmReason::flapping},
    KnownHarm{"retries", "brown-out", HarmReason::brown_out},
    KnownHarm{"retries", "load-90", HarmReason::no_room},
    KnownHarm{"retries", "load-100", HarmReason::no_room},
    KnownHarm{"retries", "load-150", HarmReason::no_room},
    KnownHarm{"hedging", "brown-out", HarmReason::brown_out},
    KnownHarm{"hedging", "load-90", HarmReason::no_room},
    KnownHarm{"hedging", "load-100", HarmReason::no_room},
    KnownHarm{"hedging", "load-150", HarmReason::no_room},
    KnownHarm{"retries", "quiet", HarmReason::reserve},
    KnownHarm{"hedging", "quiet", HarmReason::reserve},
    KnownHarm{"all", "quiet", HarmReason::reserve},
    KnownHarm{"limit-gradient", "six-seconds", HarmReason::slow_is_queue},
    KnownHarm{"all", "six-seconds", HarmReason::slow_is_queue},
    KnownHarm{"breaker-slow", "six-seconds", HarmReason::slow_is_failure},
    KnownHarm{"all", "load-90", HarmReason::two_shedders},
    KnownHarm{"requeue", "keys-broken", HarmReason::jitter},
};

}  // namespace

std::span<const Trouble> troubles() { return kTroubles; }

std::span<const KnownHarm> known_harms() { return kKnownHarms; }

}  // namespace damper::lab
