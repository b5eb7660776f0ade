#pragma once

#include <cstdint>

#include "damper/base/instant.h"
#include "damper/engine/policy.h"

namespace damper::policy {

// Whether the attempts of a call, and the waits between them, fit its deadline.
//
// Why: a policy of three attempts that has time for two never makes the third: it ends as
// deadline_too_close. The engine refuses it correctly; the policy is misleading.
// Model: the call has its timeout less its reserve. At best every attempt fails at once, every wait
// is as short as its jitter allows, and an attempt counts that the engine would start: at least
// `attempt_needs` before the deadline. At worst every attempt takes all of its own timeout, every
// wait is as long as it can be, and an attempt counts that has all of that timeout left. A
// Retry-After of the server is not known here.
struct DeadlineFit {
  int best = 1;                   // attempts, from 1 to max_attempts
  int worst = 1;                  // at most `best`
  bool retries_timeouts = false;  // Whether there is a wait after which a second attempt is
                                  // started although the first took all of its timeout.
  Duration wanted{0};  // the timeout that would do for all attempts at worst, the reserve included
};
[[nodiscard]] DeadlineFit deadline_fit(const engine::CallPolicy& call);

// Whether an attempt has a timeout of its own: one that hangs leaves time for another.
[[nodiscard]] bool has_attempt_timeout(const engine::CallPolicy& call);

// The ends of the interval from which the wait before a retry is drawn (retry counts from 0). For
// decorrelated jitter: when each wait before it was as long, or as short, as it could be.
[[nodiscard]] Duration shortest_wait(const schedule::BackoffOptions& backoff, std::uint32_t retry);
[[nodiscard]] Duration longest_wait(const schedule::BackoffOptions& backoff, std::uint32_t retry);

}  // namespace damper::policy
