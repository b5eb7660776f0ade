#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::schedule {

struct HedgeOptions {
  static constexpr Range<std::int32_t> kMaxHedges{0, 3};
  static constexpr Range<Percent> kQuantile{Percent(50), Percent::from_hundredths(9999)};
  static constexpr Range<Duration> kFloor{Duration{1}, kLongest};
  static constexpr Range<std::int32_t> kMinSamples{1, 1'000'000};
  static constexpr Range<Percent> kRatio{Percent::from_hundredths(1), Percent(100)};

  std::int32_t max_hedges = 0;     // extra attempts in flight beside the first; 0 disables hedging
  Percent quantile = Percent(95);  // a hedge is sent when an answer is later than this
  Duration floor = std::chrono::milliseconds(1);  // the least delay of a hedge
  std::int32_t min_samples = 100;                 // with fewer latencies known, no hedge is sent
  Percent ratio = Percent(5);                     // hedges per request, over the budget's window

  friend bool operator==(const HedgeOptions&, const HedgeOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const HedgeOptions& options);

// The delay between an attempt and its hedge; nothing if there is no hedge.
//
// Model: the live quantile, held between the floor and half the remaining time: an outage raises
// the quantile, and a late hedge does not help (Dean and Barroso, "The Tail at Scale",
// CACM 2013).
// Invariants:
//   (1) Nothing while `live` is unknown: a cold histogram would hedge everything.
//   (2) floor <= delay <= remaining / 2; nothing when that is empty.
[[nodiscard]] std::optional<Duration> hedge_delay(const HedgeOptions& options,
                                                  std::optional<Duration> live,
                                                  Duration remaining) noexcept;

}  // namespace damper::schedule
