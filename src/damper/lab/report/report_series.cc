#include "damper/lab/report/report_series.h"

#include <array>
#include <limits>

namespace damper::lab {
namespace {

constexpr auto kService = std::to_array<TickSeries<ServiceTick>>({
    {"first_tries", field<&ServiceTick::first_tries>},
    {"retries", field<&ServiceTick::retries>},
    {"hedges", field<&ServiceTick::hedges>},
    {"served", field<&ServiceTick::served>},
    {"good", field<&ServiceTick::good>},
    {"refused", field<&ServiceTick::refused>},
    {"failed", field<&ServiceTick::failed>},
    {"queued", field<&ServiceTick::queued>},
    {"working", field<&ServiceTick::working>},
    {"limit", field<&ServiceTick::limit>},
});

constexpr auto kClients = std::to_array<TickSeries<ClientsTick>>({
    {"requests", field<&ClientsTick::requests>},
    {"attempts", field<&ClientsTick::attempts>},
    {"succeeded", field<&ClientsTick::succeeded>},
    {"failed", field<&ClientsTick::failed>},
    {"in_flight", field<&ClientsTick::in_flight>},
    {"budget", field<&ClientsTick::budget>},
});

constexpr auto kControllers = std::to_array<TickSeries<ControllersTick>>({
    {"events", field<&ControllersTick::events>},
    {"runs", field<&ControllersTick::runs>},
    {"retries", field<&ControllersTick::retries>},
    {"succeeded", field<&ControllersTick::succeeded>},
    {"failed", field<&ControllersTick::failed>},
    {"waiting", field<&ControllersTick::waiting>},
    {"failing", field<&ControllersTick::failing>},
    {"running", field<&ControllersTick::running>},
    {"parked", field<&ControllersTick::parked>},
    {"budget", field<&ControllersTick::budget>},
});

constexpr auto kLatency = std::to_array<LatencySeries>({
    {"p50_ms", Percent(50)},
    {"p99_ms", Percent(99)},
    {"p999_ms", Percent::from_hundredths(9990)},
});

}  // namespace

std::span<const TickSeries<ServiceTick>> service_series() { return kService; }
std::span<const TickSeries<ClientsTick>> clients_series() { return kClients; }
std::span<const TickSeries<ControllersTick>> controllers_series() { return kControllers; }
std::span<const LatencySeries> latency_series() { return kLatency; }

double latency_of(const LatencySketch& sketch, const LatencySeries& series) {
  const auto found = sketch.quantile(series.share);
  return found ? static_cast<double>(found->count()) / 1e6
               : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace damper::lab
