// The rules about time: deadline, timeouts, waits.
#include "damper/policy/lint/lint_rules.h"

#include <algorithm>

#include "damper/base/duration_text.h"
#include "damper/policy/lint/deadline_fit.h"

namespace damper::policy {
namespace {

constexpr Duration kNobodyWaits = std::chrono::hours(1);
constexpr int kFarOverP99 = 10;  // times
constexpr int kFarOverP999 = 3;

std::string fits_text(const engine::CallPolicy& call, const DeadlineFit& fit) {
  return "of " + std::to_string(call.max_attempts) + " attempts " + std::to_string(fit.best) +
         (fit.best == 1 ? " fits" : " fit") + " at best, " + std::to_string(fit.worst) +
         " at worst";
}

void find_fit(const Lens& lens) {
  const engine::CallPolicy& call = lens.policy().call;
  const DeadlineFit fit = deadline_fit(call);
  const std::string time = format_duration(call.timeout - call.reserve);
  if (fit.best < call.max_attempts) {
    lens.add(Rule::attempts_exceed_deadline, "retry_policy.num_retries",
             "the shortest waits between " + std::to_string(call.max_attempts) +
                 " attempts are too long for the " + time + " of the call: " + fits_text(call, fit),
             "num_retries: " + std::to_string(fit.best - 1) + ", or a shorter base_interval");
    return;
  }
  // An adaptive timeout follows measured latencies, which are not known here.
  if (call.per_try_timeout == Duration{0} || call.adaptive_timeout.on ||
      fit.worst == call.max_attempts) {
    return;
  }
  const std::string timeout =
      fit.wanted <= kLongest ? "timeout: " + format_duration(fit.wanted) + ", or " : "";
  const std::string attempt = format_duration(longest_attempt(call));
  if (!fit.retries_timeouts) {
    lens.add(Rule::attempts_exceed_deadline, "retry_policy.per_try_timeout",
             "an attempt may take " + attempt + " of the " + time +
                 " of the call, so one that times out is not retried: " + fits_text(call, fit),
             timeout + "a per_try_timeout under half of the timeout");
    return;
  }
  Duration waits{0};
  for (int i = 1; i < call.max_attempts; ++i) {
    waits += longest_wait(call.backoff, static_cast<std::uint32_t>(i - 1));
  }
  lens.add(Rule::attempts_may_not_fit, "retry_policy.num_retries",
           std::to_string(call.max_attempts) + " attempts of up to " + attempt +
               " and waits of up to " + format_duration(waits) + " do not fit the " + time +
               " of the call: " + fits_text(call, fit),
           timeout + (fit.worst > 1 ? "num_retries: " + std::to_string(fit.worst - 1)
                                    : "a shorter per_try_timeout"));
}

// What an attempt's timeout should be about.
Duration advised(const Facts::Latency& latency) {
  const Duration wanted =
      latency.p999 > Duration{0} ? times(latency.p999, 3) / 2 : times(latency.p99, 3);
  return std::min(wanted, kLongest);
}

// The key that bounds an attempt.
std::string_view bounding_key(const engine::CallPolicy& call) {
  const Duration time = call.timeout - call.reserve;
  const bool own = call.per_try_timeout > Duration{0} && call.per_try_timeout < time;
  if (call.adaptive_timeout.on && call.adaptive_timeout.upper < time &&
      (!own || call.adaptive_timeout.upper < call.per_try_timeout)) {
    return "adaptive_timeout.upper";
  }
  return own ? "retry_policy.per_try_timeout" : "timeout";
}

}  // namespace

void find_timing(const Lens& lens) {
  const engine::CallPolicy& call = lens.policy().call;
  if (call.timeout >= kNobodyWaits) {
    lens.add(Rule::no_deadline, "timeout",
             "a timeout of " + lens.value("timeout") + " is no deadline: a call that hangs, hangs",
             "timeout: 5s   # or what the caller waits for");
  }
  if (!lens.retries()) return;
  if (call.backoff.jitter == schedule::Jitter::none) {
    lens.add(Rule::no_jitter, "retry_policy.retry_back_off.jitter",
             "all calls that failed at one moment come back at one moment, " +
                 format_duration(schedule::ceiling(call.backoff, 0)) + " later",
             "retry_back_off: { jitter: full }");
  }
  find_fit(lens);
}

void find_attempt_timeout(const Lens& lens) {
  const Facts::Latency& latency = lens.facts().latency;
  const engine::CallPolicy& call = lens.policy().call;
  const Duration attempt = longest_attempt(call);
  const std::string_view key = bounding_key(call);
  const std::string leaf(key.substr(key.rfind('.') + 1));
  const std::string given_up = "an attempt is given up after " + format_duration(attempt);
  const auto line = [&](Duration wanted) { return leaf + ": " + time_text(wanted); };
  if (attempt < latency.p50) {
    lens.add(Rule::timeout_under_p50, key,
             given_up + ", under the median of " + time_text(latency.p50) +
                 ": more than half of the healthy ones are cut off",
             line(latency.p99 > Duration{0} ? advised(latency) : times(latency.p50, 10)));
  } else if (attempt < latency.p99) {
    lens.add(Rule::timeout_under_p99, key,
             given_up + ", under the p99 of " + time_text(latency.p99) +
                 ": more than 1 % of the healthy ones are cut off",
             line(advised(latency)));
  } else if (latency.p99 > Duration{0} && !call.adaptive_timeout.on &&
             attempt > times(latency.p99, kFarOverP99) &&
             attempt > times(latency.p999, kFarOverP999)) {
    lens.add(
        Rule::timeout_far_over_p99, key,
        "an attempt that hangs is given up after " + format_duration(attempt) + ", " +
            decimal(static_cast<double>(attempt.count()) / static_cast<double>(latency.p99.count()),
                    0) +
            " times the p99 of " + time_text(latency.p99),
        "per_try_timeout: " + time_text(advised(latency)));
  }
}

}  // namespace damper::policy
