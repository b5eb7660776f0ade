#include "damper/engine/policy.h"

namespace damper::engine {
namespace {

std::optional<std::string> find_error(const CallPolicy& call) {
  if (call.timeout <= Duration{0} || call.timeout > kLongest) {
    return "timeout must be over 0 and at most 30 days";
  }
  if (call.per_try_timeout < Duration{0} || call.per_try_timeout > kLongest) {
    return "per_try_timeout must be 0 (what is left of the timeout) to 30 days";
  }
  if (call.needed < Duration{0} || call.needed > call.timeout) {
    return "attempt_needs must be 0 to the timeout, or no attempt is ever sent";
  }
  if (call.reserve < Duration{0} || call.reserve >= call.timeout) {
    return "deadline_reserve must be 0 or more and under the timeout";
  }
  if (call.max_attempts < 1 || call.max_attempts > 100) return "num_retries must be 0 to 99";
  if (auto error = schedule::find_error(call.backoff)) return error;
  if (auto error = schedule::find_error(call.adaptive_timeout)) return error;
  return schedule::find_error(call.hedge);
}

}  // namespace

std::optional<std::string> find_error(const Policy& policy) {
  if (auto error = find_error(policy.call)) return error;
  if (auto error = admit::find_error(policy.budget)) return error;
  if (policy.breaker) {
    if (auto error = admit::find_error(*policy.breaker)) return error;
  }
  if (policy.throttle) {
    if (auto error = admit::find_error(*policy.throttle)) return error;
  }
  if (policy.limit) {
    if (auto error = admit::find_error(*policy.limit)) return error;
  }
  return std::nullopt;
}

}  // namespace damper::engine
