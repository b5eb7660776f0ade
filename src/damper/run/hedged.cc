#include "damper/run/hedged.h"

#include <algorithm>

#include "damper/run/clock.h"
#include "damper/run/parking.h"

namespace damper::run {

HedgedCall::HedgedCall(engine::Call& call, const std::stop_token& stop)
    : call_(call), stop_(stop) {}

Verdict HedgedCall::drive(const engine::Step& first) {
  const std::stop_callback on_stop(stop_, [this] { ask_to_stop(); });
  Lock lock(mutex_);
  apply(first);
  while (!step_.over()) {
    if (to_send_) {
      caller_busy_ = true;
      run_attempt(lock);
      caller_busy_ = false;
      if (!step_.over() && stop_.stop_requested()) apply(call_.on_cancel(now()));
    } else {
      wait(lock);
    }
  }
  changed_.wait(lock, [this] { return !any_running(); });
  lock.unlock();
  HelperPool::of_process().cancel(timer_);
  return step_.verdict;
}

void HedgedCall::apply(const engine::Step& step) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if ((step.cancels >> i & 1U) == 0) continue;
    lanes_[i].cancelled = true;
    lanes_[i].stop.request_stop();
  }
  step_ = step;
  ++steps_;
  to_send_ = step.sends;
  changed_.notify_all();
}

// Runs the attempt that is to be sent, on the thread that calls.
void HedgedCall::run_attempt(Lock& lock) {
  const engine::Attempt sent = step_.attempt;
  Lane& lane = lanes_[sent.lane];
  to_send_ = false;
  // An operation that ignores its stop token may still be in the lane.
  changed_.wait(lock, [&lane] { return !lane.running; });
  lane = {.stop = std::stop_source(), .running = true, .cancelled = false};
  const std::stop_token stop = lane.stop.get_token();
  if (stop_.stop_requested()) lane.stop.request_stop();
  arm_timer();
  lock.unlock();
  const decide::Report report = attempt(Attempt(sent, stop), sent.lane);
  lock.lock();
  lane.running = false;
  if (!lane.cancelled) {
    last_lane_ = sent.lane;
    apply(call_.on_outcome(sent.lane, report, now(), draw()));
  }
  changed_.notify_all();
}

// The caller's thread has nothing to do but wait: for a backoff, or for a hedge beside an attempt
// that has failed.
void HedgedCall::wait(Lock& lock) {
  if (!any_running()) {
    lock.unlock();  // Nobody else has anything to tell the call now.
    const engine::Step& next = park(call_, stop_);
    lock.lock();
    apply(next);
    return;
  }
  const std::uint64_t seen = steps_;
  const auto wake = std::chrono::steady_clock::time_point(step_.wake.time_since_epoch());
  changed_.wait_until(lock, wake, [&] { return steps_ != seen || stop_.stop_requested(); });
  if (steps_ != seen) return;
  if (stop_.stop_requested()) {
    apply(call_.on_cancel(now()));
  } else {
    apply(call_.on_timer(now(), draw()));
  }
}

// A helper is the caller's timer while the caller is inside an attempt; a hedge that is due runs
// here. A retry is left to the caller.
void HedgedCall::on_timer() noexcept {
  Lock lock(mutex_);
  if (step_.over() || !caller_busy_ || to_send_) return;
  if (now() >= step_.wake) apply(call_.on_timer(now(), draw()));
  if (step_.over() || (to_send_ && !step_.attempt.hedge)) return;
  if (to_send_) {
    run_attempt(lock);
  } else {
    arm_timer();
  }
}

// Without a free place in the pool the call goes on unhedged.
void HedgedCall::arm_timer() {
  if (step_.wake != kNever) (void)HelperPool::of_process().schedule(timer_, step_.wake);
}

void HedgedCall::ask_to_stop() {
  const Lock lock(mutex_);
  for (Lane& lane : lanes_) lane.stop.request_stop();
  changed_.notify_all();
}

bool HedgedCall::any_running() const noexcept {
  return std::ranges::any_of(lanes_, &Lane::running);
}

}  // namespace damper::run
