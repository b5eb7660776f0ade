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

  friend bool operator==(const HedgeOptions&, const HedgeOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const HedgeOptions& options);

// How long after an attempt was sent a second one should follow it; nothing when none should.
//
// Model: the live quantile, held between the floor and half the remaining time: an outage raises
// the quantile, and a hedge that comes too late is no help (Dean and Barroso, "The Tail at Scale",
// CACM 2013).
// Invariants:
//   (1) Nothing while `live` is unknown: a cold histogram would hedge everything.
//   (2) floor <= delay <= remaining / 2; nothing when that is empty.
[[nodiscard]] std::optional<Duration> hedge_delay(const HedgeOptions& options,
                                                  std::optional<Duration> live,
                                                  Duration remaining) noexcept;

}  // namespace damper::schedule

#endif  // DAMPER_SCHEDULE_HEDGE_H_
