#include "damper/engine/delivery/endpoint_gate.h"

#include <algorithm>

#include "damper/base/random.h"

namespace damper::engine {
namespace {

using admit::BreakerState;
using admit::Transition;
using decide::Outcome;

// The lease of a probe outlasts its attempt.
[[nodiscard]] admit::CircuitBreakerOptions breaker_of(const DeliveryPolicy& policy) noexcept {
  admit::CircuitBreakerOptions options = policy.breaker;
  if (options.probe_lease == Duration{0}) options.probe_lease = policy.timeout * 3 / 2;
  return options;
}

}  // namespace

EndpointGate::EndpointGate(const DeliveryPolicy& policy, ProbeRates probes)
    : policy_(&policy),
      probes_(probes),
      breaker_(breaker_of(*policy_)),
      allowed_(std::min(kFirstConcurrency, policy_->concurrency)) {
  if (policy_->rate) rate_.emplace(*policy_->rate);
}

void EndpointGate::reload(const DeliveryPolicy& policy, Instant now) {
  policy_ = &policy;
  breaker_.reload(breaker_of(*policy_), now);
  allowed_ = std::min(std::max(allowed_, 1), policy_->concurrency);
  if (!policy_->rate) {
    rate_.reset();
  } else if (rate_) {
    rate_->reload(*policy_->rate, now);
  } else {
    rate_.emplace(*policy_->rate);
  }
}

void EndpointGate::reset(Instant now) noexcept {
  (void)breaker_.force({.force = admit::BreakerForce::none}, now);
  blocked_until_ = Instant::min();
  refused_until_ = Instant::min();
  failing_since_.reset();
}

// When both rates have a token for a probe.
Instant EndpointGate::probe_at(Instant now) const noexcept {
  Duration wait{0};
  for (const admit::TokenBucket* const rate : {probes_.host, probes_.all}) {
    if (rate != nullptr) wait = std::max(wait, rate->wait(now));
  }
  return add(now, wait);
}

// How much later than the next token.
Duration EndpointGate::next_turn(Duration wait) noexcept {
  constexpr std::uint32_t kMostTurns = 32;
  const std::uint32_t turn = turns_;
  turns_ = std::min(turns_ + 1, kMostTurns);
  if (turn == 0) return Duration{0};
  turn_draw_ = another_draw(turn_draw_);
  const Duration longest = std::min(times(wait, std::int64_t{1} << turn), kLongestTurn);
  return Duration{static_cast<std::int64_t>(static_cast<double>(longest.count()) * turn_draw_)};
}

EndpointGate::Room EndpointGate::room(Instant now) noexcept {
  if (now < blocked_until_) return {0, Verdict::pushed_back, blocked_until_};
  if (now < refused_until_) return {0, Verdict::breaker_open, refused_until_};
  if (in_flight_ >= allowed_) return {0, Verdict::limited, kNever};
  std::int32_t attempts = allowed_ - in_flight_;
  switch (breaker_.state(now)) {
    case BreakerState::closed:
      if (!breaker_.calm(now)) attempts = 1;  // on its ramp
      break;
    case BreakerState::open: return {0, Verdict::breaker_open, add(now, breaker_.open_for(now))};
    case BreakerState::half_open:
      if (in_flight_ > 0) return {0, Verdict::breaker_open, add(now, policy_->timeout)};
      if (const Instant at = probe_at(now); now < at) {
        return {0, Verdict::breaker_open, add(at, next_turn(between(now, at)))};
      }
      attempts = 1;
      break;
  }
  if (rate_) {
    const std::int32_t tokens = rate_->balance(now);
    if (tokens == 0) return {0, Verdict::rate_limited, add(now, rate_->wait(now))};
    attempts = std::min(attempts, tokens);
  }
  return {attempts, Verdict::none, now};
}

std::optional<EndpointGate::Ticket> EndpointGate::try_start(Instant now, double draw) noexcept {
  if (room(now).attempts == 0) return std::nullopt;
  const bool probe = breaker_.state(now) == BreakerState::half_open;
  const auto permit = breaker_.try_admit(now, draw);
  if (!permit.admitted) {
    refused_until_ = add(now, kRampPause);
    return std::nullopt;
  }
  // room() has seen the tokens.
  if (rate_) (void)rate_->try_take(now);
  if (probe) {
    turns_ = 0;
    if (probes_.host != nullptr) (void)probes_.host->try_take(now);
    if (probes_.all != nullptr) (void)probes_.all->try_take(now);
  }
  ++in_flight_;
  return Ticket{permit, now, permit.half_opened};
}

EndpointGate::Effect EndpointGate::on_outcome(const Ticket& ticket, const decide::Report& report,
                                              Instant now, double draw) noexcept {
  if (report.outcome == Outcome::cancelled || report.unknown) {
    on_unsent(ticket, now);
    return {};
  }
  --in_flight_;
  turn_draw_ = draw;
  Effect effect;
  const Duration latency = between(ticket.started, now);
  const bool failed = decide::is_failure(report.outcome);
  effect.transition = failed ? breaker_.on_failure(ticket.permit, latency, now, draw)
                             : breaker_.on_success(ticket.permit, latency, now, draw);
  healthy_ = report.outcome == Outcome::success;
  if (healthy_) {
    allowed_ = std::min(allowed_ + 1, policy_->concurrency);
    effect.state_changed = failing_since_.has_value();
    failing_since_.reset();
  } else {
    if (report.outcome == Outcome::timeout) allowed_ = std::max(allowed_ / 2, 1);
    if (!failing_since_) {
      failing_since_ = now;
      effect.state_changed = true;
    }
    effect.disable = policy_->disable_after > Duration{0} &&
                     between(*failing_since_, now) >= policy_->disable_after;
  }
  if (!healthy_ && report.server_said_when()) {
    const Instant until = add(now, std::min(report.retry_after, policy_->longest_hold));
    if (until > blocked_until_) {
      blocked_until_ = until;
      effect.state_changed = true;
    }
  }
  effect.state_changed = effect.state_changed || effect.transition != Transition::none;
  return effect;
}

void EndpointGate::on_unsent(const Ticket& ticket, Instant now) noexcept {
  --in_flight_;
  breaker_.on_cancel(ticket.permit, now);
}

EndpointGate::State EndpointGate::state() const noexcept {
  return {breaker_.save(), blocked_until_, failing_since_};
}

void EndpointGate::restore(const State& state) noexcept {
  breaker_.restore(state.breaker);
  blocked_until_ = state.blocked_until;
  failing_since_ = state.failing_since;
}

void EndpointGate::adopt(const State& state, Instant now) noexcept {
  if (state.breaker.trips > 0 && state.breaker.open_until != Instant::min()) {
    breaker_.restore(state.breaker);
  } else if (breaker_.state(now) != BreakerState::closed) {
    (void)breaker_.force({.force = admit::BreakerForce::none}, now);
  }
  blocked_until_ = std::max(blocked_until_, state.blocked_until);
  failing_since_ = state.failing_since;
}

Instant EndpointGate::blocked_until(Instant now) const noexcept {
  const Duration open = breaker_.open_for(now);
  return std::max(blocked_until_, open > Duration{0} ? add(now, open) : Instant::min());
}

}  // namespace damper::engine
