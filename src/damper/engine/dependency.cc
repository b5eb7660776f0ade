#include "damper/engine/dependency.h"

#include <utility>

#include "damper/base/check.h"

namespace damper::engine {
namespace {

Dependency::Terms terms_of(const Policy& policy) noexcept {
  return {.timeout = policy.call.timeout,
          .per_try_timeout = policy.call.per_try_timeout,
          .needed = policy.call.needed,
          .reserve = policy.call.reserve,
          .retries = policy.call.max_attempts > 1,
          .hedges = policy.call.hedge.max_hedges > 0,
          .adapts = policy.call.adaptive_timeout.on,
          .has_breaker = policy.breaker.has_value(),
          .has_throttle = policy.throttle.has_value(),
          .has_limit = policy.limit.has_value(),
          .plain = policy.call.per_try_timeout == Duration{0} &&
                   policy.call.hedge.max_hedges == 0 && !policy.call.adaptive_timeout.on &&
                   !policy.throttle && !policy.limit};
}

}  // namespace

Dependency::Dependency(std::string name, const Policy& policy, DependencyParents parents)
    : name_(std::move(name)),
      terms_(terms_of(policy)),
      policy_(policy.call),
      switches_(parents.switches),
      budget_(policy.budget, parents.budget),
      hedge_budget_(hedge_budget_options(policy), &budget_),
      breaker_(policy.breaker.value_or(admit::CircuitBreakerOptions{})),
      throttle_(policy.throttle.value_or(admit::ClientThrottleOptions{})),
      limit_(policy.limit.value_or(admit::ConcurrencyLimitOptions{})) {
  DAMPER_CHECK(!find_error(policy));
}

// Hedges have a ratio of their own, over the budget's window, and nothing in reserve: a hedge is a
// luxury.
admit::RetryBudgetOptions Dependency::hedge_budget_options(const Policy& policy) noexcept {
  return {.percent = policy.call.hedge.ratio, .window = policy.budget.window, .reserve = 0};
}

void Dependency::reload(const Policy& policy, Instant now) {
  DAMPER_CHECK(!find_error(policy));
  budget_.reload(policy.budget, now);
  hedge_budget_.reload(hedge_budget_options(policy), now);
  if (policy.breaker) breaker_.reload(*policy.breaker, now);
  if (policy.throttle) throttle_.reload(*policy.throttle, now);
  if (policy.limit) limit_.reload(*policy.limit);
  policy_.store(policy.call);
  terms_.store(terms_of(policy));
  emit(EventKind::policy_reloaded, now, static_cast<std::int64_t>(terms_.version()));
}

void Dependency::flip(admit::Switch which, const admit::SwitchSetting& setting, Instant now) {
  switches_.set(which, setting);
  report_flip(sink_.load(std::memory_order_acquire), name_, which, setting, now);
}

void report_flip(EventSink* sink, std::string_view key, admit::Switch which,
                 const admit::SwitchSetting& setting, Instant now) {
  if (sink == nullptr) return;
  std::string detail(admit::name(which));
  detail += setting.off ? " off" : " on";
  if (!setting.reason.empty()) detail.append(": ").append(setting.reason);
  sink->on_event({.kind = EventKind::switch_flipped,
                  .key = key,
                  .at = now,
                  .length = setting.off ? between(now, setting.until) : Duration{0},
                  .detail = detail});
}

void Dependency::emit(const Event& event) noexcept {
  if (EventSink* sink = sink_.load(std::memory_order_acquire)) sink->on_event(event);
}

void Dependency::emit(EventKind kind, Instant now, std::int64_t count, Duration length) noexcept {
  emit(
      Event{.kind = kind, .key = name_, .at = now, .count = count, .length = length, .detail = {}});
}

void Dependency::on_budget_refusal(Instant now) noexcept {
  counters_.on_budget_refusal();
  if (!exhausted_.load(std::memory_order_relaxed) &&
      !exhausted_.exchange(true, std::memory_order_relaxed)) {
    emit(EventKind::budget_exhausted, now);
  }
}

void Dependency::on_recovery(Instant now) noexcept {
  if (const auto change = streak_.on_success()) emit(change->kind, now, change->count);
  // Half full, not one retry's worth: a budget that is spent as fast as it fills is still spent.
  if (exhausted_.load(std::memory_order_relaxed) && budget_.fill(now) >= 0.5 &&
      exhausted_.exchange(false, std::memory_order_relaxed)) {
    emit(EventKind::budget_refilled, now);
  }
}

void Dependency::on_failure(Instant now) noexcept {
  if (const auto change = streak_.on_failure(now)) emit(change->kind, now, change->count);
}

void Dependency::on_breaker(admit::Transition transition, Instant now) noexcept {
  if (transition == admit::Transition::none) [[likely]]
    return;
  if (transition == admit::Transition::opened) {
    emit(EventKind::breaker_opened, now, 0, breaker_.open_for(now));
  } else {
    emit(EventKind::breaker_closed, now);
  }
}

std::optional<Duration> Dependency::live_timeout(const CallPolicy& policy, Instant now) noexcept {
  const schedule::AdaptiveTimeoutOptions& options = policy.adaptive_timeout;
  return timeout_quantile_.get(latencies_, options.quantile, options.min_samples, now);
}

std::optional<Duration> Dependency::live_hedge(const CallPolicy& policy, Instant now) noexcept {
  return hedge_quantile_.get(latencies_, policy.hedge.quantile, policy.hedge.min_samples, now);
}

}  // namespace damper::engine
