#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "damper/base/percent.h"
#include "damper/lab/record/record.h"

namespace damper::lab {

// The series of a record by name, for JSON, CSV and the charts. The names are those of the fields
// in record.h. Counts are of a bucket; levels are those at its end.
template <typename Tick>
struct TickSeries {
  std::string_view name;
  double (*of)(const Tick& tick);
};

// A member of a tick as the function of a series.
template <auto member, class Tick>
[[nodiscard]] double field(const Tick& tick) {
  return tick.*member;
}

[[nodiscard]] std::span<const TickSeries<ServiceTick>> service_series();
[[nodiscard]] std::span<const TickSeries<ClientsTick>> clients_series();
[[nodiscard]] std::span<const TickSeries<ControllersTick>> controllers_series();

// Percentiles of the latency of successful requests, in milliseconds.
struct LatencySeries {
  std::string_view name;  // p50_ms, p99_ms, p999_ms
  Percent share;
};
[[nodiscard]] std::span<const LatencySeries> latency_series();

// In milliseconds; not a number when there are none.
[[nodiscard]] double latency_of(const LatencySketch& sketch, const LatencySeries& series);

// A count or level of every bucket.
template <typename Tick>
[[nodiscard]] std::vector<double> values_of(const std::vector<Tick>& ticks,
                                            double (*of)(const Tick& tick)) {
  std::vector<double> values;
  values.reserve(ticks.size());
  for (const Tick& tick : ticks) values.push_back(of(tick));
  return values;
}

}  // namespace damper::lab
