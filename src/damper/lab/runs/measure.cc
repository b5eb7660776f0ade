#include "damper/lab/runs/measure.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "damper/base/percent.h"

namespace damper::lab {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr Duration kTallest = std::chrono::milliseconds(100);
constexpr Duration kSecond = std::chrono::seconds(1);

double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e9; }

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? kNone : static_cast<double>(part) / static_cast<double>(whole);
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? kNone : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::optional<std::size_t> find_record(const Record& record, std::string_view name) {
  const auto found = std::ranges::find(record.services, name, &ServiceRecord::name);
  if (found == record.services.end()) return std::nullopt;
  return static_cast<std::size_t>(found - record.services.begin());
}

const ServiceSpec* find_spec(const Scenario& scenario, std::string_view name) {
  const auto found = std::ranges::find(scenario.services, name, &ServiceSpec::name);
  return found == scenario.services.end() ? nullptr : &*found;
}

const ServiceRecord* service(const Scenario& scenario, const Record& record) {
  const auto at = called_service(scenario, record);
  return at ? &record.services[*at] : nullptr;
}

const ClientsRecord* clients(const Record& record) {
  return record.clients.empty() ? nullptr : &record.clients.front();
}

const ControllersRecord* controllers(const Record& record) {
  return record.controllers.empty() ? nullptr : &record.controllers.front();
}

// Functions of the first clients, the service or the first controllers as measures of a run.
template <auto of>
double of_clients(const Scenario&, const Record& record) {
  return record.clients.empty() ? kNone : of(record.clients.front());
}
template <auto of>
double of_service(const Scenario& scenario, const Record& record) {
  const ServiceRecord* const at = service(scenario, record);
  return at == nullptr ? kNone : of(*at);
}
template <auto of>
double of_controllers(const Scenario&, const Record& record) {
  return record.controllers.empty() ? kNone : of(record.controllers.front());
}

// The latencies of the first clients or controllers.
template <auto groups, auto latency>
const LatencySketch* latencies_of(const Record& record) {
  return (record.*groups).empty() ? nullptr : &((record.*groups).front().*latency);
}
constexpr auto kLatency = latencies_of<&Record::clients, &ClientsRecord::latency>;
constexpr auto kQueued = latencies_of<&Record::controllers, &ControllersRecord::queued>;
constexpr auto kSettled = latencies_of<&Record::controllers, &ControllersRecord::settled>;

// A percentile of latencies, in ms.
template <auto latencies, std::int32_t hundredths>
constexpr Measure percentile(std::string_view name, std::string_view what) {
  return {name,
          "ms",
          what,
          [](const Scenario&, const Record& record) {
            const LatencySketch* const all = latencies(record);
            const auto found =
                all == nullptr ? std::nullopt : all->quantile(Percent::from_hundredths(hundredths));
            return found ? static_cast<double>(found->count()) / 1e6 : kNone;
          },
          latencies,
          Percent::from_hundredths(hundredths)};
}

double deepest(const ServiceRecord& of) {
  std::uint32_t most = 0;
  for (const ServiceTick& tick : of.ticks) most = std::max(most, tick.queued);
  return most;
}
template <std::uint32_t ControllersTick::*level>
double last_level(const ControllersRecord& group) {
  return group.ticks.empty() ? kNone : group.ticks.back().*level;
}

// The service that the first controllers call.
const ServiceRecord* controlled_service(const Scenario& scenario, const Record& record) {
  if (scenario.controllers.empty()) return nullptr;
  const auto at = find_record(record, scenario.controllers.front().calls);
  return at ? &record.services[*at] : nullptr;
}

// The first bucket of the last tenth of the run.
std::size_t last_tenth(const Record& record) {
  if (record.bucket <= Duration{0}) return 0;
  const Duration from = record.length - record.length / 10;
  return static_cast<std::size_t>((from + record.bucket - Duration{1}) / record.bucket);
}

std::optional<Duration> last_fault_end(const Scenario& scenario) {
  std::optional<Duration> last;
  for (const FaultSpec& fault : scenario.faults) {
    last = std::max(last.value_or(Duration{0}), fault.end());
  }
  return last;
}

// The number of buckets in `time`; at least one.
std::size_t buckets_of(Duration time, const Record& record) {
  if (record.bucket <= Duration{0}) return 1;
  return static_cast<std::size_t>(std::max<std::int64_t>(time / record.bucket, 1));
}

double attempts_at_bottom(const Scenario& scenario, const Record& record) {
  const auto bottom = bottom_service(scenario, record);
  std::uint64_t requests = 0;
  for (const ClientsRecord& group : record.clients) requests += group.requests;
  return bottom ? ratio(record.services[*bottom].attempts, requests) : kNone;
}

double goodput_at_end(const Scenario& scenario, const Record& record) {
  const ClientsRecord* const group = clients(record);
  if (group == nullptr) return kNone;
  std::uint64_t offered = 0;
  std::uint64_t succeeded = 0;
  for (std::size_t i = last_tenth(record); i < group->ticks.size(); ++i) {
    offered += group->ticks[i].requests;
    succeeded += group->ticks[i].succeeded;
  }
  // A closed loop offers nothing while all its clients wait.
  const bool closed = !scenario.clients.empty() && scenario.clients.front().loop == Loop::closed;
  if (offered == 0 && closed && !group->ticks.empty()) offered = group->ticks.back().in_flight;
  return std::min(percent(succeeded, offered), 100.0);  // In this order, NaN stays.
}

double collapsed(const Scenario& scenario, const Record& record) {
  if (clients(record) == nullptr) return kNone;
  const Duration calm = last_fault_end(scenario).value_or(Duration{0});
  if (calm > record.length - record.length / 10) return kNone;
  return goodput_at_end(scenario, record) < 50 ? 1 : 0;
}

// Whether 99 % of the requests offered in buckets [first, last) succeeded. Requests in flight count
// as successes if there are at most `normal`.
bool is_good(std::span<const ClientsTick> ticks, std::size_t first, std::size_t last,
             std::int64_t normal) {
  std::int64_t offered = 0;
  std::int64_t good = 0;
  for (std::size_t i = first; i < last; ++i) {
    offered += ticks[i].requests;
    good += ticks[i].succeeded;
  }
  const std::int64_t under_way = ticks[last - 1].in_flight;
  const std::int64_t before = first == 0 ? 0 : ticks[first - 1].in_flight;
  if (under_way <= normal) good += std::max<std::int64_t>(under_way - before, 0);
  return good * 100 >= offered * 99;
}

// For controllers: until at most 1 % of the healthy keys are failing.
double settled_after(const Scenario& scenario, const Record& record, Duration over) {
  const ControllersRecord* const group = controllers(record);
  if (group == nullptr || scenario.controllers.empty()) return kNone;
  const ControllersSpec& spec = scenario.controllers.front();
  const std::uint64_t healthy =
      static_cast<std::uint64_t>(spec.count) * static_cast<std::uint64_t>(spec.keys);
  const auto start = static_cast<std::size_t>((over + record.bucket - Duration{1}) / record.bucket);
  std::size_t back = start;
  for (std::size_t i = start; i < group->ticks.size(); ++i) {
    if (std::uint64_t{group->ticks[i].failing} * 100 > healthy) back = i + 1;
  }
  if (back >= group->ticks.size()) return seconds(record.length - over);
  return seconds(record.bucket * static_cast<std::int64_t>(back - start));
}

double back_after(const Scenario& scenario, const Record& record) {
  const ClientsRecord* const group = clients(record);
  const auto over = last_fault_end(scenario);
  if (record.bucket <= Duration{0}) return kNone;
  if (group == nullptr && controllers(record) == nullptr) return kNone;
  if (!over) return 0;
  if (*over >= record.length) return kNone;
  if (group == nullptr) return settled_after(scenario, record, *over);
  Duration calm = record.length;  // The time before the first fault.
  for (const FaultSpec& fault : scenario.faults) calm = std::min(calm, fault.at);
  std::int64_t normal = 0;  // Twice the most in flight before the first fault.
  const auto healthy = static_cast<std::size_t>(std::max(calm, Duration{0}) / record.bucket);
  for (std::size_t i = 0; i < std::min(healthy, group->ticks.size()); ++i) {
    normal = std::max<std::int64_t>(normal, std::int64_t{2} * group->ticks[i].in_flight);
  }
  const std::size_t window = buckets_of(kSecond, record);
  const auto start =
      static_cast<std::size_t>((*over + record.bucket - Duration{1}) / record.bucket);
  std::size_t back = start;
  bool seen = false;
  for (std::size_t at = start; at + window <= group->ticks.size(); at += window) {
    seen = is_good(group->ticks, at, at + window, normal);
    if (!seen) back = at + window;
  }
  if (!seen) return seconds(record.length - *over);
  return seconds(record.bucket * static_cast<std::int64_t>(back - start));
}

// The maximum of `count` in 100 ms; of longer buckets, the share of 100 ms.
template <typename Count>
double tallest(const Scenario& scenario, const Record& record, Count count) {
  const ServiceRecord* const at = service(scenario, record);
  if (at == nullptr) return kNone;
  const std::size_t window = buckets_of(kTallest, record);
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < at->ticks.size(); i += window) {
    std::uint64_t sum = 0;
    for (std::size_t j = i; j < std::min(i + window, at->ticks.size()); ++j) {
      sum += count(at->ticks[j]);
    }
    most = std::max(most, sum);
  }
  const double share = record.bucket > kTallest ? seconds(kTallest) / seconds(record.bucket) : 1;
  return static_cast<double>(most) * share;
}

double tallest_retries(const Scenario& scenario, const Record& record) {
  return tallest(scenario, record, [](const ServiceTick& tick) { return tick.retries; });
}

std::uint64_t arrived(const ServiceTick& tick) {
  return std::uint64_t{tick.first_tries} + tick.retries + tick.hedges;
}

double tallest_attempts(const Scenario& scenario, const Record& record) {
  return tallest(scenario, record, arrived);
}

double arrivals_at_end(const Scenario& scenario, const Record& record) {
  const ServiceRecord* const at = service(scenario, record);
  if (at == nullptr) return kNone;
  const std::size_t first = last_tenth(record);
  if (first >= at->ticks.size()) return kNone;
  std::uint64_t sum = 0;
  for (std::size_t i = first; i < at->ticks.size(); ++i) sum += arrived(at->ticks[i]);
  const auto buckets = static_cast<std::int64_t>(at->ticks.size() - first);
  return static_cast<double>(sum) / seconds(record.bucket * buckets);
}

template <std::int64_t limit_ms>
double over(const Scenario&, const Record& record) {
  const ClientsRecord* const group = clients(record);
  if (group == nullptr || group->latency.count() == 0) return kNone;
  // The largest share, in hundredths of a percent, at most `limit_ms`; -1: none.
  std::int32_t low = -1;
  std::int32_t high = Percent::kDenominator + 1;
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    const Duration took = *group->latency.quantile(Percent::from_hundredths(middle));
    (took <= std::chrono::milliseconds(limit_ms) ? low : high) = middle;
  }
  return (Percent::kDenominator - std::max(low, 0)) / 100.0;
}

bool is_in_fault(const Scenario& scenario, Duration from, Duration to) {
  return std::ranges::any_of(
      scenario.faults, [&](const FaultSpec& fault) { return fault.at < to && fault.end() > from; });
}

// Attempts per second in windows of 100 ms during faults: mean and maximum.
struct LoadInFault {
  double mean = kNone;
  double most = kNone;
};

LoadInFault find_load_in_fault(const Scenario& scenario, const Record& record) {
  const ServiceRecord* const at = controlled_service(scenario, record);
  if (at == nullptr || record.bucket <= Duration{0}) return {};
  const std::size_t window = buckets_of(kTallest, record);
  const double length = seconds(record.bucket * static_cast<std::int64_t>(window));
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  std::int64_t windows = 0;
  for (std::size_t i = 0; i + window <= at->ticks.size(); i += window) {
    const Duration from = record.bucket * static_cast<std::int64_t>(i);
    const Duration to = record.bucket * static_cast<std::int64_t>(i + window);
    if (!is_in_fault(scenario, from, to)) continue;
    std::uint64_t attempts = 0;
    for (std::size_t j = i; j < i + window; ++j) attempts += arrived(at->ticks[j]);
    sum += attempts;
    most = std::max(most, attempts);
    ++windows;
  }
  if (windows == 0) return {};
  return {static_cast<double>(sum) / (length * static_cast<double>(windows)),
          static_cast<double>(most) / length};
}

double load_in_fault(const Scenario& scenario, const Record& record) {
  return find_load_in_fault(scenario, record).mean;
}

double peak_in_fault(const Scenario& scenario, const Record& record) {
  return find_load_in_fault(scenario, record).most;
}

constexpr auto kMeasures = std::to_array<Measure>({
    {"attempts_per_request", "", "Attempts sent for each request",
     of_clients<[](const ClientsRecord& of) { return ratio(of.attempts, of.requests); }>},
    {"attempts_per_request_in_fault", "",
     "Attempts sent for each request that started while a fault was on",
     of_clients<[](const ClientsRecord& of) {
       return ratio(of.attempts_in_fault, of.requests_in_fault);
     }>},
    {"attempts_at_bottom", "", "Attempts that reached the end of the chain for each request",
     attempts_at_bottom},
    {"success", "%", "Requests that succeeded, of those that are over",
     of_clients<[](const ClientsRecord& of) {
       return percent(of.succeeded, of.succeeded + of.failed);
     }>},
    {"goodput_at_end", "%", "Successes in the last tenth of the run, by what was offered in it",
     goodput_at_end},
    {"collapsed", "", "Runs that were down at the end though every fault was over", collapsed},
    {"back_after", "s",
     "From the last fault's end until 99 % of what is offered succeeds; of controllers, until at "
     "most 1 % of the healthy keys fail",
     back_after},
    {"tallest_retries", "", "Most retries that reached the service in 100 ms", tallest_retries},
    {"tallest_attempts", "", "Most attempts that reached the service in 100 ms", tallest_attempts},
    {"arrivals_at_end", "/s", "Attempts that reached the service in the last tenth of the run",
     arrivals_at_end},
    {"wasted", "%", "What the service served that was an error, or wanted no more",
     of_service<[](const ServiceRecord& of) {
       return percent(of.served - std::min(of.good, of.served), of.served);
     }>},
    {"refused", "%", "Attempts that queue or limit of the service turned away",
     of_service<[](const ServiceRecord& of) { return percent(of.refused, of.attempts); }>},
    {"deepest_queue", "", "Most requests that waited at the service", of_service<deepest>},
    {"hedges", "%", "Hedges that reached the service, by first try",
     of_service<[](const ServiceRecord& of) { return percent(of.hedges, of.first_tries); }>},
    percentile<kLatency, 5000>("p50", "Half of the successful requests took no longer"),
    percentile<kLatency, 9900>("p99", "99 % of the successful requests took no longer"),
    percentile<kLatency, 9990>("p999", "99.9 % of the successful requests took no longer"),
    {"over_half_second", "%", "Successful requests that took over 500 ms", over<500>},
    {"over_second", "%", "Successful requests that took over 1 s", over<1000>},
    {"requests", "", "Requests of the clients",
     of_clients<[](const ClientsRecord& of) { return static_cast<double>(of.requests); }>},
    {"attempts", "", "Attempts of the clients",
     of_clients<[](const ClientsRecord& of) { return static_cast<double>(of.attempts); }>},
    {"failed", "%", "Requests that ended without success, of all",
     of_clients<[](const ClientsRecord& of) { return percent(of.failed, of.requests); }>},
    {"last_end", "s", "Until the last request was over",
     [](const Scenario&, const Record& record) { return seconds(record.last_end); }},
    {"runs_per_event", "", "Runs that controllers started for each event",
     of_controllers<[](const ControllersRecord& of) { return ratio(of.runs, of.events); }>},
    {"runs_per_event_in_fault", "",
     "Runs that controllers started while a fault was on for each event that came then",
     of_controllers<[](const ControllersRecord& of) {
       return ratio(of.runs_in_fault, of.events_in_fault);
     }>},
    {"retried_runs", "%", "Runs of controllers that were retries",
     of_controllers<[](const ControllersRecord& of) { return percent(of.retries, of.runs); }>},
    {"load_in_fault", "/s", "Attempts that reached the controllers' service while a fault was on",
     load_in_fault},
    {"peak_in_fault", "/s", "The same in the busiest 100 ms", peak_in_fault},
    percentile<kQueued, 9900>("queued_p99",
                              "99 % of the runs of healthy keys waited no longer for a worker"),
    percentile<kSettled, 9900>(
        "settled_p99",
        "99 % of the events of healthy keys were followed by a successful run no later"),
    {"failing_at_end", "", "Healthy keys whose last run had failed, at the end",
     of_controllers<last_level<&ControllersTick::failing>>},
    {"backlog_at_end", "", "Keys that waited for a worker or for their time, at the end",
     of_controllers<last_level<&ControllersTick::waiting>>},
    {"parked_at_end", "", "Keys that controllers had given up, at the end",
     of_controllers<last_level<&ControllersTick::parked>>},
});

}  // namespace

std::span<const Measure> measures() { return kMeasures; }

const Measure* find_measure(std::string_view name) {
  const auto* const found = std::ranges::find(kMeasures, name, &Measure::name);
  return found == kMeasures.end() ? nullptr : found;
}

bool is_collapsed(const Scenario& scenario, const Record& record) {
  return collapsed(scenario, record) > 0;
}

std::optional<std::size_t> called_service(const Scenario& scenario, const Record& record) {
  return find_record(record, scenario.first_called());
}

std::optional<std::size_t> bottom_service(const Scenario& scenario, const Record& record) {
  std::string_view at = scenario.first_called();
  for (std::size_t step = 0; step < scenario.services.size(); ++step) {  // A circle ends, too.
    const ServiceSpec* const spec = find_spec(scenario, at);
    if (spec == nullptr || spec->calls.empty()) break;
    at = spec->calls.back().service;
  }
  return find_record(record, at);
}

}  // namespace damper::lab
