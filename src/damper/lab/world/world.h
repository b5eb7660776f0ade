#pragma once

#include <atomic>
#include <cstdint>

#include "damper/lab/record/record.h"
#include "damper/lab/scenario/scenario.h"
#include "damper/timer/event_queue.h"

namespace damper::lab {

// A run with more requests, messages or waiting keys at once is cut short: Record::cut_short.
inline constexpr std::size_t kMostInFlight = 10'000'000;

struct PlayOptions {
  std::uint64_t seed = 1;
  bool latency_over_time = true;            // fill ClientsRecord::latency_ticks
  const std::atomic<bool>* stop = nullptr;  // true ends the run early
  std::size_t most_in_flight = kMostInFlight;
  // The order of simultaneous events. No result should depend on it.
  timer::Ties ties = timer::Ties::in_order;
};

// Plays a scenario from its start to its length, in virtual time, with the engine's own code.
//
// Model: one loop over an EventQueue. ClientGroups start requests and ControllerGroups start runs
// of keys; SimulatedCalls drives each through the engine. The Network carries a message to a
// replica of Services, which works on it, perhaps with calls to further services, and the Network
// carries the answer back. ActiveFaults are the faults that are on.
// Invariants:
//   (1) The same scenario and seed give the same trace, and its hash in the record, on every
//       machine, compiler and optimisation level.
//   (2) Two policies see the same arrivals, and for each attempt of each request the same service
//       time and network delays (common random numbers).
//   (3) Each request that begins ends once, with a verdict, or is counted as unfinished.
//   (4) At the end, the counts of all parts agree: messages with replicas and their limits, calls
//       with the messages that wait for them, keys with the controllers' queues. It is checked.
// REQUIRES: !find_error(scenario).
// Thread safety: runs of different seeds may be played in different threads.
// Cost: about 0.6 KiB for each request under way, 90 KiB for each process and service it calls.
[[nodiscard]] Record play(const Scenario& scenario, const PlayOptions& options = {});

}  // namespace damper::lab
