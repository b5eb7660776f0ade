#include "damper/engine/requeue.h"

#include <algorithm>

#include "damper/base/check.h"
#include "damper/decide/judge.h"
#include "damper/engine/failure_streak.h"

namespace damper::engine {
namespace {

using decide::Outcome;

// The wait of a held key before it tries again.
constexpr schedule::BackoffOptions kHold{.jitter = schedule::Jitter::equal,
                                         .base = std::chrono::seconds(2),
                                         .cap = std::chrono::seconds(5)};
// The failure in a row from which a key's backoff is worth a line, and its recovery too.
constexpr std::uint32_t kGrowing = 3;

std::optional<EventKind> event_of_failure(std::uint32_t failures) noexcept {
  if (failures == 1) return EventKind::first_failure;
  if (failures == kGrowing) return EventKind::backoff_growing;
  if (is_repeated_failure(failures)) return EventKind::repeated_failure;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_error(const RequeuePolicy& policy) {
  BoundsCheck check;
  check.field("timeout", policy.timeout, policy.kTimeout)
      .field("max_attempts", policy.max_attempts, policy.kMaxAttempts)
      .part("backoff", schedule::find_error(policy.backoff))
      .field("overload_base", policy.overload_base,
             Range<Duration>{Duration{1}, policy.backoff.cap})
      .part("budget", admit::find_error(policy.budget));
  if (policy.rate) check.part("rate", admit::find_error(*policy.rate));
  return check.error();
}

Requeue::Requeue(const RequeuePolicy& policy, DependencyParents parents)
    : policy_(policy), switches_(parents.switches), budget_(policy.budget, parents.budget) {
  DAMPER_CHECK_VALID(find_error(policy));
  if (policy.rate) rate_.emplace(*policy.rate);
}

Duration Requeue::rate_wait(Instant now) const noexcept {
  return rate_ ? rate_->wait(now) : Duration{0};
}

Requeue::Admission Requeue::start(KeyRecord& key, Instant now, double draw) noexcept {
  if (key.failures > 0) {
    if (now < key.not_before) {  // Not all at the server's instant: with some jitter after it.
      ++counts_.held_by_server;
      schedule::Backoff moment;
      const Instant until = add(key.not_before, moment.next(kHold, 0, draw));
      return {Verdict::pushed_back, std::min(until, std::max(key.retry_at, key.not_before))};
    }
    if (switches_.retries_off(now)) return hold(key, Verdict::switched_off, now, draw);
    const bool is_early = now < key.retry_at;
    if (is_early && now < early_from_) return hold(key, Verdict::budget_spent, now, draw);
    key.grant = budget_.try_withdraw(now, under_way_);
    if (!key.grant && !is_early) early_from_ = add(now, kHold.cap);
    if (!key.grant) return hold(key, Verdict::budget_spent, now, draw);
    ++counts_.retries[static_cast<std::size_t>(key.outcome)];
  } else {
    budget_.on_request(now);
    key.successes = successes_;
  }
  if (rate_) DAMPER_CHECK(rate_->try_take(now));
  ++counts_.runs;
  ++under_way_;
  key.holds = 0;
  return {};
}

Requeue::Admission Requeue::hold(KeyRecord& key, Verdict why, Instant now, double draw) noexcept {
  ++(why == Verdict::switched_off ? counts_.held_by_switch : counts_.held_by_budget);
  if (now < key.retry_at) return {why, key.retry_at};
  schedule::Backoff backoff;
  const Instant until = add(now, backoff.next(kHold, key.holds, draw));
  if (key.holds < UINT8_MAX) ++key.holds;
  return {why, until};
}

Requeue::Next Requeue::on_outcome(KeyRecord& key, const decide::Report& report, Instant now,
                                  double draw) noexcept {
  --under_way_;
  if (report.outcome == Outcome::cancelled) {
    if (key.grant) budget_.refund(key.grant);
    key.grant = {};
    return {.what = What::wait, .due = now};
  }
  if (report.outcome == Outcome::success) {
    if (key.grant) budget_.refund(key.grant);  // It was work, not waste.
    budget_.on_success(now);
    ++successes_;
    Next next{.what = What::forget, .failures = key.failures};
    if (key.failures >= kGrowing) next.event = EventKind::recovered;
    key = {};
    return next;
  }
  budget_.on_retry_done(key.grant);
  key.grant = {};

  if (key.failures < UINT32_MAX) ++key.failures;
  // Its own success would have forgotten the failures: so it was another key's.
  if (key.successes != successes_) ++key.singled_out;
  key.successes = successes_;
  key.outcome = report.outcome;
  if (report.server_said_when()) {  // Also of one that is parked: it may have to wait after all.
    key.not_before = std::max(key.not_before, add(now, report.retry_after));
  }
  Next next{.what = What::wait, .event = event_of_failure(key.failures), .failures = key.failures};
  const Verdict verdict = decide::judge(report, {.idempotent = true,
                                                 .owned_above = false,
                                                 .unsent_owned_above = false,
                                                 .rereads = true,
                                                 .retryable = policy_.retryable});
  if (verdict != Verdict::none && verdict != Verdict::overload) {
    next.verdict = verdict;
  } else if (is_spent(key)) {
    next.verdict = Verdict::attempts_spent;
  }
  if (next.verdict != Verdict::none) {
    next.what = What::park;
    next.event = EventKind::parked;
    return next;
  }
  key.retry_at = add(std::max(now, key.not_before), delay(key, report, draw));
  next.due = key.retry_at;
  return next;
}

// Whether max_attempts parks the key: it has failed that often, and others succeed.
bool Requeue::is_spent(const KeyRecord& key) const noexcept {
  const auto most = static_cast<std::uint32_t>(policy_.max_attempts);
  return most > 0 && key.failures >= most && key.singled_out >= (most + 1) / 2;
}

// An overload without a retry time waits longer: an early retry adds to the overload.
Duration Requeue::delay(KeyRecord& key, const decide::Report& report, double draw) const noexcept {
  schedule::BackoffOptions backoff = policy_.backoff;
  if (report.outcome == Outcome::overload && !report.server_said_when()) {
    backoff.base = std::max(backoff.base, policy_.overload_base);
    if (backoff.jitter == schedule::Jitter::full) backoff.jitter = schedule::Jitter::equal;
  }
  return key.backoff.next(backoff, key.failures - 1, draw);
}

}  // namespace damper::engine
