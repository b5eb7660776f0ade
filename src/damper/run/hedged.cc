#include "damper/run/hedged.h"

#include <algorithm>

#include "damper/run/clock.h"
#include "damper/run/dependency.h"

namespace damper::run {

HedgedCall::HedgedCall(engine::Call& call, const std::stop_token& stop)
    : call_(call), stop_(stop) {}

Verdict HedgedCall::drive() noexcept {
  const std::stop_callback callback(stop_, [this] { on_stop(); });
  {
    StepLock held(mutex_);
    apply(held);
  }
  while (true) {
    StepLock held(mutex_);
    caller_busy_ = false;
    if (step_.over()) break;
    if (stop_.stop_requested()) {
      call_.on_cancel(now());
      apply(held);
    } else if (to_send_) {
      caller_busy_ = true;
      send(held);
    } else {
      wait(held);
    }
  }
  HelperPool::of_process().cancel(timer_);  // Waits for helpers and losers.
  return step_.verdict;
}

void HedgedCall::StepLock::end() {
  if (lock.owns_lock()) lock.unlock();
  for (std::optional<std::stop_source>& loser : losers) {
    if (loser) loser->request_stop();
    loser.reset();
  }
}

void HedgedCall::apply(StepLock& held) {
  const engine::Step& step = call_.step();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if ((step.cancels >> i & 1U) == 0 || lanes_[i] == nullptr) continue;
    lanes_[i]->cancelled = true;
    held.losers[i] = lanes_[i]->stop;
    lanes_[i] = nullptr;
  }
  // An attempt that still waits for its thread stays until it is cancelled.
  if (to_send_ && (step.over() || (step.cancels >> to_send_->lane & 1U) != 0)) to_send_.reset();
  if (step.sends) to_send_ = step.attempt;
  step_ = step;
  ++steps_;
  changed_.notify_all();
}

// Runs the attempt that is to be sent, on this thread, and releases the lock for it.
void HedgedCall::send(StepLock& held) {
  Running running{.attempt = *to_send_, .stop = std::stop_source()};
  lanes_[running.attempt.lane] = &running;
  to_send_.reset();
  arm_timer(step_.wake);
  held.end();
  const std::stop_token stop = running.stop.get_token();
  if (stop_.stop_requested()) running.stop.request_stop();  // on_stop() ran before.
  run(Attempt(running.attempt, stop), running);
}

std::optional<HedgedCall::StepLock> HedgedCall::on_outcome(Running& running,
                                                           const decide::Report& report) {
  std::optional<StepLock> held(std::in_place, mutex_);
  if (running.cancelled) return std::nullopt;
  lanes_[running.attempt.lane] = nullptr;
  call_.on_outcome(running.attempt.lane, report, now(), draw());
  apply(*held);
  return held;
}

// The caller's thread waits for a backoff, or for a hedge after its own attempt has failed.
void HedgedCall::wait(StepLock& held) {
  if (!any_active()) {
    held.end();  // No other thread has an input for the call now.
    wait_for_retry(call_, stop_);
    StepLock another(mutex_);
    apply(another);
    return;
  }
  const std::uint64_t seen = steps_;
  const auto wake = steady_time(step_.wake);
  changed_.wait_until(held.lock, wake, [&] { return steps_ != seen || stop_.stop_requested(); });
  if (steps_ != seen || stop_.stop_requested()) return;
  call_.on_timer(now(), draw());
  apply(held);
}

// A helper thread is the timer while the caller's thread is inside an attempt, and runs a due
// hedge. A backoff is left to the caller's thread, which cannot send a retry before it returns.
void HedgedCall::on_timer(bool may_hedge) noexcept {
  StepLock held(mutex_);
  if (step_.over() || !caller_busy_ || stop_.stop_requested() || !any_active()) return;
  const Instant time = now();
  // After the latest deadline there is nothing left to hedge, and on_timer() sends nothing.
  if (!may_hedge && time < latest_deadline()) return arm_timer(latest_deadline());
  if (time >= step_.wake) {
    call_.on_timer(time, draw());
    apply(held);
  }
  if (to_send_) {
    send(held);
  } else if (any_active()) {
    arm_timer(step_.wake);
  }
}

void HedgedCall::on_stop() {
  StepLock held(mutex_);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i] != nullptr) held.losers[i] = lanes_[i]->stop;
  }
  changed_.notify_all();
}

// If the pool is full the call continues unhedged.
void HedgedCall::arm_timer(Instant due) {
  if (due != kNever) (void)HelperPool::of_process().schedule(timer_, due);
}

bool HedgedCall::any_active() const noexcept {
  return std::ranges::any_of(lanes_, [](const Running* running) { return running != nullptr; });
}

Instant HedgedCall::latest_deadline() const noexcept {
  Instant latest = Instant::min();
  for (const Running* running : lanes_) {
    if (running != nullptr) latest = std::max(latest, running->attempt.deadline);
  }
  return latest;
}

}  // namespace damper::run
