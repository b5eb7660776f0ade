#include "damper/lab/world/controller_groups.h"

#include <optional>

#include "damper/base/check.h"

namespace damper::lab {
namespace {

engine::Policy policy_of_runs(const ControllersSpec& spec) {
  engine::Policy policy;
  policy.call.timeout = spec.retries.timeout;
  policy.call.needed = Duration{0};
  policy.call.max_attempts = 1;
  return policy;
}

}  // namespace

ControllerGroups::Group::Group(Simulation& simulation, const ControllersSpec& its_spec,
                               std::uint32_t index)
    : spec(its_spec),
      service(simulation.position(spec.calls)),
      controllers(spec, index, simulation.streams),
      dependency(spec.calls, policy_of_runs(spec)),
      timers(controllers.size()) {}

ControllerGroups::ControllerGroups(Simulation& simulation) : sim_(simulation) {
  for (const ControllersSpec& spec : sim_.scenario.controllers) {
    const auto index = static_cast<std::uint32_t>(groups_.size());
    ControllerGroup& controllers = groups_.emplace_back(sim_, spec, index).controllers;
    for (std::uint32_t i = 0; i < controllers.size(); ++i) {
      sim_.queue.schedule(controllers.next_event(i, Instant{}), {EventKind::event, index, i});
      sim_.queue.schedule(controllers.first_resync(i), {EventKind::resync, index, i});
    }
  }
}

void ControllerGroups::on_event(std::uint32_t group, std::uint32_t controller) {
  ControllerGroup& controllers = groups_[group].controllers;
  const Instant now = sim_.now();
  controllers.on_event(controller, controllers.next_object(controller), now);
  sim_.recorder.on_event(group, sim_.faults.any());
  sim_.queue.schedule(controllers.next_event(controller, now),
                      {EventKind::event, group, controller});
  run_ready(group, controller);
}

void ControllerGroups::on_resync(std::uint32_t group, std::uint32_t controller) {
  const ControllersSpec& spec = groups_[group].spec;
  const Instant now = sim_.now();
  for (std::uint32_t object = 0; object < static_cast<std::uint32_t>(spec.keys); ++object) {
    groups_[group].controllers.on_event(controller, object, now);
    sim_.recorder.on_event(group, sim_.faults.any());
  }
  sim_.queue.schedule(add(now, spec.resync), {EventKind::resync, group, controller});
  run_ready(group, controller);
}

void ControllerGroups::on_queue(std::uint32_t group, std::uint32_t controller) {
  groups_[group].timers[controller].at = kNever;
  run_ready(group, controller);
}

void ControllerGroups::run_ready(std::uint32_t group, std::uint32_t controller) {
  ControllerGroup& controllers = groups_[group].controllers;
  ControllerGroup::Next next = controllers.next(controller, sim_.now());
  for (; next.run; next = controllers.next(controller, sim_.now())) begin_run(group, *next.run);
  Timer& timer = groups_[group].timers[controller];
  if (next.wake == timer.at) return;
  sim_.queue.cancel(timer.timer);
  timer = {sim_.queue.schedule(next.wake, {EventKind::queue, group, controller}), next.wake};
}

void ControllerGroups::begin_run(std::uint32_t index, const ControllerGroup::Run& run) {
  Group& group = groups_[index];
  const engine::CallOptions options{
      .request = {.idempotent = true,
                  .owned_above = true,
                  .unsent_owned_above = true,
                  .rereads = sim_.scenario.services[group.service].optimistic},
      .deadline = schedule::Deadline(run.deadline),
  };
  const CallData data{.sender = Sender::controller,
                      .owned_above = true,
                      .unsent_owned_above = true,
                      .group = index,
                      .service = group.service,
                      .origin = runs_.insert(run).word()};
  const Handle call = sim_.calls.prepare(group.dependency, options, run.number, data);
  const std::optional<Duration> queued =
      run.is_broken ? std::nullopt : std::optional<Duration>(run.waited);
  sim_.recorder.on_run(index, run.is_retry(), sim_.faults.any(), queued);
  sim_.calls.start(call);
}

void ControllerGroups::on_send(const CallData& call, Message& message) {
  const ControllerGroup::Run& run = *runs_.find(Handle::of(call.origin));
  message.again = run.is_retry();
  if (run.is_broken) message.broken = groups_[call.group].spec.broken_answer;
}

void ControllerGroups::on_over(const Calls::Operation& call, Verdict verdict) {
  const Handle handle = Handle::of(call.data.origin);
  const ControllerGroup::Run run = *runs_.find(handle);
  runs_.erase(handle);
  const std::uint32_t group = call.data.group;
  const bool succeeded = verdict == Verdict::success;
  const auto settled = groups_[group].controllers.finish(
      run, succeeded ? decide::Report{} : call.data.report, sim_.now());
  sim_.recorder.on_run_over(group, succeeded, run.is_broken ? std::nullopt : settled);
  run_ready(group, run.controller);
}

std::size_t ControllerGroups::waiting() const {
  std::size_t waiting = 0;
  for (const Group& group : groups_) waiting += group.controllers.waiting();
  return waiting;
}

void ControllerGroups::read(std::size_t group, Instant now, ControllersTick& tick) {
  ControllerGroup& controllers = groups_[group].controllers;
  tick.waiting = static_cast<std::uint32_t>(controllers.waiting());
  tick.failing = static_cast<std::uint32_t>(controllers.failing());
  tick.running = static_cast<std::uint32_t>(controllers.running());
  tick.parked = static_cast<std::uint32_t>(controllers.parked());
  tick.budget = static_cast<float>(controllers.budget(now));
}

void ControllerGroups::check(const std::vector<std::size_t>& runs) {
  std::size_t all = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    DAMPER_CHECK(groups_[i].controllers.running() == runs[i]);
    DAMPER_CHECK(groups_[i].controllers.is_balanced(sim_.now()));
    all += runs[i];
  }
  DAMPER_CHECK(runs_.size() == all);
}

}  // namespace damper::lab
