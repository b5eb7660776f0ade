#include "damper/engine/call.h"

#include <benchmark/benchmark.h>

#include <chrono>

namespace damper::engine {
namespace {

using namespace std::chrono_literals;

// A call that succeeds at once, with a breaker, without the clock and the driver.
template <Footprint kFootprint>
void BM_CallThatSucceeds(benchmark::State& state) {
  Policy policy;
  policy.breaker.emplace();
  static BasicDependency<kFootprint> dependency("bench", policy);
  Instant now{1000s};
  for (auto _ : state) {
    now += 1us;
    BasicCall<kFootprint> call(dependency, {.request = {.idempotent = true}});
    call.start(now, 0.5);
    benchmark::DoNotOptimize(call.step());
    call.on_success(call.step().attempt.lane, now + 100ns);
    benchmark::DoNotOptimize(call.step());
  }
}
BENCHMARK(BM_CallThatSucceeds<Footprint::large>);
BENCHMARK(BM_CallThatSucceeds<Footprint::small>);

}  // namespace
}  // namespace damper::engine
