#include "damper/policy/lint/deadline_fit.h"

#include <algorithm>

namespace damper::policy {
namespace {

// The number of attempts that start in time when each takes `attempt`, is started at least `needed`
// before the deadline, and `wait` returns the waits between them.
template <class Wait>
int attempts_in_time(const engine::CallPolicy& call, Duration attempt, Duration needed, Wait wait) {
  const Duration time = call.timeout - call.reserve;
  Duration start{0};
  int attempts = 1;
  for (; attempts < call.max_attempts; ++attempts) {
    start += attempt + wait(call.backoff, static_cast<std::uint32_t>(attempts - 1));
    if (start + needed > time) break;
  }
  return attempts;
}

}  // namespace

Duration shortest_wait(const schedule::BackoffOptions& backoff, std::uint32_t retry) {
  return schedule::Backoff().next(backoff, retry, 0);
}

Duration longest_wait(const schedule::BackoffOptions& backoff, std::uint32_t retry) {
  if (backoff.jitter != schedule::Jitter::decorrelated) return schedule::ceiling(backoff, retry);
  Duration wait = backoff.base;
  for (std::uint32_t i = 0; i <= retry && wait < backoff.cap; ++i) {
    wait = std::min(backoff.cap, times(wait, 3));
  }
  return wait;
}

bool has_attempt_timeout(const engine::CallPolicy& call) {
  return call.adaptive_timeout.on || call.per_try_timeout > Duration{0};
}

DeadlineFit deadline_fit(const engine::CallPolicy& call) {
  DeadlineFit fit;
  const Duration attempt = engine::longest_attempt(call);
  fit.best = attempts_in_time(call, Duration{0}, call.needed, shortest_wait);
  fit.worst = attempts_in_time(call, attempt, std::max(attempt, call.needed), longest_wait);
  fit.retries_timeouts =
      attempt + shortest_wait(call.backoff, 0) + call.needed <= call.timeout - call.reserve;
  fit.wanted = call.reserve + attempt * call.max_attempts;
  for (int i = 1; i < call.max_attempts; ++i) {
    fit.wanted += longest_wait(call.backoff, static_cast<std::uint32_t>(i - 1));
  }
  return fit;
}

}  // namespace damper::policy
