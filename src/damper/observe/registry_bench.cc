#include "damper/observe/registry.h"

#include <benchmark/benchmark.h>

namespace damper::observe {
namespace {

void BM_CounterAdd(benchmark::State& state) {
  static Registry registry;
  Counter& counter = registry.counter("bench_total", "For the benchmark.", {{"to", "db"}});
  for (auto _ : state) counter.add();
}
BENCHMARK(BM_CounterAdd)->Threads(1)->Threads(4);

void BM_HistogramObserve(benchmark::State& state) {
  static Registry registry;
  Histogram& histogram =
      registry.histogram("bench_seconds", "For the benchmark.", latency_bounds());
  for (auto _ : state) histogram.observe(0.04);
}
BENCHMARK(BM_HistogramObserve)->Threads(1)->Threads(4);

void BM_Expose(benchmark::State& state) {
  Registry registry;
  for (int i = 0; i < state.range(0); ++i) {
    registry.counter("bench_total", "For the benchmark.", {{"to", std::to_string(i)}}).add();
  }
  for (auto _ : state) benchmark::DoNotOptimize(registry.expose());
}
BENCHMARK(BM_Expose)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace damper::observe
