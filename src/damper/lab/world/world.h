#ifndef DAMPER_LAB_WORLD_WORLD_H_
#define DAMPER_LAB_WORLD_WORLD_H_

#include <atomic>
#include <cstdint>

#include "damper/lab/record/record.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// More requests, messages or waiting keys at once than this end a run: Record::cut_short.
inline constexpr std::size_t kMostInFlight = 10'000'000;

struct PlayOptions {
  std::uint64_t seed = 1;
  bool latency_over_time = true;            // fill ClientsRecord::latency_ticks
  const std::atomic<bool>* stop = nullptr;  // when it turns true, the run ends early
  std::size_t most_in_flight = kMostInFlight;
};

// Plays a scenario from its start to its length, in virtual time, with the engine's own code.
//
// Model: one loop over an EventQueue. Clients begin requests (Arrivals); Callers drive each through
// the engine; controllers (Fleet) add keys to their queues, and each run of one is a request too; a
// message takes the network's time to a Replica, is worked on, perhaps with calls to
// further services, and its answer takes the network's time back. Weather says which faults are on.
// Invariants:
//   (1) The same scenario and seed give the same trace, and its hash in the record, on every
//       machine, compiler and optimisation level.
//   (2) Two policies see the same arrivals, and for each attempt of each request the same service
//       time and network delays (common random numbers).
//   (3) Each request that begins ends once, with a verdict, or is counted as unfinished.
//   (4) At the end, what the parts have counted agrees: who works and waits at each replica and in
//       its limit with the messages there, calls with those who wait for them, what waits and runs
//       in the controllers' queues with what was added and ended. It is checked.
// REQUIRES: !find_error(scenario).
// Thread safety: runs of different seeds may be played in different threads.
// Cost: about 0.6 KiB for each request under way, 90 KiB for each process and service it calls.
[[nodiscard]] Record play(const Scenario& scenario, const PlayOptions& options = {});

}  // namespace damper::lab

#endif  // DAMPER_LAB_WORLD_WORLD_H_
