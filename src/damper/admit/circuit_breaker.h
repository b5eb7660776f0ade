#ifndef DAMPER_ADMIT_CIRCUIT_BREAKER_H_
#define DAMPER_ADMIT_CIRCUIT_BREAKER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::admit {

struct CircuitBreakerOptions {
  Percent failure_rate = Percent(50);          // (0, 100 %]; trips when the window reaches it
  Percent slow_call_rate = Percent(100);       // (0, 100 %]; counts calls over slow_call_duration
  Duration slow_call_duration{0};              // 0: calls are never slow
  std::int32_t consecutive_failures = 0;       // 0: off; else trips at so many in a row, <= 10,000
  Duration window = std::chrono::seconds(10);  // 1 s to 1 h
  std::int32_t minimum_volume = 20;  // 1 to 1,000,000 calls in the window before a rate counts
  Duration open_base =
      std::chrono::seconds(1);  // the first open time, doubled at each trip in a row,
  Duration open_cap = std::chrono::seconds(30);  // up to this; jittered
  std::int32_t probes = 3;  // 1 to 16: half-open calls at once, and successes that close it
  Duration probe_lease =
      std::chrono::seconds(5);  // a probe unheard of for so long gives its place back
  Duration ramp =
      std::chrono::seconds(5);  // traffic grows to all of it over so long after closing; 0: at once
};

[[nodiscard]] std::optional<std::string> find_error(const CircuitBreakerOptions& options);

}  // namespace damper::admit

#endif  // DAMPER_ADMIT_CIRCUIT_BREAKER_H_
