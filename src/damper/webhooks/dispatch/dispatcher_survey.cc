#include <algorithm>

#include "damper/run/clock.h"
#include "damper/webhooks/dispatch/dispatcher.h"

namespace damper::webhooks {

DispatchSurvey Dispatcher::survey() const {
  DispatchSurvey survey;
  const Instant now = loop_.now();
  const UnixTime wall = run::wall_time();
  for (const auto& [id, worker] : workers_) {
    if (worker->is_disabled()) {
      ++survey.disabled;
      continue;
    }
    ++survey.breakers[static_cast<std::size_t>(worker->gate().breaker_state(now))];
    const auto due = worker->next_due();
    if (!due || *due > wall) continue;
    survey.oldest_due = std::max(survey.oldest_due, Duration(wall - *due));
    const auto room = worker->gate().room(now);
    if (held_until(Hold::deliveries, *worker, now)) {
      ++survey.blocked[static_cast<std::size_t>(Verdict::switched_off)];
    } else if (room.attempts == 0) {
      ++survey.blocked[static_cast<std::size_t>(room.held_for)];
    }
  }
  return survey;
}

}  // namespace damper::webhooks
