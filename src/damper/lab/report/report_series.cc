#include "damper/lab/report/report_series.h"

#include <array>
#include <limits>

namespace damper::lab {
namespace {

template <auto field>
double service_field(const ServiceTick& tick) {
  return tick.*field;
}

template <auto field>
double clients_field(const ClientsTick& tick) {
  return tick.*field;
}

constexpr auto kService = std::to_array<TickSeries<ServiceTick>>({
    {"first_tries", service_field<&ServiceTick::first_tries>},
    {"retries", service_field<&ServiceTick::retries>},
    {"hedges", service_field<&ServiceTick::hedges>},
    {"served", service_field<&ServiceTick::served>},
    {"good", service_field<&ServiceTick::good>},
    {"refused", service_field<&ServiceTick::refused>},
    {"failed", service_field<&ServiceTick::failed>},
    {"queued", service_field<&ServiceTick::queued>},
    {"working", service_field<&ServiceTick::working>},
    {"limit", service_field<&ServiceTick::limit>},
});

constexpr auto kClients = std::to_array<TickSeries<ClientsTick>>({
    {"requests", clients_field<&ClientsTick::requests>},
    {"attempts", clients_field<&ClientsTick::attempts>},
    {"succeeded", clients_field<&ClientsTick::succeeded>},
    {"failed", clients_field<&ClientsTick::failed>},
    {"in_flight", clients_field<&ClientsTick::in_flight>},
    {"budget", clients_field<&ClientsTick::budget>},
});

template <auto field>
double controllers_field(const ControllersTick& tick) {
  return tick.*field;
}

constexpr auto kControllers = std::to_array<TickSeries<ControllersTick>>({
    {"events", controllers_field<&ControllersTick::events>},
    {"runs", controllers_field<&ControllersTick::runs>},
    {"retries", controllers_field<&ControllersTick::retries>},
    {"succeeded", controllers_field<&ControllersTick::succeeded>},
    {"failed", controllers_field<&ControllersTick::failed>},
    {"waiting", controllers_field<&ControllersTick::waiting>},
    {"failing", controllers_field<&ControllersTick::failing>},
    {"running", controllers_field<&ControllersTick::running>},
    {"parked", controllers_field<&ControllersTick::parked>},
    {"budget", controllers_field<&ControllersTick::budget>},
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
