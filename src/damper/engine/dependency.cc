#include "damper/engine/dependency.h"

#include <utility>

#include "damper/base/check.h"

namespace damper::engine {
namespace {

Terms terms_of(const Policy& policy) noexcept {
  return Terms::of(policy.call, policy.breaker.has_value(), policy.throttle.has_value(),
                   policy.limit.has_value(), policy.attempt_rate.has_value());
}

// The lease of a probe outlasts its attempt: see CircuitBreakerOptions::lease().
admit::CircuitBreakerOptions breaker_options(const Policy& policy) noexcept {
  admit::CircuitBreakerOptions options = policy.breaker.value_or(admit::CircuitBreakerOptions{});
  if (options.probe_lease == Duration{0}) options.probe_lease = derived_lease(policy.call);
  return options;
}

constexpr std::int64_t kAmpleSamples = 20;

// Hedges have a ratio of their own, over the budget's window, and no reserve.
admit::RetryBudgetOptions hedge_budget_options(const Policy& policy) noexcept {
  return {.percent = policy.call.hedge.ratio, .window = policy.budget.window, .reserve = 0};
}

}  // namespace

template <Footprint kFootprint>
BasicDependency<kFootprint>::BasicDependency(std::string name, const Policy& policy,
                                             DependencyParents parents)
    : name_(std::move(name)),
      terms_(terms_of(policy)),
      policy_(policy.call),
      has_breaker_(policy.breaker.has_value()),
      switches_(parents.switches),
      budget_(policy.budget, parents.budget),
      hedge_budget_(hedge_budget_options(policy), &budget_),
      breaker_(breaker_options(policy)),
      throttle_(policy.throttle.value_or(admit::ClientThrottleOptions{})),
      limit_(policy.limit.value_or(admit::ConcurrencyLimitOptions{})) {
  DAMPER_CHECK_VALID(find_error(policy, kFootprint));
  use_rate(policy, Instant{});
}

template <Footprint kFootprint>
void BasicDependency<kFootprint>::use_rate(const Policy& policy, Instant now) {
  if constexpr (kIsLarge) {
    if (!policy.attempt_rate) return;
    if (own_rate_ != nullptr) return own_rate_->reload(*policy.attempt_rate, now);
    own_rate_ = std::make_unique<admit::AttemptRate>(*policy.attempt_rate);
    rate_.store(own_rate_.get(), std::memory_order_release);
  }
}

template <Footprint kFootprint>
void BasicDependency<kFootprint>::reload(const Policy& policy, Instant now) {
  DAMPER_CHECK_VALID(find_error(policy, kFootprint));
  budget_.reload(policy.budget, now);
  hedge_budget_.reload(hedge_budget_options(policy), now);
  if (policy.breaker) breaker_.reload(breaker_options(policy), now);
  if (policy.throttle) throttle_.reload(*policy.throttle, now);
  if (policy.limit) limit_.reload(*policy.limit);
  use_rate(policy, now);  // Before the terms: a call that has it finds it.
  policy_.store(policy.call);
  has_breaker_.store(policy.breaker.has_value(), std::memory_order_relaxed);
  terms_.store(terms_of(policy));
  emit(EventKind::policy_reloaded, now, static_cast<std::int64_t>(policy_.version()));
}

template <Footprint kFootprint>
void BasicDependency<kFootprint>::flip(admit::Switch which, const admit::SwitchSetting& setting,
                                       Instant now)
  requires kIsLarge
{
  switches_.set(which, setting);
  report_flip(sink_.load(std::memory_order_acquire), name_, which, setting, now);
}

template <Footprint kFootprint>
bool BasicDependency<kFootprint>::force(const admit::BreakerForceSetting& setting, Instant now) {
  const bool has_breaker = has_breaker_.load(std::memory_order_relaxed);
  // A reset also reaches a breaker that a reload has taken away, and another may bring back.
  if (has_breaker || setting.force == admit::BreakerForce::none) breaker_.force(setting, now);
  if (!has_breaker) return false;
  report_force(sink_.load(std::memory_order_acquire), name_, setting, now);
  return true;
}

void report_force(EventSink* sink, std::string_view key, const admit::BreakerForceSetting& setting,
                  Instant now) {
  if (sink == nullptr) return;
  const bool reset = setting.force == admit::BreakerForce::none;
  std::string detail(reset ? "reset" : admit::name(setting.force));
  if (!setting.reason.empty()) detail.append(": ").append(setting.reason);
  sink->on_event({.kind = EventKind::breaker_forced,
                  .key = key,
                  .at = now,
                  .length = reset ? Duration{0} : setting.bounded(),
                  .detail = detail});
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

template <Footprint kFootprint>
void BasicDependency<kFootprint>::emit(const Event& event) noexcept {
  if (EventSink* sink = sink_.load(std::memory_order_acquire)) sink->on_event(event);
}

template <Footprint kFootprint>
void BasicDependency<kFootprint>::emit(EventKind kind, Instant now, std::int64_t count,
                                       Duration length) noexcept {
  emit(
      Event{.kind = kind, .key = name_, .at = now, .count = count, .length = length, .detail = {}});
}

template <Footprint kFootprint>
void BasicDependency<kFootprint>::on_budget_refusal(Instant now) noexcept {
  counters_.on_budget_refusal();
  if (!exhausted_.load(std::memory_order_relaxed) &&
      !exhausted_.exchange(true, std::memory_order_relaxed)) {
    emit(EventKind::budget_exhausted, now);
  }
}

template <Footprint kFootprint>
void BasicDependency<kFootprint>::on_recovery(Instant now) noexcept {
  if (const auto change = streak_.on_success()) emit(change->kind, now, change->count);
  // Half full, not one retry's worth: a budget that is spent as fast as it fills is still spent.
  if (exhausted_.load(std::memory_order_relaxed) && budget_.fill(now) >= 0.5 &&
      exhausted_.exchange(false, std::memory_order_relaxed)) {
    emit(EventKind::budget_refilled, now);
  }
}

template <Footprint kFootprint>
void BasicDependency<kFootprint>::on_failure(Instant now) noexcept {
  if (const auto change = streak_.on_failure(now)) emit(change->kind, now, change->count);
}

template <Footprint kFootprint>
bool BasicDependency<kFootprint>::on_cut_short(Duration had, Duration given, Instant now) noexcept {
  const Duration silence = streak_.on_cut_short(now);
  if (silence == Duration{0}) learn_ample(now);
  const std::optional<Duration> enough = ample();
  return silence >= given / 2 && enough && had >= *enough;
}

// Called when a silence begins: before the timeouts of an outage are among the latencies, and
// before the latencies of the time before it expire.
template <Footprint kFootprint>
void BasicDependency<kFootprint>::learn_ample(Instant now) noexcept {
  if constexpr (kIsLarge) {
    const auto live = ample_quantile_.get(latencies_, Percent(99), kAmpleSamples, now);
    if (live) ample_.store(live->count(), std::memory_order_relaxed);
  }
}

template <Footprint kFootprint>
std::optional<Duration> BasicDependency<kFootprint>::ample() const noexcept {
  if constexpr (kIsLarge) {
    const std::int64_t learned = ample_.load(std::memory_order_relaxed);
    return learned == kUnknown ? std::nullopt : std::optional(Duration{learned});
  } else {
    const auto mean = latencies_.mean();
    return mean ? std::optional(times(*mean, 4)) : std::nullopt;
  }
}

template <Footprint kFootprint>
void BasicDependency<kFootprint>::on_breaker(admit::Transition transition, Instant now) noexcept {
  switch (transition) {
    case admit::Transition::none: return;
    case admit::Transition::opened:
      return emit(EventKind::breaker_opened, now, 0, breaker_.open_for(now));
    case admit::Transition::half_opened: return emit(EventKind::breaker_half_open, now);
    case admit::Transition::closed: return emit(EventKind::breaker_closed, now);
  }
}

template <Footprint kFootprint>
void BasicDependency<kFootprint>::on_breaker(admit::BreakerPermit permit, Instant now) noexcept {
  if (permit.opened) on_breaker(admit::Transition::opened, now);
  if (permit.half_opened) on_breaker(admit::Transition::half_opened, now);
}

template <Footprint kFootprint>
std::optional<Duration> BasicDependency<kFootprint>::live_timeout(const CallPolicy& policy,
                                                                  Instant now) noexcept {
  if constexpr (!kIsLarge)
    return std::nullopt;
  else
    return timeout_quantile_.get(latencies_, policy.adaptive_timeout.quantile,
                                 policy.adaptive_timeout.min_samples, now);
}

template <Footprint kFootprint>
std::optional<Duration> BasicDependency<kFootprint>::live_hedge(const CallPolicy& policy,
                                                                Instant now) noexcept {
  if constexpr (!kIsLarge)
    return std::nullopt;
  else
    return hedge_quantile_.get(latencies_, policy.hedge.quantile, policy.hedge.min_samples, now);
}

template class BasicDependency<Footprint::large>;
template class BasicDependency<Footprint::small>;

}  // namespace damper::engine
