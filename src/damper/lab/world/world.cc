#include "damper/lab/world/world.h"

#include <algorithm>
#include <vector>

#include "damper/base/check.h"
#include "damper/base/trace_hash.h"
#include "damper/lab/world/client_groups.h"
#include "damper/lab/world/controller_groups.h"
#include "damper/lab/world/network.h"
#include "damper/lab/world/services.h"
#include "damper/lab/world/simulation.h"

namespace damper::lab {
namespace {

// A World is one run: it owns the parts, runs the event loop, and connects calls with messages.
class World final : private Calls::Transport, private GaugeSource {
 public:
  World(const Scenario& scenario, const PlayOptions& options)
      : options_(options),
        sim_(scenario, options.seed, options.latency_over_time, options.ties, *this, *this),
        network_(sim_),
        services_(sim_, network_),
        clients_(sim_),
        controllers_(sim_) {}

  Record play();

 private:
  void dispatch(const timer::TimedEvent& event);
  void on_answer(Handle handle);
  void turn_fault(std::size_t fault, bool on);
  void check();

  Handle on_send(Handle handle, Calls::Operation& call, const engine::Attempt& attempt) override;
  void on_give_up(Handle sent) override { services_.on_give_up(sent); }
  bool on_timed_out(Calls::Operation& call) override {
    // A draw of its own: the numbers of attempts are those of answers.
    return call.data.sender == Sender::client &&
           clients_.gives_up(call, std::uint32_t{1} << 31 | call.draws);
  }
  void on_over(const Calls::Operation& call, Verdict verdict) override;

  void read(std::size_t service, ServiceTick& tick) override { services_.read(service, tick); }
  void read(std::size_t clients, Instant now, ClientsTick& tick) override {
    clients_.read(clients, now, tick);
  }
  void read(std::size_t controllers, Instant now, ControllersTick& tick) override {
    controllers_.read(controllers, now, tick);
  }

  const PlayOptions options_;
  Simulation sim_;
  Network network_;
  Services services_;
  ClientGroups clients_;
  ControllerGroups controllers_;
};

Record World::play() {
  const Instant end{sim_.scenario.length};
  const Instant last = end - Duration{1};  // Events at the end are not part of the run.
  TraceHash hash;
  std::uint64_t events = 0;
  bool cut_short = false;
  while (const auto due = sim_.queue.pop(last)) {
    sim_.recorder.advance(due->at);
    hash.add(static_cast<std::uint64_t>(due->at.time_since_epoch().count()));
    hash.add(std::uint64_t{due->event.kind} << 32 | due->event.subject);
    hash.add(due->event.detail);
    dispatch(due->event);
    if ((++events & 1023U) != 0) continue;
    const bool stopped = options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
    if (stopped || std::max({sim_.calls.size(), network_.size(), controllers_.waiting()}) >
                       options_.most_in_flight) {
      cut_short = true;
      break;
    }
  }
  check();
  Record record = sim_.recorder.finish(cut_short ? sim_.now() : end);
  record.events = events;
  record.trace_hash = hash.value();
  record.cut_short = cut_short;
  return record;
}

void World::dispatch(const timer::TimedEvent& event) {
  const auto controller = static_cast<std::uint32_t>(event.detail);
  switch (static_cast<EventKind::Word>(event.kind)) {
    case EventKind::begin: return clients_.on_begin(event.subject, event.detail);
    case EventKind::wake: return sim_.calls.on_wake(event);
    case EventKind::deliver: return services_.on_deliver(Handle::of(event.detail));
    case EventKind::done: return services_.on_done(Handle::of(event.detail));
    case EventKind::take: return services_.on_take(event.subject, event.detail);
    case EventKind::answer: return on_answer(Handle::of(event.detail));
    case EventKind::fault_on: return turn_fault(event.subject, true);
    case EventKind::fault_off: return turn_fault(event.subject, false);
    case EventKind::event: return controllers_.on_event(event.subject, controller);
    case EventKind::resync: return controllers_.on_resync(event.subject, controller);
    case EventKind::queue: return controllers_.on_queue(event.subject, controller);
  }
}

Handle World::on_send(Handle handle, Calls::Operation& call, const engine::Attempt& attempt) {
  CallData& data = call.data;
  Message message{.caller = handle,
                  .number = call.number,
                  .deadline = attempt.deadline,
                  .service = data.service,
                  .attempt = attempt.number,
                  .hedge = attempt.hedge,
                  .criticality = data.criticality};
  services_.choose_replica(message, data);
  if (data.sender == Sender::client) {
    clients_.on_send(data, message);
    sim_.recorder.on_attempt(data.group, data.in_fault);
  }
  if (data.sender == Sender::controller) controllers_.on_send(data, message);
  if (sim_.scenario.ownership) {
    message.owned_above = data.owned_above || call.call.owns_retries();
    message.unsent_owned_above =
        data.owned_above || data.unsent_owned_above || call.call.owns_unsent();
  }
  return network_.send(message);
}

void World::on_answer(Handle handle) {
  Message* const message = network_.on_arrival(handle, EventKind::answer);
  if (message == nullptr) return;
  if (sim_.calls.is_wanted(message->caller, handle)) {
    decide::Report report = message->report;
    const bool succeeded = report.outcome == decide::Outcome::success;
    if (succeeded && !message->has_read && sim_.scenario.services[message->service].optimistic) {
      message->has_read = true;
      return network_.travel(handle, *message, Network::Leg::write);
    }
    Calls::Operation& call = *sim_.calls.find(message->caller);
    call.data.report = report;
    if (!succeeded && call.data.sender == Sender::client &&
        clients_.gives_up(call, message->attempt)) {
      report.do_not_retry = true;
    }
    (void)sim_.calls.on_answer(message->caller, handle, report);
    if (succeeded) sim_.recorder.on_good(message->service, message->served);
  }
  network_.erase(handle);
}

void World::on_over(const Calls::Operation& call, Verdict verdict) {
  switch (call.data.sender) {
    case Sender::client: return clients_.on_over(call, verdict);
    case Sender::service: return services_.on_call_over(call, verdict);
    case Sender::controller: return controllers_.on_over(call, verdict);
  }
}

void World::turn_fault(std::size_t fault, bool on) {
  sim_.faults.turn(fault, on);
  const FaultSpec& spec = sim_.scenario.faults[fault];
  if (spec.kind == FaultKind::spike) {
    clients_.on_spike(static_cast<std::uint32_t>(*sim_.scenario.find_clients(spec.on)));
  }
  if (spec.kind == FaultKind::capacity) services_.on_capacity(sim_.position(spec.on));
}

// Invariant 4 of play().
void World::check() {
  std::vector<std::size_t> requests(sim_.scenario.clients.size());
  std::vector<std::size_t> runs(sim_.scenario.controllers.size());
  std::size_t calls = 0;
  sim_.calls.for_each([&](Handle, const Calls::Operation& call) {
    if (call.data.sender == Sender::client) ++requests[call.data.group];
    if (call.data.sender == Sender::controller) ++runs[call.data.group];
    if (call.data.sender == Sender::service) {
      DAMPER_CHECK(network_.find(Handle::of(call.data.origin)) != nullptr);
      ++calls;
    }
  });
  services_.check(calls);
  clients_.check(requests);
  controllers_.check(runs);
}

}  // namespace

Record play(const Scenario& scenario, const PlayOptions& options) {
  return World(scenario, options).play();
}

}  // namespace damper::lab
