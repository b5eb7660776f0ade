#include "damper/http/server/guard_metrics.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "damper/observe/labels.h"

namespace damper::http {
namespace {

using observe::Exposition;
using observe::Labels;

struct Door {
  const std::string& name;
  const AdmissionTally& tally;
  std::int32_t in_flight;
  std::int32_t limit;
};

void write_door(const Door& door, Exposition& out) {
  for (const Verdict verdict : kAdmissionVerdicts) {
    for (std::size_t i = 0; i < admit::kCriticalities; ++i) {
      const auto c = static_cast<admit::Criticality>(i);
      out.counter("damper_server_requests_total", "Requests that came, by what became of them.",
                  Labels{{"server", door.name},
                         {"verdict", std::string(name(verdict))},
                         {"criticality", std::string(admit::name(c))}},
                  door.tally.requests(verdict, c));
    }
  }
  const Labels labels{{"server", door.name}};
  out.gauge("damper_server_inflight_requests", "Requests that are worked on.", labels,
            door.in_flight);
  out.gauge("damper_server_limit", "Requests that may be worked on at once.", labels, door.limit);
  out.counter("damper_server_overruns_total", "Work that ended after its deadline.", labels,
              door.tally.overruns.load(std::memory_order_relaxed));
  out.histogram("damper_server_work_seconds", "How long the work for a request took.", labels,
                observe::read_latencies(door.tally.works));
}

void write_queue(const Door& door, Instant now, Exposition& out) {
  const Labels labels{{"server", door.name}};
  out.gauge("damper_server_queue_depth", "Requests in the queue.", labels,
            door.tally.depth.load(std::memory_order_relaxed));
  const Instant oldest = door.tally.oldest.load(std::memory_order_relaxed);
  const Duration age = oldest == kNever ? Duration{0} : std::max(Duration{0}, between(oldest, now));
  out.gauge("damper_server_queue_age_seconds",
            "How long the request that waits longest has waited.", labels,
            std::chrono::duration<double>(age).count());
  out.histogram("damper_server_queue_wait_seconds",
                "How long requests waited before they were worked on.", labels,
                observe::read_latencies(door.tally.waits));
}

}  // namespace

GuardMetrics::GuardMetrics(observe::Registry& registry, Clock now)
    : registry_(registry), now_(std::move(now)) {}

observe::Registry::Collection GuardMetrics::add(const Guard& guard) {
  return registry_.collect([&guard, now = now_](Exposition& out) {
    const Admission& admission = guard.admission();
    const Door door{guard.name(), admission.tally(), admission.in_flight(), admission.limit()};
    write_door(door, out);
    write_queue(door, now(), out);
  });
}

observe::Registry::Collection GuardMetrics::add(const ThreadGate& gate) {
  return registry_.collect([&gate](Exposition& out) {
    write_door({gate.name(), gate.tally(), gate.in_flight(), gate.limit()}, out);
  });
}

}  // namespace damper::http
