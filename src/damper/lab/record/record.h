#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/lab/record/latency_sketch.h"

namespace damper::lab {

// The counts of a run, with the same definitions for every policy.
//
// A *request* is one operation of a client, or one call of a service to another; an *attempt* is
// one transmission of it. Throughput is what servers have finished; goodput is the part of it that
// its caller still wanted.
// A *run* of a controller is one time that a key is worked on: one request, of one attempt. A run
// is a retry if the last run of its key failed.

// One bucket of time at a service. Counts are of the bucket, levels are those at its end.
struct ServiceTick {
  std::uint32_t first_tries = 0;  // that arrived; at an optimistic service, writes
  std::uint32_t retries = 0;
  std::uint32_t hedges = 0;
  std::uint32_t served = 0;   // throughput: worked on to the end, wanted or not
  std::uint32_t good = 0;     // of which successful and, on arrival, still wanted by its attempt
  std::uint32_t refused = 0;  // by the queue's bound, the shed queue or the limit
  std::uint32_t failed = 0;   // answered with an error by a fault
  std::uint32_t queued = 0;   // level
  std::uint32_t working = 0;  // level
  std::uint32_t limit = 0;    // level, of all replicas; 0: none
};

// One bucket of time of a group of clients.
struct ClientsTick {
  std::uint32_t requests = 0;   // started
  std::uint32_t attempts = 0;   // sent
  std::uint32_t succeeded = 0;  // goodput, where it ends
  std::uint32_t failed = 0;
  std::uint32_t in_flight = 0;  // level
  float budget = 0;             // level: retries that could be granted, mean over processes
};

// One bucket of time of a group of controllers.
struct ControllersTick {
  std::uint32_t events = 0;
  std::uint32_t runs = 0;       // started
  std::uint32_t retries = 0;    // of which the key's last run had failed
  std::uint32_t succeeded = 0;  // ended so
  std::uint32_t failed = 0;
  std::uint32_t waiting = 0;  // level: keys that wait for a worker or for their time
  std::uint32_t failing = 0;  // level: of which their last run failed; without the broken ones
  std::uint32_t running = 0;  // level
  std::uint32_t parked = 0;   // level: keys that were given up
  float budget = 0;           // level: retries that could be granted, mean over controllers
};

struct ServiceRecord {
  std::string name;
  std::vector<ServiceTick> ticks;
  std::uint64_t first_tries = 0;
  std::uint64_t attempts = 0;  // first tries, retries and hedges
  std::uint64_t hedges = 0;
  std::uint64_t served = 0;
  std::uint64_t good = 0;
  std::uint64_t refused = 0;
};

struct ClientsRecord {
  std::string name;
  std::vector<ClientsTick> ticks;
  std::uint64_t requests = 0;
  std::uint64_t attempts = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;      // ended with another verdict
  std::uint64_t unfinished = 0;  // not over at the end of the run
  // Of requests that started while a fault was on, whenever their attempts were sent.
  std::uint64_t requests_in_fault = 0;
  std::uint64_t attempts_in_fault = 0;
  std::array<std::uint64_t, kVerdictNames.size()> verdicts{};
  LatencySketch latency;                     // of successful requests
  std::vector<LatencySketch> latency_ticks;  // the same over time, by the end; each kLatencyTick
};

struct ControllersRecord {
  std::string name;
  std::vector<ControllersTick> ticks;
  std::uint64_t events = 0;
  std::uint64_t runs = 0;
  std::uint64_t retries = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t events_in_fault = 0;  // while a fault was on
  std::uint64_t runs_in_fault = 0;    // started while a fault was on
  LatencySketch queued;               // of healthy keys: how long a key that was due had no worker
  LatencySketch settled;              // of healthy objects: from an event to a success that saw it
};

struct Record {
  std::string title;   // of the scenario
  std::string policy;  // what it ran under, in a word
  std::uint64_t seed = 0;
  Duration length{0};
  Duration bucket{0};
  Duration latency_bucket{0};  // of latency_ticks
  std::uint64_t events = 0;
  std::uint64_t trace_hash = 0;
  Duration last_end{0};    // when the last request was over
  bool cut_short = false;  // too many requests were under way, or it was stopped
  std::vector<ServiceRecord> services;
  std::vector<ClientsRecord> clients;
  std::vector<ControllersRecord> controllers;
};

}  // namespace damper::lab
