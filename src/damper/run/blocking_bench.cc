#include "damper/run/blocking.h"

#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace damper {
namespace {

// What any guard has to pay that knows how long a call took and counts it: two steady-clock reads
// and six uncontended relaxed atomic adds. Every claim below is a multiple of this, from one run.
void BM_Floor(benchmark::State& state) {
  alignas(64) std::atomic<std::uint64_t> own[8] = {};
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 6; ++i) own[i].fetch_add(1, std::memory_order_relaxed);
    const auto end = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(end - start);
  }
}
BENCHMARK(BM_Floor)->Threads(1)->Threads(2)->UseRealTime();

engine::Policy everything_on() {
  engine::Policy policy;
  policy.breaker.emplace();
  return policy;
}

// The whole happy path of damper::call around an empty operation: deadline, budget, breaker,
// histogram and metrics on, the dependency shared by all threads.
void BM_GuardedCall(benchmark::State& state) {
  static Dependency dependency("bench", everything_on());
  for (auto _ : state) {
    const auto result =
        call(dependency, {.idempotent = true},
             [](const Attempt&) -> decide::Outcome { return decide::Outcome::success; });
    benchmark::DoNotOptimize(result.verdict());
  }
}
BENCHMARK(BM_GuardedCall)->Threads(1)->Threads(2)->UseRealTime();

}  // namespace
}  // namespace damper
