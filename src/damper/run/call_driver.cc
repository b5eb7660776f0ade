#include "damper/run/call_driver.h"

#include <algorithm>

#include "damper/base/check.h"
#include "damper/run/clock.h"

namespace damper::run {

void CallDriver::start(Instant now) {
  if (over_) return;
  DAMPER_CHECK(!started_);
  started_ = true;
  turn(call_.start(now, draw()));
}

void CallDriver::on_outcome(int lane, const decide::Report& report, Instant now) {
  if (over_ || !is_wanted(lane)) return;
  wanted_ = static_cast<std::uint8_t>(wanted_ & ~(1U << lane));
  if (!busy_) return turn(call_.on_outcome(lane, report, now, draw()));
  pending_[waiting_++] = {.lane = lane, .report = report, .at = now};
}

void CallDriver::on_timer(Instant now) {
  if (over_ || !started_) return;
  asked_.reset();
  if (!busy_) return turn(call_.on_timer(now, draw()));
  timer_due_ = true;
  told_at_ = now;
}

void CallDriver::on_cancel(Instant now) {
  if (over_) return;
  if (!busy_) return turn(call_.on_cancel(now));
  cancelled_ = true;
  told_at_ = now;
}

void CallDriver::abandon(Instant now) noexcept {
  if (started_ && !over_) (void)call_.on_cancel(now);
  over_ = true;
}

// Does a step, and all that was told meanwhile. Nothing of *this is touched after a verdict.
void CallDriver::turn(const engine::Step& first) {
  const engine::Step* step = &first;
  busy_ = true;
  while (step != nullptr) {
    for (int lane = 0; lane < engine::kLanes; ++lane) {
      if ((step->cancels >> lane & 1U) != 0) drop(lane);
    }
    if (step->over()) return finish(step->verdict);
    if (step->sends) {
      const engine::Attempt attempt = step->attempt;
      wanted_ = static_cast<std::uint8_t>(wanted_ | 1U << attempt.lane);
      numbers_[attempt.lane] = attempt.number;
      send(attempt);
    }
    const Instant wake = step->wake;
    step = find_next();
    if (step == nullptr && asked_ != wake) {
      asked_ = wake;
      wake_at(wake);
      step = find_next();
    }
  }
  busy_ = false;
}

// The step that follows from what was told while the last one was done.
const engine::Step* CallDriver::find_next() {
  if (cancelled_) return &call_.on_cancel(told_at_);
  if (waiting_ > 0) {
    const Pending next = pending_.front();
    std::move(pending_.begin() + 1, pending_.begin() + waiting_, pending_.begin());
    --waiting_;
    return &call_.on_outcome(next.lane, next.report, next.at, draw());
  }
  if (!timer_due_) return nullptr;
  timer_due_ = false;
  return &call_.on_timer(told_at_, draw());
}

// The call does not ask for this attempt any more. One that has ended meanwhile needs no giving up.
void CallDriver::drop(int lane) {
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
  if (asked_ != kNever) wake_at(kNever);
  on_verdict(verdict);
}

}  // namespace damper::run
