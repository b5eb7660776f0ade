#include "damper/run/call_driver.h"

#include <algorithm>

#include "damper/base/check.h"
#include "damper/run/clock.h"

namespace damper::run {

void CallDriver::start(Instant now) {
  if (over_) return;
  DAMPER_CHECK(!started_);
  started_ = true;
  call_.start(now, draw());
  run_steps();
}

void CallDriver::on_outcome(int lane, const decide::Report& report, Instant now) {
  if (over_ || !is_wanted(lane)) return;
  wanted_ = static_cast<std::uint8_t>(wanted_ & ~(1U << lane));
  if (busy_) {
    pending_[waiting_++] = {.lane = lane, .report = report, .at = now};
    return;
  }
  call_.on_outcome(lane, report, now, draw());
  run_steps();
}

void CallDriver::on_timer(Instant now) {
  if (over_ || !started_) return;
  requested_wake_.reset();
  if (busy_) {
    timer_due_ = true;
    deferred_at_ = now;
    return;
  }
  call_.on_timer(now, draw());
  run_steps();
}

void CallDriver::on_upload_complete(Instant now) {
  if (over_) return;
  DAMPER_CHECK(started_ && !busy_);
  call_.on_upload_complete(now, draw());
  run_steps();
}

void CallDriver::on_cancel(Instant now) {
  if (over_) return;
  if (busy_) {
    cancelled_ = true;
    deferred_at_ = now;
    return;
  }
  call_.on_cancel(now);
  run_steps();
}

void CallDriver::abandon(Instant now) noexcept {
  if (started_ && !over_) call_.on_cancel(now);
  over_ = true;
}

// Executes the call's step, and those of the inputs that were deferred. Nothing of *this is touched
// after a verdict.
void CallDriver::run_steps() {
  busy_ = true;
  for (;;) {
    const engine::Step step = call_.step();
    for (int lane = 0; lane < engine::kLanes; ++lane) {
      if ((step.cancels >> lane & 1U) != 0) forget(lane);
    }
    if (step.over()) return finish(step.verdict);
    if (step.sends) {
      wanted_ = static_cast<std::uint8_t>(wanted_ | 1U << step.attempt.lane);
      numbers_[step.attempt.lane] = step.attempt.number;
      send(step.attempt);
    }
    if (take_deferred()) continue;
    if (requested_wake_ == step.wake) break;
    requested_wake_ = step.wake;
    wake_at(step.wake);
    if (!take_deferred()) break;
  }
  busy_ = false;
}

// Makes a deferred input the call's; false if there is none.
bool CallDriver::take_deferred() {
  if (cancelled_) {
    call_.on_cancel(deferred_at_);
  } else if (waiting_ > 0) {
    const Pending next = pending_.front();
    std::move(pending_.begin() + 1, pending_.begin() + waiting_, pending_.begin());
    --waiting_;
    call_.on_outcome(next.lane, next.report, next.at, draw());
  } else if (timer_due_) {
    timer_due_ = false;
    call_.on_timer(deferred_at_, draw());
  } else {
    return false;
  }
  return true;
}

// The attempt is not wanted any more. One that has ended already is not given up.
void CallDriver::forget(int lane) {
  const auto end = pending_.begin() + waiting_;
  const auto kept = std::remove_if(pending_.begin(), end,
                                   [lane](const Pending& pending) { return pending.lane == lane; });
  waiting_ = static_cast<std::uint8_t>(kept - pending_.begin());
  if (!is_wanted(lane)) return;
  wanted_ = static_cast<std::uint8_t>(wanted_ & ~(1U << lane));
  give_up(lane);
}

void CallDriver::finish(Verdict verdict) {
  over_ = true;
  if (requested_wake_ != kNever) wake_at(kNever);
  on_verdict(verdict);
}

}  // namespace damper::run
