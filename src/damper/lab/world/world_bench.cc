#include "damper/lab/world/world.h"

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "damper/base/check.h"

// A million clients that all start at once, each one operation with its retries through an outage
// of ten seconds, the whole engine: in under 20 s, and under 2 GB.

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

Scenario million(bool persistent) {
  Scenario scenario;
  scenario.name = "million";
  scenario.length = 60s;
  scenario.services.push_back({.name = "api",
                               .workers = 1000,
                               .service_time = Distribution::exponential(5ms),
                               .queue_bound = 1'000'000,
                               .network = Distribution::exponential(10ms)});
  scenario.clients.push_back({.name = "clients",
                              .calls = "api",
                              .count = 1'000'000,
                              .processes = 100,
                              .loop = Loop::once});
  scenario.faults.push_back({.kind = FaultKind::down, .on = "api", .length = 10s});
  if (persistent) {  // As many attempts as it takes, and no budget in their way.
    policy::Route route;
    route.settings.policy.call.max_attempts = 8;
    route.settings.policy.call.timeout = 60s;
    route.settings.policy.budget.min_per_second = 10'000;
    scenario.policy.routes.push_back(route);
  }
  return scenario;
}

void BM_LabMillionClients(benchmark::State& state) {
  const Scenario scenario = million(state.range(0) != 0);
  std::uint64_t events = 0;
  std::uint64_t attempts = 0;
  for (auto _ : state) {
    const Record record = play(scenario);
    DAMPER_CHECK(record.clients[0].requests == 1'000'000 && record.clients[0].unfinished == 0);
    events = record.events;
    attempts = record.clients[0].attempts;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
  state.counters["attempts"] = static_cast<double>(attempts);
  state.SetItemsProcessed(static_cast<std::int64_t>(events) * state.iterations());
}
BENCHMARK(BM_LabMillionClients)
    ->ArgName("persistent")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace damper::lab
