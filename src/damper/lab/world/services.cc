#include "damper/lab/world/services.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::lab {

using decide::Outcome;
using decide::Report;

Services::Services(Simulation& simulation, Network& network) : sim_(simulation), network_(network) {
  for (const ServiceSpec& spec : sim_.scenario.services) {
    Service& service = services_.emplace_back();
    service.spec = &spec;
    service.first_server = static_cast<std::uint32_t>(servers_.size());
    for (std::int32_t i = 0; i < spec.replicas; ++i) {
      servers_.emplace_back(spec);
      service_of_.push_back(static_cast<std::uint32_t>(services_.size() - 1));
      handovers_.emplace_back();
    }
    for (const CallSpec& call : spec.calls) {
      service.calls.push_back(sim_.position(call.service));
      service.dependencies.push_back(sim_.make_dependencies(call.service, spec.replicas));
    }
  }
}

void Services::choose_replica(Message& message, CallData& caller) {
  Service& service = services_[message.service];
  const auto replicas = static_cast<std::uint32_t>(service.spec->replicas);
  if (replicas > 1) {
    switch (service.spec->balance) {
      case Balance::rotate:
        if (message.attempt == 1) caller.first_replica = service.turn++ % replicas;
        message.replica = (caller.first_replica + message.attempt - 1) % replicas;
        break;
      case Balance::spread:
        message.replica = static_cast<std::uint32_t>(
            sim_.streams.draw(Purpose::choice, message.number, message.attempt) * replicas);
        break;
      case Balance::keyed:
        message.replica = static_cast<std::uint32_t>(
            sim_.streams.bits(Purpose::choice, message.number, 0) % replicas);
        break;
    }
  }
  message.server = service.first_server + message.replica;
}

void Services::on_deliver(Handle handle) {
  Message* const arrived = network_.on_arrival(handle, EventKind::deliver);
  if (arrived == nullptr) return;
  Message& message = *arrived;
  const ServiceSpec& spec = spec_of(message);
  if (!spec.optimistic || message.has_read) {
    sim_.recorder.on_arrival(message.service, message.attempt == 1 && !message.again,
                             message.hedge);
  }
  if (const FaultSpec* down = sim_.faults.find(FaultKind::down, message.service, message.replica)) {
    sim_.recorder.on_failed(message.service);
    return answer(handle, message, {.outcome = down->answer});
  }
  if (spec.heeds_cancel && !sim_.calls.is_wanted(message.caller, handle)) {
    return network_.erase(handle);
  }
  if (is_too_late(message)) {
    sim_.recorder.on_refused(message.service);
    return network_.erase(handle);
  }
  message.arrived = sim_.now();
  message.cost = sim_.faults.cost_of_next(message.service, message.replica);
  const Instant deadline = spec.heeds_deadline ? message.deadline : kNever;
  const Replica::Admission admission = servers_[message.server].on_arrival(
      handle, message.criticality, deadline, sim_.now(),
      sim_.streams.draw(Purpose::patience, ~message.number, message.attempt));
  refuse_dropped(message.server);
  switch (admission.entry) {
    case Replica::Entry::works: end_handover(message.server); return work(handle, message);
    case Replica::Entry::waits:
      message.stage = Message::Stage::waits;
      message.in_line = admission.slot;
      return;
    case Replica::Entry::refused: return refuse(handle, message, admission.retry_after);
  }
}

void Services::refuse(Handle handle, Message& message, Duration retry_after) {
  sim_.recorder.on_refused(message.service);
  answer(handle, message, {.outcome = spec_of(message).refusal, .retry_after = retry_after});
}

// Refuses what the shed queue has dropped.
void Services::refuse_dropped(std::uint32_t server) {
  for (const Handle dropped : servers_[server].dropped()) {
    Message* const message = network_.find(dropped);
    servers_[server].on_dropped(message == nullptr);
    if (message != nullptr) refuse(dropped, *message, Report::kUnsaid);
  }
}

void Services::work(Handle handle, Message& message) {
  const ServiceSpec& spec = spec_of(message);
  message.stage = Message::Stage::works;
  const bool shared = spec.correlation > 0 &&
                      sim_.streams.draw(Purpose::choice, ~message.number, 0) < spec.correlation;
  Duration takes = spec.service_time.sample(
      sim_.streams.draw(Purpose::service, message.number, shared ? 0 : message.draw()));
  if (spec.grain > Duration{0}) takes -= takes % spec.grain;
  const double factor = message.cost * sim_.faults.slowness(message.service, message.replica);
  if (factor != 1) {
    const double ns = static_cast<double>(takes.count()) * factor;
    takes = ns < static_cast<double>(kLongest.count()) ? Duration{static_cast<std::int64_t>(ns)}
                                                       : kLongest;
  }
  const auto working = static_cast<std::int64_t>(servers_[message.server].working());
  takes = std::min(kLongest, takes + times(spec.per_request, working));
  message.timer =
      sim_.queue.schedule(add(sim_.now(), takes), {EventKind::done, handle.index, handle.word()});
}

void Services::on_done(Handle handle) {
  Message& message = *network_.find(handle);
  const ServiceSpec& spec = spec_of(message);
  double errors = spec.errors;
  Outcome error = Outcome::transient;
  if (const FaultSpec* fault =
          sim_.faults.find(FaultKind::errors, message.service, message.replica)) {
    errors = std::max(errors, fault->amount);
    error = fault->answer;
  }
  if (errors > 0 && sim_.streams.draw(Purpose::faults, message.number, message.draw()) < errors) {
    message.report.outcome = error;
    sim_.recorder.on_failed(message.service);
  } else if (message.broken) {
    message.report.outcome = *message.broken;
  } else if (!spec.calls.empty()) {
    return make_calls(handle, message);
  }
  complete(handle, message);
}

void Services::make_calls(Handle handle, Message& message) {
  const Service& service = services_[message.service];
  engine::CallOptions options{
      .request = {.idempotent = true,
                  .safe = true,
                  .owned_above = message.owned_above,
                  .unsent_owned_above = message.unsent_owned_above},
      .deadline = schedule::Deadline(sim_.scenario.deadlines_travel ? message.deadline : kNever),
  };
  CallData data{.sender = Sender::service,
                .owned_above = message.owned_above,
                .unsent_owned_above = message.unsent_owned_above,
                .criticality = message.criticality,
                .origin = handle.word()};
  // One more than there are, so that a call that is over at once does not complete the message.
  message.calls = 1;
  const std::uint64_t number = Random(message.number ^ message.draw()).bits();
  for (std::size_t i = 0; i < service.calls.size(); ++i) {
    data.service = service.calls[i];
    options.request.rereads = services_[data.service].spec->optimistic;
    for (std::int32_t n = 0; n < service.spec->calls[i].times; ++n) {
      ++message.calls;
      data.after = message.first_call;
      const Handle call = sim_.calls.prepare(
          *service.dependencies[i][message.replica], options,
          Random(number ^ (std::uint64_t{i} << 32 | static_cast<std::uint32_t>(n))).bits(), data);
      if (auto* const after = sim_.calls.find(data.after)) after->data.before = call;
      message.first_call = call;
      sim_.calls.start(call);
    }
  }
  if (--message.calls == 0) complete(handle, message);
}

void Services::on_call_over(const Calls::Operation& call, Verdict verdict) {
  const CallData& data = call.data;
  Message* const message = network_.find(Handle::of(data.origin));
  if (message == nullptr) return;
  if (auto* const before = sim_.calls.find(data.before)) {
    before->data.after = data.after;
  } else {
    message->first_call = data.after;
  }
  if (auto* const after = sim_.calls.find(data.after)) after->data.before = data.before;
  if (verdict != Verdict::success) {
    message->report.outcome = verdict == Verdict::overload || verdict == Verdict::shed
                                  ? Outcome::overload
                                  : Outcome::transient;
  }
  if (--message->calls == 0) complete(Handle::of(data.origin), *message);
}

// The work on a message is over: its worker is free, and it is answered.
void Services::complete(Handle handle, Message& message) {
  const ServiceSpec& spec = spec_of(message);
  if (!spec.optimistic || message.has_read) sim_.recorder.on_served(message.service);
  message.served = sim_.now();
  Report report = message.report;
  const Instant arrived = message.arrived;
  if (spec.fails_after > Duration{0} && between(arrived, sim_.now()) >= spec.fails_after) {
    report.outcome = Outcome::transient;
  }
  std::uint64_t& version = services_[message.service].version;
  if (spec.optimistic && message.has_read && report.outcome == Outcome::success) {
    if (message.version == version) {
      ++version;
    } else {
      report.outcome = Outcome::conflict;
    }
  } else if (spec.optimistic) {
    message.version = version;
  }
  const std::uint32_t server = message.server;
  answer(handle, message, report);
  servers_[server].on_done(arrived, sim_.now());
  on_free_worker(server);
}

void Services::answer(Handle handle, Message& message, const Report& report) {
  message.report = report;
  network_.travel(handle, message,
                  message.has_read ? Network::Leg::write_answer : Network::Leg::answer);
}

void Services::on_give_up(Handle sent) {
  Message* const message = network_.find(sent);
  if (message == nullptr || !spec_of(*message).heeds_cancel) return;
  const std::uint32_t server = message->server;
  if (message->stage == Message::Stage::waits) {
    servers_[server].on_withdrawn(message->in_line);
    network_.erase(sent);
  } else if (message->stage == Message::Stage::works) {
    const Handle first = message->first_call;
    sim_.queue.cancel(message->timer);
    network_.erase(sent);
    cancel_calls(first);
    servers_[server].on_abandoned();
    on_free_worker(server);
  }
}

// Cancels the calls of a message that was given up.
void Services::cancel_calls(Handle first) {
  for (auto* call = sim_.calls.find(first); call != nullptr; call = sim_.calls.find(first)) {
    const Handle next = call->data.after;
    sim_.calls.cancel(first);
    first = next;
  }
}

void Services::on_free_worker(std::uint32_t server) {
  const Duration handover = services_[service_of_[server]].spec->handover;
  if (handover == Duration{0}) return take(server);
  if (servers_[server].has_line() && servers_[server].has_free_worker()) {
    const std::uint64_t number = next_handover_++;
    handovers_[server].push_back({number, sim_.queue.schedule(add(sim_.now(), handover),
                                                              {EventKind::take, server, number})});
  }
}

void Services::on_take(std::uint32_t server, std::uint64_t number) {
  // Nearly always the first: others end at the same instant.
  std::deque<Handover>& handovers = handovers_[server];
  const auto own = std::ranges::find(handovers, number, &Handover::number);
  DAMPER_CHECK(own != handovers.end());
  handovers.erase(own);
  take(server, 1);
}

// A request takes a free worker: the one whose handover ends first, if all are in one.
void Services::end_handover(std::uint32_t server) {
  std::deque<Handover>& handovers = handovers_[server];
  if (handovers.size() <= servers_[server].free_workers()) return;
  sim_.queue.cancel(handovers.front().end);
  handovers.pop_front();
}

// Free workers take at most `most` messages from the queue. Withdrawn messages are removed on the
// way and do not count: a free worker must reach the next message behind them.
void Services::take(std::uint32_t server, std::size_t most) {
  Replica& replica = servers_[server];
  while (most > 0) {
    const auto taken = replica.take(sim_.now());
    refuse_dropped(server);
    if (!taken) return;
    Message* const message = network_.find(*taken);
    if (message == nullptr) {
      replica.on_withdrawn_taken();
      continue;
    }
    if (is_too_late(*message)) {
      sim_.recorder.on_refused(message->service);
      replica.on_abandoned();
      network_.erase(*taken);
      continue;
    }
    work(*taken, *message);
    --most;
  }
}

void Services::on_capacity(std::size_t service) {
  const std::uint32_t first = services_[service].first_server;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(services_[service].spec->replicas);
       ++i) {
    Replica& replica = servers_[first + i];
    replica.set_capacity(sim_.faults.capacity(service, i));
    std::deque<Handover>& handovers = handovers_[first + i];
    while (handovers.size() > replica.free_workers()) {  // Of workers that are cut.
      sim_.queue.cancel(handovers.back().end);
      handovers.pop_back();
    }
    take(first + i, replica.free_workers() - handovers.size());
  }
}

void Services::read(std::size_t index, ServiceTick& tick) const {
  const Service& service = services_[index];
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(service.spec->replicas); ++i) {
    const Replica& replica = servers_[service.first_server + i];
    tick.queued += static_cast<std::uint32_t>(replica.queued());
    tick.working += static_cast<std::uint32_t>(replica.working());
    tick.limit += static_cast<std::uint32_t>(replica.limit());
  }
}

void Services::check(std::size_t calls) const {
  std::vector<std::size_t> working(servers_.size());
  std::vector<std::size_t> queued(servers_.size());
  network_.for_each([&](Handle, const Message& message) {
    if (message.stage == Message::Stage::works) ++working[message.server];
    if (message.stage == Message::Stage::waits) ++queued[message.server];
    calls -= message.calls;
  });
  DAMPER_CHECK(calls == 0);
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    DAMPER_CHECK(servers_[i].working() == working[i]);
    DAMPER_CHECK(servers_[i].queued() == queued[i]);
    DAMPER_CHECK(servers_[i].is_balanced());
    DAMPER_CHECK(handovers_[i].size() <= servers_[i].free_workers());
  }
}

}  // namespace damper::lab
