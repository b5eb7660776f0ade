#include "damper/lab/world/world.h"

#include <algorithm>
#include <string>
#include <utility>

#include "damper/base/check.h"
#include "damper/lab/world/world_parts.h"

namespace damper::lab {

namespace {

Dependencies make_dependencies(const Scenario& scenario, const std::string& service,
                               std::size_t count) {
  const engine::Policy policy = scenario.policy_for(service);
  Dependencies all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(std::make_unique<engine::Dependency>(service, policy));
  }
  return all;
}

}  // namespace

World::World(const Scenario& scenario, const PlayOptions& options)
    : scenario_(scenario),
      options_(options),
      streams_(options.seed),
      weather_(scenario),
      callers_(queue_, streams_, *this, Kind::wake),
      recorder_(scenario, options.seed, options.latency_over_time, *this) {
  const auto position = [&scenario](const std::string& name) {
    return static_cast<std::uint32_t>(scenario.find_service(name).value());
  };
  for (const ServiceSpec& spec : scenario.services) {
    Service& service = services_.emplace_back();
    service.spec = &spec;
    service.first_replica = static_cast<std::uint32_t>(replicas_.size());
    const auto replicas = static_cast<std::size_t>(spec.replicas);
    for (std::size_t i = 0; i < replicas; ++i) {
      replicas_.emplace_back(spec);
      service_of_.push_back(static_cast<std::uint32_t>(services_.size() - 1));
    }
    for (const CallSpec& call : spec.calls) {
      service.calls.push_back(position(call.service));
      service.dependencies.push_back(make_dependencies(scenario, call.service, replicas));
    }
  }
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    const FaultSpec& fault = scenario.faults[i];
    queue_.schedule(Instant{fault.at}, {Kind::fault_on, static_cast<std::uint32_t>(i), 0});
    if (fault.requests > 0) continue;
    queue_.schedule(Instant{fault.end()}, {Kind::fault_off, static_cast<std::uint32_t>(i), 0});
  }
  for (std::size_t i = 0; i < scenario.clients.size(); ++i) {
    const ClientsSpec& spec = scenario.clients[i];
    const auto processes = static_cast<std::size_t>(spec.processes);
    groups_.push_back(
        {.spec = &spec,
         .service = position(spec.calls),
         .dependencies = make_dependencies(scenario, spec.calls, processes),
         .patience = std::vector<Patience>(processes, Patience{.tokens = spec.bucket})});
    Arrivals& arrivals = arrivals_.emplace_back(spec, i, streams_);
    for (std::uint32_t source = 0; source < arrivals.sources(); ++source) {
      queue_.schedule(arrivals.first(source), {Kind::begin, static_cast<std::uint32_t>(i), source});
    }
  }
  for (std::size_t i = 0; i < scenario.controllers.size(); ++i) {
    add_controllers(scenario.controllers[i], static_cast<std::uint32_t>(i));
  }
}

Record World::play() {
  const Instant end{scenario_.length};
  const Instant last = end - Duration{1};  // What is due at the end is not part of the run.
  std::uint64_t events = 0;
  bool cut_short = false;
  while (const auto due = queue_.pop(last)) {
    recorder_.advance(due->at);
    hash_.add(static_cast<std::uint64_t>(due->at.time_since_epoch().count()));
    hash_.add(std::uint64_t{due->event.kind} << 32 | due->event.subject);
    hash_.add(due->event.detail);
    dispatch(due->event);
    if ((++events & 1023U) != 0) continue;
    const bool stopped = options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
    if (stopped ||
        std::max({callers_.size(), messages_.size(), waiting_keys()}) > options_.most_in_flight) {
      cut_short = true;
      break;
    }
  }
  check();
  Record record = recorder_.finish(cut_short ? queue_.now() : end);
  record.events = events;
  record.trace_hash = hash_.value();
  record.cut_short = cut_short;
  return record;
}

void World::dispatch(const timer::TimedEvent& event) {
  switch (static_cast<Kind::Word>(event.kind)) {
    case Kind::begin:
      return on_begin(event.subject, event.detail);
    case Kind::wake:
      return callers_.on_wake(event);
    case Kind::deliver:
      return on_deliver(Handle::of(event.detail));
    case Kind::done:
      return on_done(Handle::of(event.detail));
    case Kind::take:
      return take(event.subject, 1);
    case Kind::answer:
      return on_answer(Handle::of(event.detail));
    case Kind::fault_on:
      return turn_fault(event.subject, true);
    case Kind::fault_off:
      return turn_fault(event.subject, false);
    case Kind::event:
      return on_event(event.subject, static_cast<std::uint32_t>(event.detail));
    case Kind::resync:
      return on_resync(event.subject, static_cast<std::uint32_t>(event.detail));
    case Kind::queue:
      return on_queue(event.subject, static_cast<std::uint32_t>(event.detail));
  }
}

void World::read(std::size_t index, ServiceTick& tick) const {
  const Service& service = services_[index];
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(service.spec->replicas); ++i) {
    const Replica& replica = replicas_[service.first_replica + i];
    tick.queued += static_cast<std::uint32_t>(replica.queued());
    tick.working += static_cast<std::uint32_t>(replica.working());
    tick.limit += static_cast<std::uint32_t>(replica.limit());
  }
}

void World::read(std::size_t clients, Instant now, ClientsTick& tick) const {
  const Group& group = groups_[clients];
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

void World::check() {
  std::vector<std::size_t> working(replicas_.size());
  std::vector<std::size_t> queued(replicas_.size());
  std::size_t calls = 0;
  messages_.for_each([&](Handle, const Message& message) {
    if (message.stage == Message::Stage::works) ++working[message.replica];
    if (message.stage == Message::Stage::waits) ++queued[message.replica];
    calls += message.calls;
  });
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    DAMPER_CHECK(replicas_[i].working() == working[i]);
    DAMPER_CHECK(replicas_[i].queued() == queued[i]);
    DAMPER_CHECK(replicas_[i].is_balanced());
  }
  std::vector<std::size_t> in_flight(groups_.size());
  std::vector<std::size_t> runs(controllers_.size());
  callers_.for_each([&](Handle, const Operation& operation) {
    switch (operation.sender) {
      case Sender::client:
        ++in_flight[operation.process];
        break;
      case Sender::controller:
        DAMPER_CHECK(runs_.find(Handle::of(operation.origin)) != nullptr);
        ++runs[operation.process];
        break;
      case Sender::service:
        DAMPER_CHECK(messages_.find(Handle::of(operation.origin)) != nullptr);
        --calls;
    }
  });
  DAMPER_CHECK(calls == 0);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    DAMPER_CHECK(groups_[i].in_flight == in_flight[i]);
  }
  for (std::size_t i = 0; i < controllers_.size(); ++i) {
    DAMPER_CHECK(controllers_[i].fleet->running() == runs[i]);
    DAMPER_CHECK(controllers_[i].fleet->is_balanced(queue_.now()));
  }
}

Record play(const Scenario& scenario, const PlayOptions& options) {
  return World(scenario, options).play();
}

}  // namespace damper::lab
