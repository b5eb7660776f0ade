#include "damper/lab/runs/runs.h"

#include <utility>

#include "damper/lab/runs/workers.h"
#include "damper/lab/world/world.h"

namespace damper::lab {
namespace {

// What the series of all records may take: 4 GiB.
constexpr double kMostBytes = 4.0 * 1024 * 1024 * 1024;

double bytes_of_a_run(const Scenario& scenario) {
  const auto ticks = static_cast<double>(scenario.length / scenario.bucket + 1);
  return ticks * (static_cast<double>(scenario.services.size() * sizeof(ServiceTick)) +
                  static_cast<double>(scenario.clients.size() * sizeof(ClientsTick)) +
                  static_cast<double>(scenario.controllers.size() * sizeof(ControllersTick)));
}

}  // namespace

std::optional<std::string> find_error(const std::vector<Scenario>& scenarios,
                                      const RunsOptions& options) {
  if (options.runs < 1 || options.runs > kMostRuns) {
    return "runs is " + std::to_string(options.runs) + "; it must be from 1 to " +
           std::to_string(kMostRuns);
  }
  double bytes = 0;
  for (const Scenario& scenario : scenarios) bytes += bytes_of_a_run(scenario) * options.runs;
  if (bytes <= kMostBytes) return std::nullopt;
  return std::to_string(options.runs) +
         " runs would keep more than 4 GiB of series; reduce --runs, or make the scenario's "
         "bucket longer";
}

Runs play_all(const std::vector<Scenario>& scenarios, const RunsOptions& options) {
  const std::size_t kinds = scenarios.size();
  const auto seeds = static_cast<std::size_t>(options.runs);
  std::vector<Record> records(kinds * seeds);  // by seed, then by scenario
  const std::size_t done = run_parallel(
      {.count = records.size(),
       .threads = options.threads,
       .stop = options.stop,
       .on_progress = options.on_progress},
      [&](std::size_t index) {
        const std::size_t nth = index / kinds;
        records[index] =
            play(scenarios[index % kinds],
                 {.seed = options.seed + nth, .latency_over_time = nth == 0, .stop = options.stop});
      });
  Runs result;
  // A run that the stop flag ended early is not whole either.
  const bool stopped = options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
  std::size_t whole = 0;
  for (bool goes_on = true; goes_on && whole < seeds; ++whole) {
    for (std::size_t i = 0; i < kinds; ++i) {
      const std::size_t index = whole * kinds + i;
      if (index >= done || (stopped && records[index].cut_short)) goes_on = false;
    }
    if (!goes_on) break;
  }
  result.interrupted = whole < seeds;
  for (std::size_t i = 0; i < kinds; ++i) {
    RunSet& set = result.sets.emplace_back();
    set.scenario = scenarios[i];
    for (std::size_t nth = 0; nth < whole; ++nth) {
      set.records.push_back(std::move(records[nth * kinds + i]));
    }
  }
  return result;
}

}  // namespace damper::lab
