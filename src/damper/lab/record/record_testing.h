#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "damper/base/verdict.h"
#include "damper/lab/record/record.h"
#include "damper/lab/report/report.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// A storm made up for tests of measures and reports, with numbers that can be checked in the head:
// 10 s in buckets of half a second; 10 requests in each; `api` is down from 2 s to 5 s.

inline Scenario small_scenario(const std::string& variant) {
  Scenario scenario;
  scenario.name = "storm";
  scenario.variant = variant;
  scenario.about = "An API that is down for a while.";
  scenario.length = std::chrono::seconds(10);
  scenario.bucket = std::chrono::milliseconds(500);
  ServiceSpec service;
  service.name = "api";
  scenario.services = {service};
  ClientsSpec clients;
  clients.name = "users";
  clients.calls = "api";
  scenario.clients = {clients};
  FaultSpec fault;
  fault.on = "api";
  fault.at = std::chrono::seconds(2);
  fault.length = std::chrono::seconds(3);
  scenario.faults = {fault};
  return scenario;
}

// Retries are sent in the bucket after a failure, `retries` of them for each request; a bucket
// after the fault is still needed to be rid of them.
inline Record small_record(std::uint64_t seed, std::uint32_t retries) {
  Record record;
  record.title = "storm";
  record.policy = retries > 1 ? "naive" : "default";
  record.seed = seed;
  record.length = std::chrono::seconds(10);
  record.bucket = std::chrono::milliseconds(500);
  record.latency_bucket = std::chrono::seconds(1);
  record.events = 1000 + seed;
  record.trace_hash = 0xABC0 + seed;
  record.last_end = std::chrono::milliseconds(9990);
  ServiceRecord service;
  service.name = "api";
  ClientsRecord clients;
  clients.name = "users";
  clients.latency_ticks.resize(10);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const bool down = i >= 4 && i < 10;
    const bool after = i >= 5 && i < 11;
    ServiceTick tick;
    tick.first_tries = 10;
    tick.retries = after ? 10 * retries : 0;
    tick.served = down ? 0 : tick.first_tries + tick.retries;
    tick.good = down ? 0 : 10;
    tick.failed = down ? tick.first_tries + tick.retries : 0;
    tick.queued = after ? tick.retries / 2 : 0;
    tick.working = down ? 0 : 1;
    service.ticks.push_back(tick);
    service.first_tries += tick.first_tries;
    service.attempts += tick.first_tries + tick.retries;
    service.served += tick.served;
    service.good += tick.good;
    ClientsTick of_clients;
    of_clients.requests = 10;
    of_clients.attempts = tick.first_tries + tick.retries;
    of_clients.succeeded = tick.good;
    of_clients.failed = down ? 10 : 0;
    of_clients.budget = after ? 0.5F : 3;
    clients.ticks.push_back(of_clients);
    clients.requests += 10;
    clients.attempts += of_clients.attempts;
    clients.succeeded += of_clients.succeeded;
    clients.failed += of_clients.failed;
    if (down) {
      clients.requests_in_fault += 10;
      clients.attempts_in_fault += 10 + 10 * retries;
    } else {
      const Duration latency = std::chrono::milliseconds(after ? 800 : 20);
      for (int request = 0; request < 10; ++request) {
        clients.latency.add(latency);
        clients.latency_ticks[i / 2].add(latency);
      }
    }
  }
  clients.verdicts[static_cast<std::size_t>(Verdict::success)] = clients.succeeded;
  clients.verdicts[static_cast<std::size_t>(Verdict::budget_spent)] = clients.failed;
  record.services = {service};
  record.clients = {clients};
  return record;
}

// The storm with two retries for each request and with none, once each.
inline Report small_report() {
  Report report;
  report.title = "storm";
  report.about = "An API that is down for a while.";
  report.command = "damper lab run storm --seed 1";
  report.version = "1.2.3";
  report.asked_runs = 2;
  report.sets = {{small_scenario("naive"), {small_record(1, 2)}},
                 {small_scenario("guarded"), {small_record(1, 0)}}};
  return report;
}

// The same with controllers in place of the clients: 20 keys, of which one is broken; in each
// bucket 10 events, and as many runs as attempts above. At the end of the fault twelve keys have
// failed, and one second after it none.
inline Report controlled_report() {
  Report report = small_report();
  for (RunSet& set : report.sets) {
    ControllersSpec spec;
    spec.name = "pods";
    spec.calls = "api";
    spec.keys = 20;
    spec.broken_keys = 1;
    spec.events = 20;
    set.scenario.controllers = {spec};
    set.scenario.clients.clear();
    Record& record = set.records[0];
    ControllersRecord all;
    all.name = "pods";
    for (std::size_t i = 0; i < record.clients[0].ticks.size(); ++i) {
      const ClientsTick& from = record.clients[0].ticks[i];
      const bool down = i >= 4 && i < 10;
      ControllersTick tick;
      tick.events = 10;
      tick.runs = from.attempts;
      tick.retries = from.attempts - 10;
      tick.succeeded = from.succeeded;
      tick.failed = from.attempts - from.succeeded;
      tick.failing = down ? static_cast<std::uint32_t>(2 * (i - 3)) : i < 12 ? 1 : 0;
      if (i < 4) tick.failing = 0;
      tick.waiting = tick.failing + 3;
      tick.parked = i > 12 ? 1 : 0;
      tick.budget = from.budget;
      all.ticks.push_back(tick);
      all.events += tick.events;
      all.runs += tick.runs;
      all.retries += tick.retries;
      all.succeeded += tick.succeeded;
      all.failed += tick.failed;
      if (down) all.events_in_fault += tick.events;
      if (down) all.runs_in_fault += tick.runs;
    }
    all.queued.add(std::chrono::milliseconds(8));
    all.settled.add(std::chrono::seconds(3));
    record.controllers = {all};
    record.clients.clear();
  }
  return report;
}

// A single run with two buckets, and a name that every format has to escape.
inline Report tiny_report() {
  Report report = small_report();
  report.sets.resize(1);
  report.sets[0].scenario.variant = "";
  report.sets[0].scenario.name = "a \"b\", <c>";
  report.sets[0].scenario.expect = {{.measure = "success", .at_least = 75.0}};
  Record& record = report.sets[0].records[0];
  record.services[0].ticks.resize(2);
  record.clients[0].ticks.resize(2);
  record.clients[0].latency_ticks.resize(1);
  record.length = std::chrono::seconds(1);
  return report;
}

[[nodiscard]] inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// small_report() with a promise that holds, one that is broken and one that cannot be checked.
[[nodiscard]] inline Report promising_report() {
  Report report = small_report();
  report.sets[0].scenario.expect = {{.measure = "attempts_per_request_in_fault", .at_least = 2.0}};
  report.sets[1].scenario.expect = {
      {.measure = "attempts_per_request", .of = "naive", .at_most = 0.62},
      {.measure = "attempts_per_request", .of = "mild", .at_most = 0.62}};
  return report;
}

}  // namespace damper::lab
