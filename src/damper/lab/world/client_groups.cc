#include "damper/lab/world/client_groups.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::lab {
namespace {

// The least pause in a closed loop after a request that took no time, such as one refused by the
// client's breaker. Without it, virtual time would not advance.
constexpr Duration kLeastPause = std::chrono::milliseconds(1);

}  // namespace

ClientGroups::ClientGroups(Simulation& simulation) : sim_(simulation) {
  for (const ClientsSpec& spec : sim_.scenario.clients) {
    const auto index = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back({.spec = &spec,
                       .service = sim_.position(spec.calls),
                       .arrivals = Arrivals(spec, index, sim_.streams),
                       .dependencies = sim_.make_dependencies(spec.calls, spec.processes),
                       .processes = std::vector<Process>(static_cast<std::size_t>(spec.processes),
                                                         Process{.tokens = spec.bucket})});
    Arrivals& arrivals = groups_.back().arrivals;
    for (std::uint32_t source = 0; source < arrivals.sources(); ++source) {
      sim_.queue.schedule(arrivals.first(source), {EventKind::begin, index, source});
    }
  }
}

void ClientGroups::on_begin(std::uint32_t group, std::uint64_t detail) {
  Arrivals& arrivals = groups_[group].arrivals;
  const auto source = static_cast<std::uint32_t>(detail);
  const auto nth = static_cast<std::uint32_t>(detail >> 32);
  const double rush = sim_.faults.spike(group);
  const std::uint32_t begun = arrivals.begin(rush);
  sim_.queue.schedule(arrivals.next(sim_.now(), rush),
                      {EventKind::begin, group, std::uint64_t{nth + 1} << 32 | source});
  for (std::uint32_t i = 0; i < begun; ++i) {
    begin_request(group, arrivals.by_client() ? source : arrivals.next_client(), nth);
  }
}

void ClientGroups::begin_request(std::uint32_t index, std::uint32_t client, std::uint32_t nth) {
  Group& group = groups_[index];
  const ClientsSpec& spec = *group.spec;
  const std::uint32_t process = group.process_of(client);
  const engine::CallOptions options{
      .request = {.idempotent = spec.idempotent,
                  .rereads = sim_.scenario.services[group.service].optimistic},
      .deadline = schedule::Deadline(add(sim_.now(), spec.deadline)),
  };
  const CallData data{.in_fault = sim_.faults.any(),
                      .criticality = spec.criticality,
                      .group = index,
                      .service = group.service,
                      .origin = std::uint64_t{nth} << 32 | client};
  const Handle request = sim_.calls.prepare(*group.dependencies[process], options,
                                            group.arrivals.number(client, nth), data);
  ++group.in_flight;
  Process& counts = group.processes[process];
  ++counts.requests;
  counts.tokens = std::min(counts.tokens + spec.bucket_refill, spec.bucket);
  sim_.recorder.on_request(index, data.in_fault);
  sim_.calls.start(request);
}

void ClientGroups::on_over(const Calls::Operation& request, Verdict verdict) {
  const std::uint32_t index = request.data.group;
  --groups_[index].in_flight;
  sim_.recorder.on_over(index, verdict, request.started);
  const auto client = static_cast<std::uint32_t>(request.data.origin);
  const auto nth = static_cast<std::uint32_t>(request.data.origin >> 32);
  const Instant now = sim_.now();
  Instant next = groups_[index].arrivals.after_answer(client, nth, now);
  if (request.started == now) next = std::max(next, add(now, kLeastPause));
  sim_.queue.schedule(next, {EventKind::begin, index, std::uint64_t{nth + 1} << 32 | client});
}

bool ClientGroups::gives_up(const Calls::Operation& request, std::uint32_t attempt) {
  Group& group = groups_[request.data.group];
  const ClientsSpec& spec = *group.spec;
  const auto client = static_cast<std::uint32_t>(request.data.origin);
  Process& counts = group.processes[group.process_of(client)];
  ++counts.failures;
  if (spec.gives_up_over < 1 && counts.failures / counts.requests > spec.gives_up_over) {
    return true;
  }
  if (spec.bucket > 0) {
    if (counts.tokens <= 1) return true;
    counts.tokens -= 1;
  }
  return spec.gives_up > 0 &&
         sim_.streams.draw(Purpose::patience, request.number, attempt) < spec.gives_up;
}

void ClientGroups::read(std::size_t index, Instant now, ClientsTick& tick) const {
  const Group& group = groups_[index];
  tick.in_flight = group.in_flight;
  // The mean of up to a hundred processes, evenly chosen.
  const std::size_t stride = (group.dependencies.size() + 99) / 100;
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < group.dependencies.size(); i += stride, ++count) {
    sum += group.dependencies[i]->budget().balance(now);
  }
  tick.budget = static_cast<float>(sum / static_cast<double>(count));
}

void ClientGroups::check(const std::vector<std::size_t>& in_flight) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    DAMPER_CHECK(groups_[i].in_flight == in_flight[i]);
  }
}

}  // namespace damper::lab
