#include "damper/lab/record/recorder.h"

#include <algorithm>
#include <utility>

namespace damper::lab {
namespace {

constexpr std::size_t kLatencyTicks = 100;

std::size_t buckets_of(Duration length, Duration bucket) {
  return static_cast<std::size_t>((length + bucket - Duration{1}) / bucket);
}

}  // namespace

Recorder::Recorder(const Scenario& scenario, std::uint64_t seed, bool latency_over_time,
                   GaugeSource& gauges)
    : gauges_(gauges), bucket_end_(scenario.bucket) {
  record_.title = scenario.title();
  record_.seed = seed;
  record_.length = scenario.length;
  record_.bucket = scenario.bucket;
  const std::size_t buckets = buckets_of(scenario.length, scenario.bucket);
  record_.latency_bucket =
      scenario.bucket *
      std::max<std::int64_t>(1, static_cast<std::int64_t>(buckets / kLatencyTicks));
  for (const ServiceSpec& spec : scenario.services) {
    ServiceRecord& service = record_.services.emplace_back();
    service.name = spec.name;
    service.ticks.resize(buckets);
  }
  for (const ClientsSpec& spec : scenario.clients) {
    ClientsRecord& clients = record_.clients.emplace_back();
    clients.name = spec.name;
    clients.ticks.resize(buckets);
    if (latency_over_time) {
      clients.latency_ticks.resize(buckets_of(scenario.length, record_.latency_bucket));
    }
  }
  for (const ControllersSpec& spec : scenario.controllers) {
    ControllersRecord& controllers = record_.controllers.emplace_back();
    controllers.name = spec.name;
    controllers.ticks.resize(buckets);
  }
}

void Recorder::read_gauges(Instant now) {
  for (std::size_t i = 0; i < record_.services.size(); ++i) {
    gauges_.read(i, tick_of(record_.services[i]));
  }
  for (std::size_t i = 0; i < record_.clients.size(); ++i) {
    gauges_.read(i, now, tick_of(record_.clients[i]));
  }
  for (std::size_t i = 0; i < record_.controllers.size(); ++i) {
    gauges_.read(i, now, tick_of(record_.controllers[i]));
  }
}

void Recorder::close_bucket() {
  read_gauges(bucket_end_);
  const std::size_t buckets = buckets_of(record_.length, record_.bucket);
  if (at_ + 1 < buckets) {
    ++at_;
    bucket_end_ = add(bucket_end_, record_.bucket);
  } else {
    bucket_end_ = kNever;  // Events at the very end count in the last bucket.
  }
}

void Recorder::on_arrival(std::size_t service, bool first, bool hedge) {
  ServiceRecord& record = record_.services[service];
  ServiceTick& tick = tick_of(record);
  ++record.attempts;
  if (hedge) {
    ++record.hedges;
    ++tick.hedges;
  } else if (first) {
    ++record.first_tries;
    ++tick.first_tries;
  } else {
    ++tick.retries;
  }
}

void Recorder::on_served(std::size_t service) {
  ++record_.services[service].served;
  ++tick_of(record_.services[service]).served;
}

void Recorder::on_good(std::size_t service, Instant served) {
  ServiceRecord& record = record_.services[service];
  ++record.good;
  const auto at = static_cast<std::size_t>(served.time_since_epoch() / record_.bucket);
  ++record.ticks[std::min(at, at_)].good;
}

void Recorder::on_refused(std::size_t service) {
  ++record_.services[service].refused;
  ++tick_of(record_.services[service]).refused;
}

void Recorder::on_failed(std::size_t service) { ++tick_of(record_.services[service]).failed; }

void Recorder::on_request(std::size_t clients, bool in_fault) {
  ClientsRecord& record = record_.clients[clients];
  ++record.requests;
  if (in_fault) ++record.requests_in_fault;
  ++tick_of(record).requests;
}

void Recorder::on_attempt(std::size_t clients, bool in_fault) {
  ClientsRecord& record = record_.clients[clients];
  ++record.attempts;
  if (in_fault) ++record.attempts_in_fault;
  ++tick_of(record).attempts;
}

void Recorder::on_over(std::size_t clients, Verdict verdict, Instant started) {
  ClientsRecord& record = record_.clients[clients];
  ++record.verdicts[static_cast<std::size_t>(verdict)];
  record_.last_end = now_.time_since_epoch();
  if (verdict != Verdict::success) {
    ++record.failed;
    ++tick_of(record).failed;
    return;
  }
  ++record.succeeded;
  ++tick_of(record).succeeded;
  const Duration latency = between(started, now_);
  record.latency.add(latency);
  if (record.latency_ticks.empty()) return;
  const auto at = static_cast<std::size_t>(now_.time_since_epoch() / record_.latency_bucket);
  record.latency_ticks[std::min(at, record.latency_ticks.size() - 1)].add(latency);
}

void Recorder::on_event(std::size_t controllers, bool in_fault) {
  ControllersRecord& record = record_.controllers[controllers];
  ++record.events;
  if (in_fault) ++record.events_in_fault;
  ++tick_of(record).events;
}

void Recorder::on_run(std::size_t controllers, bool retry, bool in_fault,
                      std::optional<Duration> queued) {
  ControllersRecord& record = record_.controllers[controllers];
  ControllersTick& tick = tick_of(record);
  ++record.runs;
  ++tick.runs;
  if (in_fault) ++record.runs_in_fault;
  if (retry) {
    ++record.retries;
    ++tick.retries;
  }
  if (queued) record.queued.add(*queued);
}

void Recorder::on_run_over(std::size_t controllers, bool succeeded,
                           std::optional<Duration> settled) {
  ControllersRecord& record = record_.controllers[controllers];
  ControllersTick& tick = tick_of(record);
  ++(succeeded ? record.succeeded : record.failed);
  ++(succeeded ? tick.succeeded : tick.failed);
  if (settled) record.settled.add(*settled);
}

Record Recorder::finish(Instant end) {
  advance(end);
  if (bucket_end_ != kNever) read_gauges(end);  // The last one is not full, or the run was cut.
  for (ClientsRecord& clients : record_.clients) {
    clients.unfinished = clients.requests - clients.succeeded - clients.failed;
  }
  return std::move(record_);
}

}  // namespace damper::lab
