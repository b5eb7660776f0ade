#include "damper/base/sharded_counters.h"

#include <benchmark/benchmark.h>

namespace damper {
namespace {

void BM_ShardedCountersAdd(benchmark::State& state) {
  static ShardedCounters<4> counters;
  for (auto _ : state) counters.add(1);
}
BENCHMARK(BM_ShardedCountersAdd)->Threads(1)->Threads(4);

}  // namespace
}  // namespace damper
