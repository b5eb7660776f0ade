#include "damper/engine/delivery/redelivery.h"

#include <algorithm>

namespace damper::engine {
namespace {

using decide::Outcome;

constexpr Duration kLeastHold = std::chrono::seconds(1);

// Up to a tenth more, and at least up to kLeastHold: thousands that were held for one second do not
// go in the same 100 ms.
[[nodiscard]] Duration jittered(Duration delay, double draw) noexcept {
  const auto spread = static_cast<double>(std::max(delay / 10, kLeastHold).count());
  return delay + Duration{static_cast<std::int64_t>(spread * draw)};
}

[[nodiscard]] std::optional<Duration> scheduled_delay(const DeliveryPolicy& policy,
                                                      DeliveryRecord& record,
                                                      double draw) noexcept {
  const std::uint32_t retry = record.attempts - 1;
  if (!policy.backoff) {
    const auto delay = policy.retries.delay(retry, draw);
    if (delay) record.previous_delay = *delay;
    return delay;
  }
  if (record.attempts >= static_cast<std::uint32_t>(policy.max_attempts)) return std::nullopt;
  schedule::Backoff backoff(record.previous_delay);
  const Duration delay = backoff.next(*policy.backoff, retry, draw);
  record.previous_delay = std::max(backoff.previous(), delay);
  return delay;
}

// The time that the server has named.
[[nodiscard]] Duration held_delay(const DeliveryPolicy& policy, DeliveryRecord& record,
                                  Duration retry_after, double draw) noexcept {
  const Duration doubled = std::max(kLeastHold, times(record.previous_delay, 2));
  const Duration delay = std::min(std::max(retry_after, doubled), policy.longest_hold);
  record.previous_delay = delay;
  return jittered(delay, draw);
}

[[nodiscard]] constexpr bool holds(const decide::Report& report) noexcept {
  return report.server_said_when() && report.outcome == Outcome::overload;
}

}  // namespace

std::optional<std::string> find_error(const DeliveryPolicy& policy) {
  if (policy.backoff) {
    if (auto error = schedule::find_error(*policy.backoff)) return "backoff." + *error;
  }
  if (policy.rate) {
    if (auto error = admit::find_error(*policy.rate)) return "rate." + *error;
  }
  if (auto error = admit::find_error(policy.breaker)) return "breaker." + *error;
  return BoundsCheck()
      .field("timeout", policy.timeout, policy.kTimeout)
      .field("max_attempts", policy.max_attempts, policy.kMaxAttempts)
      .field("max_age", policy.max_age, policy.kMaxAge)
      .field("longest_hold", policy.longest_hold, Range<Duration>{kLeastHold, kLongest})
      .field("disable_after", policy.disable_after, Range<Duration>{Duration{0}, kLongest})
      .field("concurrency", policy.concurrency, policy.kConcurrency)
      .field("breaker.probes", policy.breaker.probes,
             Range<std::int32_t>{1, admit::SmallCircuitBreaker::kMostProbes})
      .error();
}

Redelivery decide_redelivery(const DeliveryPolicy& policy, DeliveryRecord& record,
                             const decide::Report& report, Duration age, double draw) noexcept {
  using What = Redelivery::What;
  if (report.outcome == Outcome::success) return {};
  if (report.outcome == Outcome::cancelled) {
    return {What::again, Verdict::none, jittered(kLeastHold, draw)};
  }
  if (report.do_not_retry) return {What::dead, Verdict::pushed_back, Duration{0}};
  Duration delay{0};
  if (holds(report)) {
    delay = held_delay(policy, record, report.retry_after, draw);
  } else {
    ++record.attempts;
    const auto scheduled = scheduled_delay(policy, record, draw);
    if (!scheduled) return {What::dead, Verdict::attempts_spent, Duration{0}};
    delay = *scheduled;
    if (report.server_said_when()) {
      delay = std::max(delay, jittered(std::min(report.retry_after, policy.longest_hold), draw));
    }
  }
  if (delay > policy.max_age - std::min(age, policy.max_age)) {
    return {What::dead, Verdict::deadline_passed, Duration{0}};
  }
  return {What::again, Verdict::none, delay};
}

}  // namespace damper::engine
