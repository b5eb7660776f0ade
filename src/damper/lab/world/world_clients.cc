#include "damper/lab/world/world_parts.h"

#include <algorithm>

namespace damper::lab {

namespace {

// A client whose request was over in no time, refused by its own breaker say, begins the next one
// so much later, at the least. Or time would stand still while it goes round in a closed loop.
constexpr Duration kLeastPause = std::chrono::milliseconds(1);

}  // namespace

void World::on_begin(std::uint32_t index, std::uint64_t detail) {
  Arrivals& arrivals = arrivals_[index];
  const auto source = static_cast<std::uint32_t>(detail);
  const auto nth = static_cast<std::uint32_t>(detail >> 32);
  const double rush = weather_.spike(index);
  const std::uint32_t begun = arrivals.begin(rush);
  queue_.schedule(arrivals.next(queue_.now(), rush),
                  {Kind::begin, index, std::uint64_t{nth + 1} << 32 | source});
  for (std::uint32_t i = 0; i < begun; ++i) {
    begin_request(index, arrivals.by_client() ? source : arrivals.next_client(), nth);
  }
}

void World::begin_request(std::uint32_t index, std::uint32_t client, std::uint32_t nth) {
  Group& group = groups_[index];
  const ClientsSpec& spec = *group.spec;
  const std::uint32_t process = client % static_cast<std::uint32_t>(spec.processes);
  const engine::CallOptions options{
      .idempotent = spec.idempotent,
      .rereads = services_[group.service].spec->optimistic,
      .deadline = schedule::Deadline(add(queue_.now(), spec.deadline)),
  };
  const Handle handle = callers_.prepare(*group.dependencies[process], options);
  Operation& operation = *callers_.find(handle);
  operation.number = arrivals_[index].number(client, nth);
  operation.origin = std::uint64_t{nth} << 32 | client;
  operation.process = index;
  operation.target = group.service;
  operation.criticality = spec.criticality;
  operation.in_fault = weather_.any();
  ++group.in_flight;
  Patience& patience = group.patience[process];
  ++patience.requests;
  patience.tokens = std::min(patience.tokens + spec.bucket_refill, spec.bucket);
  recorder_.on_request(index, operation.in_fault);
  callers_.start(handle);
}

void World::on_request_over(const Operation& caller, Verdict verdict) {
  const std::uint32_t index = caller.process;
  --groups_[index].in_flight;
  recorder_.on_over(index, verdict, caller.started);
  const auto client = static_cast<std::uint32_t>(caller.origin);
  const auto nth = static_cast<std::uint32_t>(caller.origin >> 32);
  const Instant now = queue_.now();
  Instant next = arrivals_[index].after_answer(client, nth, now);
  if (caller.started == now) next = std::max(next, add(now, kLeastPause));
  queue_.schedule(next, {Kind::begin, index, std::uint64_t{nth + 1} << 32 | client});
}

// Whether the caller goes away after this failure, whatever the engine would do.
bool World::gives_up(const Operation& caller, const Message& message) {
  if (caller.sender != Sender::client) return false;
  Group& group = groups_[caller.process];
  const ClientsSpec& spec = *group.spec;
  const auto processes = static_cast<std::uint32_t>(spec.processes);
  Patience& patience = group.patience[static_cast<std::uint32_t>(caller.origin) % processes];
  ++patience.failures;
  if (spec.gives_up_over < 1 && patience.failures / patience.requests > spec.gives_up_over) {
    return true;
  }
  if (spec.bucket > 0) {
    if (patience.tokens <= 1) return true;
    patience.tokens -= 1;
  }
  return spec.gives_up > 0 &&
         streams_.draw(Purpose::patience, message.number, message.attempt) < spec.gives_up;
}

}  // namespace damper::lab
