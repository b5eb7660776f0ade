#include "damper/lab/world/controller_groups.h"

#include <algorithm>
#include <optional>

#include "damper/base/check.h"
#include "damper/lab/world/client_groups.h"

namespace damper::lab {
namespace {

using queue::Finish;

queue::ControllerCoreOptions core_options(const ControllersSpec& spec) {
  queue::ControllerCoreOptions options;
  options.retries = spec.requeue_policy();
  return options;
}

// The object of a key. Without coalescing, the upper half is the number of the event.
std::uint32_t object_of(std::uint64_t key) noexcept { return static_cast<std::uint32_t>(key); }

engine::Policy policy_of_runs(const ControllersSpec& spec) {
  engine::Policy policy;
  policy.call.timeout = spec.retries.timeout;
  policy.call.needed = Duration{0};
  policy.call.max_attempts = 1;
  return policy;
}

}  // namespace

ControllerGroup::ControllerGroup(const ControllersSpec& spec, std::size_t group,
                                 const RandomStreams& streams)
    : spec_(spec), group_(group), streams_(streams) {
  const queue::ControllerCoreOptions options = core_options(spec);
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(spec.count); ++i) {
    controllers_.emplace_back(options, streams.stream(Purpose::events, entity(i)));
  }
  objects_.resize(controllers_.size() * static_cast<std::size_t>(spec.keys));
}

Instant ControllerGroup::next_event(std::uint32_t controller, Instant now) {
  if (spec_.events <= 0) return kNever;
  return add(now, exponential_gap(spec_.events, controllers_[controller].events.draw()));
}

std::uint32_t ControllerGroup::next_object(std::uint32_t controller) {
  Random& random = controllers_[controller].events;
  const bool hot = random.draw() < spec_.hot_share;
  const double place = random.draw();
  const std::int32_t cold = spec_.keys - spec_.hot_keys;
  if (hot || cold == 0) return static_cast<std::uint32_t>(place * spec_.hot_keys);
  return static_cast<std::uint32_t>(spec_.hot_keys + static_cast<std::int32_t>(place * cold));
}

Instant ControllerGroup::first_resync(std::uint32_t controller) const {
  if (spec_.resync <= Duration{0}) return kNever;
  const double share = streams_.draw(Purpose::events, ~entity(controller), ~std::uint64_t{0});
  return Instant{
      Duration{static_cast<std::int64_t>(share * static_cast<double>(spec_.resync.count()))}};
}

void ControllerGroup::on_event(std::uint32_t controller, std::uint32_t index, Instant now) {
  Controller& at = controllers_[controller];
  Object& changed = object(controller, index);
  changed.since = std::min(changed.since, now);
  const std::uint64_t number = spec_.coalesce ? 0 : ++at.events_so_far;
  const queue::Added added = at.core.add(number << 32 | index, {}, now, now).added;
  if (added != queue::Added::queued && added != queue::Added::delayed) return;
  ++waiting_;
  if (!changed.is_parked || !spec_.coalesce) return;
  changed.is_parked = false;
  --parked_;
}

ControllerGroup::Next ControllerGroup::next(std::uint32_t controller, Instant now) {
  Controller& at = controllers_[controller];
  if (at.running >= spec_.workers) return {};
  const Core::Next next = at.core.next(now, draw(controller));
  if (!next.run) return {std::nullopt, next.wake};
  const std::uint32_t index = object_of(at.core.key(next.run->ticket));
  Object& worked_on = object(controller, index);
  Run run{.ticket = next.run->ticket,
          .controller = controller,
          .object = index,
          .attempt = next.run->attempt,
          .number = streams_.bits(Purpose::events, ~entity(controller),
                                  std::uint64_t{index} << 32 | worked_on.runs++),
          .waited = next.run->waited,
          .since = worked_on.since,
          .deadline = next.run->deadline,
          .is_broken = spec_.is_broken(index)};
  worked_on.since = kNever;
  if (spec_.coalesce ? worked_on.is_failing : run.is_retry() && !run.is_broken) --failing_;
  worked_on.is_failing = false;
  --waiting_;
  ++at.running;
  ++running_;
  return {run, kNever};
}

std::optional<Duration> ControllerGroup::finish(const Run& run, const decide::Report& report,
                                                Instant now) {
  Controller& at = controllers_[run.controller];
  const bool well = report.outcome == decide::Outcome::success;
  const Finish how{.how = well ? Finish::How::done : Finish::How::failed, .report = report};
  const Core::Core::AfterRun left = at.core.finish(run.ticket, how, now, draw(run.controller));
  --at.running;
  --running_;
  Object& worked_on = object(run.controller, run.object);
  const bool waits = left == Core::Core::AfterRun::ready || left == Core::Core::AfterRun::delayed;
  if (waits) ++waiting_;
  if (left == Core::Core::AfterRun::parked) {
    ++parked_;
    worked_on.is_parked = true;
  }
  if (well) {
    return run.since == kNever ? std::nullopt : std::optional(between(run.since, now));
  }
  worked_on.since = std::min(worked_on.since, run.since);
  if (waits && !run.is_broken) {
    ++failing_;
    worked_on.is_failing = true;
  }
  return std::nullopt;
}

double ControllerGroup::budget(Instant now) {
  const std::size_t stride = (controllers_.size() + 99) / 100;
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < controllers_.size(); i += stride, ++count) {
    sum += controllers_[i].core.requeue().budget().balance(now);
  }
  return sum / static_cast<double>(count);
}

bool ControllerGroup::is_balanced(Instant now) {
  std::size_t waiting = 0;
  std::size_t running = 0;
  std::size_t parked = 0;
  for (Controller& controller : controllers_) {
    const queue::QueueStats stats = controller.core.stats(now);
    waiting += stats.ready + stats.delayed;
    running += stats.running;
    parked += stats.parked;
    if (stats.running != static_cast<std::size_t>(controller.running)) return false;
  }
  return waiting == waiting_ && running == running_ && parked == parked_;
}

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
