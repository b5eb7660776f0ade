#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "damper/lab/runs/map_result.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

struct MapOptions {
  int runs = 10;           // of each point, 1 to 10,000
  std::uint64_t seed = 1;  // of each point's first run
  unsigned threads = 0;    // 0: one for each core
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::size_t done, std::size_t of)> on_progress = {};
};

// The scenario with another load on its first clients (requests a second) and another size of its
// first fault: one point of the map.
//
// Model: the size of errors, a slowdown, a spike or a capacity cut is its `amount`, of any other
// fault its length in seconds; a length of 0 is no fault at all. The time after the fault stays
// what it was, so that a long trigger leaves as much time to recover as a short one.
[[nodiscard]] Scenario at_point(const Scenario& scenario, double load, double trigger);

// The reason why the scenario has no map: no clients with a load, or no fault.
[[nodiscard]] std::optional<config::Error> find_map_error(const Scenario& scenario);

// Sweeps load against the size of the trigger, as scenario.map sets it, and counts at each point
// the runs that are still down at the end, though the trigger is gone: a metastable failure
// (Bronson and others, HotOS 2021).
//
// Then it bisects the border under the largest trigger, between the highest load that recovers and
// the lowest one that does not, until both are within half a percent.
// REQUIRES: !find_map_error(scenario).
[[nodiscard]] MapResult draw_map(const Scenario& scenario, const MapOptions& options);

}  // namespace damper::lab
