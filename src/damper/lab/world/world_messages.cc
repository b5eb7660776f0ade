#include "damper/lab/world/world_parts.h"

namespace damper::lab {

using decide::Outcome;
using decide::Report;

std::uint32_t World::choose_replica(Operation& caller, std::uint32_t attempt) {
  Service& service = services_[caller.target];
  const auto replicas = static_cast<std::uint32_t>(service.spec->replicas);
  if (replicas == 1) return service.first_replica;
  switch (service.spec->balance) {
    case Balance::rotate:
      if (attempt == 1) caller.place = service.turn++ % replicas;
      return service.first_replica + (caller.place + attempt - 1) % replicas;
    case Balance::spread: {
      const double choice = streams_.draw(Purpose::choice, caller.number, attempt) * replicas;
      return service.first_replica + static_cast<std::uint32_t>(choice);
    }
    case Balance::keyed:
      return service.first_replica +
             static_cast<std::uint32_t>(streams_.bits(Purpose::choice, caller.number, 0) %
                                        replicas);
  }
  return service.first_replica;
}

Handle World::on_send(Handle operation, Operation& caller, const engine::Attempt& attempt) {
  const Handle handle = messages_.insert();
  Message& message = *messages_.find(handle);
  message.caller = operation;
  message.number = caller.number;
  message.service = caller.target;
  message.replica = choose_replica(caller, attempt.number);
  message.attempt = attempt.number;
  message.hedge = attempt.hedge;
  message.deadline = attempt.deadline;
  message.criticality = caller.criticality;
  if (caller.sender == Sender::client) recorder_.on_attempt(caller.process, caller.in_fault);
  if (caller.sender == Sender::controller) {
    const Fleet::Run& run = *runs_.find(Handle::of(caller.origin));
    message.again = run.is_retry();
    if (run.is_broken) message.broken = controllers_[caller.process].spec->broken_answer;
  }
  if (scenario_.ownership) {
    message.owned_above = caller.owned_above || caller.call.owns_retries();
    message.unsent_owned_above =
        caller.owned_above || caller.unsent_owned_above || caller.call.owns_unsent();
  }
  travel(handle, message, Kind::deliver, 0);
  return handle;
}

// Puts the message on the network; leg 0 is the first, and each further one draws anew.
void World::travel(Handle handle, Message& message, Kind::Word kind, std::uint64_t leg) {
  const ServiceSpec& spec = spec_of(message);
  const std::uint64_t draw = (std::uint64_t{message.attempt} << 3 | leg) << 1;
  if (spec.loss > 0 && streams_.draw(Purpose::network, message.number, draw | 1) < spec.loss) {
    messages_.erase(handle);
    return;
  }
  const Duration takes = spec.network.sample(streams_.draw(Purpose::network, message.number, draw));
  message.timer = queue_.schedule(add(queue_.now(), takes), {kind, handle.index, handle.word()});
}

// Whether the network does not let it through now: it is lost, or comes again later.
bool World::is_held_up(Handle handle, const Message& message, Kind::Word kind) {
  if (!weather_.any()) return false;
  const Instant passes = weather_.passes_at(message.service, place_of(message), queue_.now());
  if (passes <= queue_.now()) return false;
  if (passes == kNever) {
    messages_.erase(handle);
  } else {
    queue_.schedule(passes, {kind, handle.index, handle.word()});
  }
  return true;
}

void World::on_give_up(Handle sent) {
  Message* const message = messages_.find(sent);
  if (message == nullptr || !spec_of(*message).heeds_cancel) return;
  const std::uint32_t index = message->replica;
  if (message->stage == Message::Stage::waits) {
    replicas_[index].on_withdrawn(message->in_line);
    messages_.erase(sent);
  } else if (message->stage == Message::Stage::works) {
    const Handle first = message->first_call;
    queue_.cancel(message->timer);
    messages_.erase(sent);
    drop_calls(first);
    replicas_[index].on_abandoned();
    on_free_worker(index);
  }
}

void World::on_answer(Handle handle) {
  Message& message = *messages_.find(handle);
  if (is_held_up(handle, message, Kind::answer)) return;
  if (!message.has_read && spec_of(message).optimistic &&
      message.report.outcome == Outcome::success) {
    if (callers_.is_wanted(message.caller, handle)) {
      message.has_read = true;
      message.stage = Message::Stage::travels;
      travel(handle, message, Kind::deliver, 2);
    } else {
      messages_.erase(handle);
    }
    return;
  }
  Report report = message.report;
  const std::uint32_t service = message.service;
  if (callers_.is_wanted(message.caller, handle)) {
    Operation& caller = *callers_.find(message.caller);
    caller.report = report;
    if (report.outcome != Outcome::success && gives_up(caller, message)) report.do_not_retry = true;
  }
  if (callers_.on_answer(message.caller, handle, report) && report.outcome == Outcome::success) {
    recorder_.on_good(service);
  }
  messages_.erase(handle);
}

void World::on_over(const Operation& caller, Verdict verdict) {
  if (caller.sender == Sender::client) return on_request_over(caller, verdict);
  if (caller.sender == Sender::controller) return on_run_over(caller, verdict);
  Message* const message = messages_.find(Handle::of(caller.origin));
  if (message == nullptr) return;
  if (Operation* const before = callers_.find(caller.before)) {
    before->after = caller.after;
  } else {
    message->first_call = caller.after;
  }
  if (Operation* const after = callers_.find(caller.after)) after->before = caller.before;
  if (verdict != Verdict::success) {
    message->report.outcome = verdict == Verdict::overload || verdict == Verdict::shed
                                  ? Outcome::overload
                                  : Outcome::transient;
  }
  if (--message->calls == 0) complete(Handle::of(caller.origin), *message);
}

}  // namespace damper::lab
