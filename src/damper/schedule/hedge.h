#ifndef DAMPER_SCHEDULE_HEDGE_H_
#define DAMPER_SCHEDULE_HEDGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::schedule {

struct HedgeOptions {
  std::int32_t max_hedges = 0;     // 0 (off) to 3: extra attempts in flight beside the first
  Percent quantile = Percent(95);  // [50, 99.99 %]: hedge when an answer is later than this
  Duration floor = std::chrono::milliseconds(1);  // never sooner than this; > 0
  std::int32_t min_samples = 100;  // 1 to 1,000,000: no hedging before so many latencies are known
  Percent ratio = Percent(5);      // (0, 100 %]: hedges per request, over the budget's window
};

[[nodiscard]] std::optional<std::string> find_error(const HedgeOptions& options);

}  // namespace damper::schedule

#endif  // DAMPER_SCHEDULE_HEDGE_H_
