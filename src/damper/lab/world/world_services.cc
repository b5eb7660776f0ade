#include "damper/lab/world/world_parts.h"

#include <algorithm>

namespace damper::lab {

using decide::Outcome;
using decide::Report;

void World::on_deliver(Handle handle) {
  Message& message = *messages_.find(handle);
  if (is_held_up(handle, message, Kind::deliver)) return;
  const ServiceSpec& spec = spec_of(message);
  if (!spec.optimistic || message.has_read) {
    recorder_.on_arrival(message.service, message.attempt == 1 && !message.again, message.hedge);
  }
  const std::size_t place = place_of(message);
  if (const FaultSpec* down = weather_.find(FaultKind::down, message.service, place)) {
    recorder_.on_failed(message.service);
    return answer(handle, message, {.outcome = down->answer});
  }
  if (spec.heeds_cancel && !callers_.is_wanted(message.caller, handle)) {
    return messages_.erase(handle);
  }
  if (is_too_late(message)) {
    recorder_.on_refused(message.service);
    return messages_.erase(handle);
  }
  message.arrived = queue_.now();
  message.cost = weather_.cost_of_next(message.service, place);
  Replica& replica = replicas_[message.replica];
  const Instant deadline = spec.heeds_deadline ? message.deadline : kNever;
  const Replica::Admission admission =
      replica.on_arrival(handle, message.criticality, deadline, queue_.now(),
                         streams_.draw(Purpose::patience, ~message.number, message.attempt));
  clear_dropped(message.replica);
  switch (admission.entry) {
    case Replica::Entry::works:
      return work(handle, message);
    case Replica::Entry::waits:
      message.stage = Message::Stage::waits;
      message.in_line = admission.place;
      return;
    case Replica::Entry::refused:
      return refuse(handle, message, admission.retry_after);
  }
}

void World::refuse(Handle handle, Message& message, Duration retry_after) {
  recorder_.on_refused(message.service);
  answer(handle, message, {.outcome = spec_of(message).refusal, .retry_after = retry_after});
}

// Those that the shed queue gave up are told so.
void World::clear_dropped(std::uint32_t index) {
  for (const Handle dropped : replicas_[index].dropped()) {
    Message* const message = messages_.find(dropped);
    replicas_[index].on_dropped(message == nullptr);
    if (message != nullptr) refuse(dropped, *message, Report::kUnsaid);
  }
}

void World::work(Handle handle, Message& message) {
  const ServiceSpec& spec = spec_of(message);
  const std::size_t place = place_of(message);
  message.stage = Message::Stage::works;
  const bool shared =
      spec.correlation > 0 && streams_.draw(Purpose::choice, ~message.number, 0) < spec.correlation;
  Duration drawn = spec.service_time.sample(
      streams_.draw(Purpose::service, message.number, shared ? 0 : draw_of(message)));
  if (spec.grain > Duration{0}) drawn -= drawn % spec.grain;
  const double factor = message.cost * weather_.slowness(message.service, place);
  Duration takes = drawn;
  if (factor != 1) {
    const double ns = static_cast<double>(drawn.count()) * factor;
    takes = ns < static_cast<double>(kLongest.count()) ? Duration{static_cast<std::int64_t>(ns)}
                                                       : kLongest;
  }
  const auto working = static_cast<std::int64_t>(replicas_[message.replica].working());
  takes = std::min(kLongest, takes + times(spec.per_request, working));
  message.timer =
      queue_.schedule(add(queue_.now(), takes), {Kind::done, handle.index, handle.word()});
}

void World::on_done(Handle handle) {
  Message& message = *messages_.find(handle);
  const ServiceSpec& spec = spec_of(message);
  double errors = spec.errors;
  Outcome error = Outcome::transient;
  if (const FaultSpec* fault =
          weather_.find(FaultKind::errors, message.service, place_of(message))) {
    errors = std::max(errors, fault->amount);
    error = fault->answer;
  }
  if (errors > 0 && streams_.draw(Purpose::faults, message.number, draw_of(message)) < errors) {
    message.report.outcome = error;
    recorder_.on_failed(message.service);
  } else if (message.broken) {
    message.report.outcome = *message.broken;
  } else if (!spec.calls.empty()) {
    return make_calls(handle, message);
  }
  complete(handle, message);
}

void World::make_calls(Handle handle, Message& message) {
  const Service& service = services_[message.service];
  const std::size_t place = place_of(message);
  engine::CallOptions options{
      .idempotent = true,
      .owned_above = message.owned_above,
      .unsent_owned_above = message.unsent_owned_above,
      .deadline = schedule::Deadline(scenario_.deadlines_travel ? message.deadline : kNever),
  };
  // One more than there are, so that a call that is over at once does not end it early.
  message.calls = 1;
  const std::uint64_t number = Random(message.number ^ draw_of(message)).bits();
  for (std::size_t i = 0; i < service.calls.size(); ++i) {
    const auto count = static_cast<std::uint32_t>(service.spec->calls[i].times);
    options.rereads = services_[service.calls[i]].spec->optimistic;
    for (std::uint32_t n = 0; n < count; ++n) {
      ++message.calls;
      const Handle call = callers_.prepare(*service.dependencies[i][place], options);
      Operation& operation = *callers_.find(call);
      operation.number = Random(number ^ (std::uint64_t{i} << 32 | n)).bits();
      operation.origin = handle.word();
      operation.sender = Sender::service;
      operation.target = service.calls[i];
      operation.criticality = message.criticality;
      operation.after = message.first_call;
      if (Operation* const after = callers_.find(message.first_call)) after->before = call;
      message.first_call = call;
      callers_.start(call);
    }
  }
  if (--message.calls == 0) complete(handle, message);
}

// The work on a request is over: its worker is free, and it is answered.
void World::complete(Handle handle, Message& message) {
  const ServiceSpec& spec = spec_of(message);
  if (!spec.optimistic || message.has_read) recorder_.on_served(message.service);
  Report report = message.report;
  const Instant arrived = message.arrived;
  if (spec.fails_after > Duration{0} && between(arrived, queue_.now()) >= spec.fails_after) {
    report.outcome = Outcome::transient;
  }
  if (spec.optimistic && message.has_read && report.outcome == Outcome::success) {
    Service& service = services_[message.service];
    if (message.version == service.version) {
      ++service.version;
    } else {
      report.outcome = Outcome::conflict;
    }
  } else if (spec.optimistic) {
    message.version = services_[message.service].version;
  }
  const std::uint32_t replica = message.replica;
  answer(handle, message, report);
  replicas_[replica].on_done(arrived, queue_.now());
  on_free_worker(replica);
}

// What a request that was given up had called for is given up as well.
void World::drop_calls(Handle first) {
  for (Operation* call = callers_.find(first); call != nullptr; call = callers_.find(first)) {
    const Handle next = call->after;
    callers_.cancel(first);
    first = next;
  }
}

void World::on_free_worker(std::uint32_t index) {
  const Duration handover = services_[service_of_[index]].spec->handover;
  if (handover == Duration{0}) return take(index);
  if (replicas_[index].has_line()) {
    queue_.schedule(add(queue_.now(), handover), {Kind::take, index, 0});
  }
}

// Free workers take what waits, at most so many. What was withdrawn goes as well: it must not stand
// between a free worker and whoever comes next.
void World::take(std::uint32_t index, std::size_t most) {
  Replica& replica = replicas_[index];
  while (most > 0) {
    const auto taken = replica.take(queue_.now());
    clear_dropped(index);
    if (!taken) return;
    Message* const message = messages_.find(*taken);
    if (message == nullptr) {
      replica.on_withdrawn_taken();
      continue;
    }
    if (is_too_late(*message)) {
      recorder_.on_refused(message->service);
      replica.on_abandoned();
      messages_.erase(*taken);
      continue;
    }
    work(*taken, *message);
    --most;
  }
}

void World::answer(Handle handle, Message& message, const Report& report) {
  message.stage = Message::Stage::returns;
  message.report = report;
  travel(handle, message, Kind::answer, message.has_read ? 3 : 1);
}

void World::turn_fault(std::size_t fault, bool on) {
  weather_.turn(fault, on);
  const FaultSpec& spec = scenario_.faults[fault];
  if (spec.kind != FaultKind::capacity) return;
  const std::size_t at = scenario_.find_service(spec.on).value();
  const Service& service = services_[at];
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(service.spec->replicas); ++i) {
    replicas_[service.first_replica + i].set_capacity(weather_.capacity(at, i));
    take(service.first_replica + i);
  }
}

}  // namespace damper::lab
