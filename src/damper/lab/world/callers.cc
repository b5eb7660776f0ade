#include "damper/lab/world/callers.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::lab {
namespace {

// The lane in which the attempt is under way; kLanes when in none.
std::size_t lane_of(const Operation& operation, Handle sent) noexcept {
  const auto& lanes = operation.lanes;
  if (sent == Handle{}) return lanes.size();  // It is what free lanes have.
  return static_cast<std::size_t>(std::find(lanes.begin(), lanes.end(), sent) - lanes.begin());
}

}  // namespace

Handle Callers::prepare(engine::Dependency& dependency, const engine::CallOptions& options) {
  const Handle handle = operations_.insert(dependency, options);
  operations_.find(handle)->started = queue_.now();
  return handle;
}

void Callers::start(Handle handle) {
  Operation* const operation = operations_.find(handle);
  DAMPER_CHECK(operation != nullptr);
  apply(handle, *operation, operation->call.start(queue_.now(), draw(*operation)));
}

bool Callers::is_wanted(Handle handle, Handle sent) noexcept {
  const Operation* const operation = operations_.find(handle);
  return operation != nullptr && lane_of(*operation, sent) < operation->lanes.size();
}

bool Callers::on_answer(Handle handle, Handle sent, const decide::Report& report) {
  Operation* const operation = operations_.find(handle);
  if (operation == nullptr) return false;
  const std::size_t lane = lane_of(*operation, sent);
  if (lane == operation->lanes.size()) return false;
  operation->lanes[lane] = {};
  const Instant now = queue_.now();
  if (report.outcome == decide::Outcome::success) {
    apply(handle, *operation, operation->call.on_success(static_cast<int>(lane), now));
  } else {
    apply(handle, *operation,
          operation->call.on_outcome(static_cast<int>(lane), report, now, draw(*operation)));
  }
  return true;
}

void Callers::on_wake(const timer::TimedEvent& event) {
  const Handle handle = Handle::of(event.detail);
  Operation* const operation = operations_.find(handle);
  DAMPER_CHECK(operation != nullptr);  // Its timer is cancelled when it goes.
  operation->timer_at = kNever;
  apply(handle, *operation, operation->call.on_timer(queue_.now(), draw(*operation)));
}

void Callers::cancel(Handle handle) {
  Operation* const operation = operations_.find(handle);
  DAMPER_CHECK(operation != nullptr);
  apply(handle, *operation, operation->call.on_cancel(queue_.now()));
}

void Callers::apply(Handle handle, Operation& operation, const engine::Step& step) {
  for (std::size_t lane = 0; lane < operation.lanes.size(); ++lane) {
    if ((step.cancels >> lane & 1) == 0) continue;
    const Handle sent = operation.lanes[lane];
    operation.lanes[lane] = {};
    wire_.on_give_up(sent);
  }
  if (step.over()) {
    queue_.cancel(operation.timer);
    wire_.on_over(operation, step.verdict);
    operations_.erase(handle);
    return;
  }
  set_timer(handle, operation, step.wake);
  if (step.sends) {
    const std::size_t lane = step.attempt.lane;
    operation.lanes[lane] = wire_.on_send(handle, operation, step.attempt);
  }
}

void Callers::set_timer(Handle handle, Operation& operation, Instant at) {
  if (at == operation.timer_at) return;
  queue_.cancel(operation.timer);
  operation.timer_at = at;
  operation.timer = {};
  if (at == kNever) return;
  operation.timer = queue_.schedule(at, {wake_, handle.index, handle.word()});
}

}  // namespace damper::lab
