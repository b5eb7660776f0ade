#include "damper/http/peer/client_rates.h"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace damper::http {
namespace {

// Requests of 1000 clients within their rates, on some threads.
void BM_ClientRatesTryTake(benchmark::State& state) {
  static ClientRates rates({.bucket = {.rate_per_second = 1e6, .burst = 1'000'000}});
  std::vector<std::string> addresses;
  addresses.reserve(1000);
  for (int i = 0; i < 1000; ++i) {
    addresses.push_back("10.1." + std::to_string(i / 250) + '.' + std::to_string(i % 250));
  }
  std::size_t next = static_cast<std::size_t>(state.thread_index()) * 100;
  Instant now{std::chrono::hours(1)};
  for (auto _ : state) {
    now += std::chrono::microseconds(1);
    next = next + 1 < addresses.size() ? next + 1 : 0;
    benchmark::DoNotOptimize(rates.try_take(ClientKey::of_address(addresses[next]), now));
  }
}
BENCHMARK(BM_ClientRatesTryTake)->Threads(1)->Threads(2);

}  // namespace
}  // namespace damper::http
