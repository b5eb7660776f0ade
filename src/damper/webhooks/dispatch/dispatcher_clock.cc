#include "damper/run/clock.h"
#include "damper/webhooks/dispatch/dispatcher.h"

namespace damper::webhooks {
namespace {

// Of the wall clock from the steady one.
[[nodiscard]] Duration wall_offset() noexcept {
  return Duration(run::wall_time().time_since_epoch()) - run::now().time_since_epoch();
}

}  // namespace

void Dispatcher::watch_clock() {
  wall_offset_ = wall_offset();
  clock_check_.arm(add(loop_.now(), kClockCheck));
}

// Workers wait by the steady clock for a due time of the wall clock.
void Dispatcher::check_clock(Instant now) {
  if (draining_) return;
  clock_check_.arm(add(now, kClockCheck));
  const Duration offset = wall_offset();
  const Duration jump = offset - wall_offset_;
  if (jump < kClockJump && -jump < kClockJump) return;
  wall_offset_ = offset;
  for (const auto& [id, worker] : workers_) pump(*worker);
}

}  // namespace damper::webhooks
