#include <optional>

#include "damper/lab/world/world_parts.h"

namespace damper::lab {

namespace {

// A run is one attempt: it is the queue that retries.
engine::Policy policy_of_runs(const ControllersSpec& spec) {
  engine::Policy policy;
  policy.call.timeout = spec.retries.timeout;
  policy.call.needed = Duration{0};
  policy.call.max_attempts = 1;
  return policy;
}

}  // namespace

void World::add_controllers(const ControllersSpec& spec, std::uint32_t index) {
  Controllers& group = controllers_.emplace_back();
  group.spec = &spec;
  group.service = static_cast<std::uint32_t>(scenario_.find_service(spec.calls).value());
  group.fleet = std::make_unique<Fleet>(spec, index, streams_);
  group.dependency = std::make_unique<engine::Dependency>(spec.calls, policy_of_runs(spec));
  group.timers.resize(group.fleet->size());
  for (std::uint32_t i = 0; i < group.fleet->size(); ++i) {
    queue_.schedule(group.fleet->next_event(i, Instant{}), {Kind::event, index, i});
    queue_.schedule(group.fleet->first_resync(i), {Kind::resync, index, i});
  }
}

void World::on_event(std::uint32_t index, std::uint32_t controller) {
  Fleet& fleet = *controllers_[index].fleet;
  const Instant now = queue_.now();
  fleet.on_event(controller, fleet.next_object(controller), now);
  recorder_.on_event(index, weather_.any());
  queue_.schedule(fleet.next_event(controller, now), {Kind::event, index, controller});
  look(index, controller);
}

void World::on_resync(std::uint32_t index, std::uint32_t controller) {
  Fleet& fleet = *controllers_[index].fleet;
  const ControllersSpec& spec = *controllers_[index].spec;
  const Instant now = queue_.now();
  for (std::uint32_t object = 0; object < static_cast<std::uint32_t>(spec.keys); ++object) {
    fleet.on_event(controller, object, now);
    recorder_.on_event(index, weather_.any());
  }
  queue_.schedule(add(now, spec.resync), {Kind::resync, index, controller});
  look(index, controller);
}

void World::on_queue(std::uint32_t index, std::uint32_t controller) {
  controllers_[index].timers[controller].at = kNever;
  look(index, controller);
}

// Starts what the controller has workers for, and looks again when its queue says so.
void World::look(std::uint32_t index, std::uint32_t controller) {
  Fleet& fleet = *controllers_[index].fleet;
  Fleet::Next next = fleet.next(controller, queue_.now());
  for (; next.run; next = fleet.next(controller, queue_.now())) begin_run(index, *next.run);
  Controllers::Timer& timer = controllers_[index].timers[controller];
  if (next.wake == timer.at) return;
  queue_.cancel(timer.timer);
  timer = {queue_.schedule(next.wake, {Kind::queue, index, controller}), next.wake};
}

void World::begin_run(std::uint32_t index, const Fleet::Run& run) {
  Controllers& group = controllers_[index];
  const engine::CallOptions options{
      .idempotent = true,
      .owned_above = true,
      .unsent_owned_above = true,
      .rereads = services_[group.service].spec->optimistic,
      .deadline = schedule::Deadline(run.deadline),
  };
  const Handle handle = callers_.prepare(*group.dependency, options);
  Operation& operation = *callers_.find(handle);
  operation.number = run.number;
  operation.origin = runs_.insert(run).word();
  operation.process = index;
  operation.target = group.service;
  operation.sender = Sender::controller;
  const std::optional<Duration> queued =
      run.is_broken ? std::nullopt : std::optional<Duration>(run.waited);
  recorder_.on_run(index, run.is_retry(), weather_.any(), queued);
  callers_.start(handle);
}

void World::on_run_over(const Operation& caller, Verdict verdict) {
  const Handle handle = Handle::of(caller.origin);
  const Fleet::Run run = *runs_.find(handle);
  runs_.erase(handle);
  const bool well = verdict == Verdict::success;
  const auto settled = controllers_[caller.process].fleet->finish(
      run, well ? decide::Report{} : caller.report, queue_.now());
  recorder_.on_run_over(caller.process, well, run.is_broken ? std::nullopt : settled);
  look(caller.process, run.controller);
}

std::size_t World::waiting_keys() const {
  std::size_t waiting = 0;
  for (const Controllers& group : controllers_) waiting += group.fleet->waiting();
  return waiting;
}

void World::read(std::size_t controllers, Instant now, ControllersTick& tick) const {
  Fleet& fleet = *controllers_[controllers].fleet;
  tick.waiting = static_cast<std::uint32_t>(fleet.waiting());
  tick.failing = static_cast<std::uint32_t>(fleet.failing());
  tick.running = static_cast<std::uint32_t>(fleet.running());
  tick.parked = static_cast<std::uint32_t>(fleet.parked());
  tick.budget = static_cast<float>(fleet.budget(now));
}

}  // namespace damper::lab
