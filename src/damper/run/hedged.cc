#include "damper/run/hedged.h"

#include <algorithm>

#include "damper/run/clock.h"
#include "damper/run/waiting_calls.h"

namespace damper::run {

HedgedCall::HedgedCall(engine::Call& call, const std::stop_token& stop)
    : call_(call), stop_(stop) {}

Verdict HedgedCall::drive(const engine::Step& first) noexcept {
  const std::stop_callback callback(stop_, [this] { on_stop(); });
  {
    Turn turn(mutex_);
    apply(first, turn);
  }
  while (true) {
    Turn turn(mutex_);
    caller_busy_ = false;
    if (step_.over()) break;
    if (stop_.stop_requested()) {
      apply(call_.on_cancel(now()), turn);
    } else if (to_send_) {
      caller_busy_ = true;
      send(turn);
    } else {
      wait(turn);
    }
  }
  HelperPool::of_process().cancel(timer_);  // Waits for the helpers, and the losers in them.
  return step_.verdict;
}

void HedgedCall::Turn::end() {
  if (lock.owns_lock()) lock.unlock();
  for (std::optional<std::stop_source>& loser : losers) {
    if (loser) loser->request_stop();
    loser.reset();
  }
}

void HedgedCall::apply(const engine::Step& step, Turn& turn) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if ((step.cancels >> i & 1U) == 0 || lanes_[i] == nullptr) continue;
    lanes_[i]->cancelled = true;
    turn.losers[i] = lanes_[i]->stop;
    lanes_[i] = nullptr;
  }
  // An attempt that still waits for its thread is part of every step until it is cancelled.
  if (to_send_ && (step.over() || (step.cancels >> to_send_->lane & 1U) != 0)) to_send_.reset();
  if (step.sends) to_send_ = step.attempt;
  step_ = step;
  ++steps_;
  changed_.notify_all();
}

// Runs the attempt that is to be sent, on this thread, and ends the turn for it.
void HedgedCall::send(Turn& turn) {
  Running running{.attempt = *to_send_, .stop = std::stop_source()};
  lanes_[running.attempt.lane] = &running;
  to_send_.reset();
  arm_timer(step_.wake);
  turn.end();
  const std::stop_token stop = running.stop.get_token();
  if (stop_.stop_requested()) running.stop.request_stop();  // on_stop() came before its place.
  run(Attempt(running.attempt, stop), running);
}

std::optional<HedgedCall::Turn> HedgedCall::on_outcome(Running& running,
                                                       const decide::Report& report) {
  std::optional<Turn> turn(std::in_place, mutex_);
  if (running.cancelled) return std::nullopt;
  lanes_[running.attempt.lane] = nullptr;
  apply(call_.on_outcome(running.attempt.lane, report, now(), draw()), *turn);
  return turn;
}

// The caller's thread has nothing to do but wait: for a backoff, or for a hedge beside an attempt
// that has failed.
void HedgedCall::wait(Turn& turn) {
  if (!any_active()) {
    turn.end();  // Nobody else has anything to tell the call now.
    const engine::Step& next = wait_for_retry(call_, stop_);
    Turn another(mutex_);
    apply(next, another);
    return;
  }
  const std::uint64_t seen = steps_;
  const auto wake = steady_time(step_.wake);
  changed_.wait_until(turn.lock, wake, [&] { return steps_ != seen || stop_.stop_requested(); });
  if (steps_ == seen && !stop_.stop_requested()) apply(call_.on_timer(now(), draw()), turn);
}

// A helper is the caller's timer while the caller is inside an attempt; a hedge that is due runs
// here. A backoff is left to the caller, who cannot send a retry before it is back.
void HedgedCall::on_timer(bool may_hedge) noexcept {
  Turn turn(mutex_);
  if (step_.over() || !caller_busy_ || stop_.stop_requested() || !any_active()) return;
  const Instant time = now();
  // Once all of them are late there is nothing left to hedge, and asking cannot send anything.
  if (!may_hedge && time < latest_deadline()) return arm_timer(latest_deadline());
  if (time >= step_.wake) apply(call_.on_timer(time, draw()), turn);
  if (to_send_) {
    send(turn);
  } else if (any_active()) {
    arm_timer(step_.wake);
  }
}

void HedgedCall::on_stop() {
  Turn turn(mutex_);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i] != nullptr) turn.losers[i] = lanes_[i]->stop;
  }
  changed_.notify_all();
}

// Without a free place in the pool the call goes on unhedged.
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
