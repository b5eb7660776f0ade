#include "damper/admit/circuit_breaker.h"

#include <benchmark/benchmark.h>

namespace damper::admit {
namespace {

void BM_OpenBreakerRejects(benchmark::State& state) {
  CircuitBreakerOptions options;
  options.consecutive_failures = 1;
  CircuitBreaker breaker(options);
  const Instant now{std::chrono::seconds(100)};
  (void)breaker.on_failure(breaker.try_admit(now, 0), Duration(1), now, 0);
  for (auto _ : state) benchmark::DoNotOptimize(breaker.try_admit(now, 0));
}
BENCHMARK(BM_OpenBreakerRejects);

}  // namespace
}  // namespace damper::admit
