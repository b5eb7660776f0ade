#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "damper/lab/report/report.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

inline constexpr int kMostRuns = 100'000;

struct RunsOptions {
  int runs = 1;            // of each scenario, 1 to kMostRuns
  std::uint64_t seed = 1;  // of the first run; the others have the ones after it
  unsigned threads = 0;    // 0: one for each core
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::size_t done, std::size_t of)> on_progress = {};
};

// The error if the records of `runs` runs would not fit into memory.
[[nodiscard]] std::optional<std::string> find_error(const std::vector<Scenario>& scenarios,
                                                    const RunsOptions& options);

struct Runs {
  std::vector<RunSet> sets;  // one for each scenario
  bool interrupted = false;
};

// Plays each scenario with each seed, on all cores: the same seeds for every scenario, so that
// variants are compared on the same arrivals.
//
// Model: the first seed of all scenarios is played first, then the second, so that an interruption
// leaves complete comparisons: a seed without all scenarios is left out. The first run of each set
// keeps the series for its charts; the others keep only their numbers.
// Invariants:
//   (1) The result is a function of scenarios, runs and seed: not of the threads.
//   (2) After an interruption every set has the same seeds. With none of them, sets are empty.
// REQUIRES: !find_error(scenarios, options).
[[nodiscard]] Runs play_all(const std::vector<Scenario>& scenarios, const RunsOptions& options);

}  // namespace damper::lab
