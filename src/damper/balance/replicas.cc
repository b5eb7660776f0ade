#include "damper/balance/replicas.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "damper/balance/key_order.h"
#include "damper/base/check.h"

namespace damper::balance {
namespace {

constexpr Duration kMostLatency = std::chrono::seconds(60);
constexpr Duration kPanicEnd = std::chrono::seconds(1);  // from when the first was let in
constexpr std::int64_t kMostJump = 10;  // times the average, that one answer counts as

}  // namespace

Replicas::Replicas(std::size_t count, const ReplicaOptions& options) : options_(options) {
  DAMPER_CHECK(count <= kMostReplicas);
  DAMPER_CHECK_VALID(find_error(options));
  for (std::size_t i = 0; i < count; ++i) (void)try_add();
}

std::size_t Replicas::free_number() const noexcept {
  std::size_t at = 0;
  while (at < size() && (replicas_[at].in || replicas_[at].outstanding > 0)) ++at;
  return at;
}

std::optional<std::size_t> Replicas::try_add(std::string_view name) {
  const std::size_t at = free_number();
  if (at == kMostReplicas) return std::nullopt;
  if (at == size()) replicas_.emplace_back();
  replicas_[at] = Replica{};
  replicas_[at].breaker = std::make_unique<admit::CircuitBreaker>(options_.breaker);
  replicas_[at].name = name.empty() ? key_score(at, 0) : name_number(name);
  replicas_[at].in = true;
  ++count_;
  count_healthy();
  return at;
}

void Replicas::remove(std::size_t replica) noexcept {
  DAMPER_CHECK(is_in(replica));
  replicas_[replica].in = false;
  --count_;
  count_healthy();
}

void Replicas::count_healthy() noexcept {
  const auto healthy = std::count_if(replicas_.begin(), replicas_.end(),
                                     [](const Replica& one) { return one.in && !one.unhealthy; });
  ignores_checks_ =
      ignores_checks(static_cast<std::size_t>(healthy), count_, options_.panic_threshold);
}

void Replicas::set_healthy(std::size_t replica, bool healthy, Instant now) noexcept {
  DAMPER_CHECK(is_in(replica));
  Replica& it = replicas_[replica];
  if (it.unhealthy != healthy) return;
  const bool was_out = is_unhealthy(it, now);
  it.unhealthy = !healthy;
  count_healthy();
  // No call was sent, so the breaker is as it was: half-open now, unless it is open or held.
  if (was_out && it.breaker->state(now) == admit::BreakerState::closed) {
    it.breaker->restore({.trips = 1, .open_until = now});
  }
}

void Replicas::force(std::size_t replica, const admit::BreakerForceSetting& setting,
                     Instant now) noexcept {
  DAMPER_CHECK(is_in(replica));
  (void)replicas_[replica].breaker->force(setting, now);
  replicas_[replica].held_closed =
      setting.force == admit::BreakerForce::closed ? add(now, setting.bounded()) : Instant::min();
  replicas_[replica].slow = false;
}

void Replicas::reload(const ReplicaOptions& options, Instant now) noexcept {
  DAMPER_CHECK_VALID(find_error(options));
  options_ = options;
  for (Replica& replica : replicas_) replica.breaker->reload(options.breaker, now);
  count_healthy();
}

Duration Replicas::latency(std::size_t replica, Instant now) const noexcept {
  const Replica& it = replicas_[replica];
  return faded(it.latency, it.renewed, now, options_.latency_half_life);
}

bool Replicas::is_closed(const Replica& replica, Instant now) const noexcept {
  return replica.in && replica.breaker->state(now) == admit::BreakerState::closed &&
         !is_unhealthy(replica, now);
}

bool Replicas::may_ask(const Replica& replica, Instant now) const noexcept {
  if (!replica.in) return false;
  if (replica.breaker->state(now) != admit::BreakerState::open && !is_unhealthy(replica, now)) {
    return true;
  }
  return panics_ && !replica.breaker->forced_open(now);
}

void Replicas::look_for_panic(Instant now) noexcept {
  std::size_t closed = 0;
  for (const Replica& replica : replicas_) closed += is_closed(replica, now) ? 1U : 0U;
  if (closed == 0) {
    if (!panics_) {
      for (Replica& replica : replicas_) replica.returns = 0;
    }
    panics_ = true;
    panic_ends_ = kNever;
  } else if (panics_) {
    panic_ends_ = std::min(panic_ends_, add(now, kPanicEnd));
    panics_ = closed < count_ && now < panic_ends_;
  }
}

void Replicas::on_head(Lease& lease, Instant now) noexcept {
  if (!lease || lease.timed_) return;
  lease.timed_ = true;
  lease.took_ = std::max(Duration{0}, between(lease.sent_, now));
  replicas_[lease.replica()].silence.on_answer();
}

// A probe has to give a verdict: a client that stalls its upload would keep the replica out.
void Replicas::on_upload_awaited(Lease& lease, Instant now) noexcept {
  if (!lease) return;
  set_held(lease, true, now);
  if (lease.timed_) return;
  lease.sent_ = kNever;
  if (!lease.has_permit_ || lease.permit_.probe == 0) return;
  replicas_[lease.replica()].breaker->on_cancel(lease.permit_, now);
  lease.has_permit_ = false;
}

void Replicas::set_held(Lease& lease, bool held, Instant now) noexcept {
  if (!lease || lease.held_ == held) return;
  Replica& replica = replicas_[lease.replica()];
  lease.held_ = held;
  held ? ++replica.held : --replica.held;
  if (lease.timed_) return;
  if (held) {
    replica.silence.on_end(lease.round_, now);
  } else {
    lease.round_ = replica.silence.on_sent(now, options_.latency_half_life);
  }
}

void Replicas::settle(Lease& lease, decide::Outcome outcome, Instant now, double draw) noexcept {
  if (!lease) return;
  Replica& replica = replicas_[lease.replica()];
  const Duration took =
      lease.timed_ ? lease.took_ : std::max(Duration{0}, between(lease.sent_, now));
  const bool failed = decide::is_failure(outcome);
  // The latency of a response is known from its head on, even if its body was not awaited.
  const bool answered = !failed && (outcome != decide::Outcome::cancelled || lease.timed_);
  DAMPER_CHECK(replica.outstanding > 0);
  --replica.outstanding;
  if (lease.held_) --replica.held;
  if (answered && !lease.timed_) replica.silence.on_answer();
  if (!answered && !lease.timed_ && !lease.held_) replica.silence.on_end(lease.round_, now);
  if (lease.has_permit_) {
    const bool slow_probe =
        replica.slow && lease.permit_.probe != 0 && answered && is_slow(replica, took, now);
    if (failed || slow_probe) {
      (void)replica.breaker->on_failure(lease.permit_, took, now, draw);
    } else if (outcome == decide::Outcome::cancelled) {
      replica.breaker->on_cancel(lease.permit_, now);
    } else {
      (void)replica.breaker->on_success(lease.permit_, took, now, draw);
    }
  }
  if (lease.panic_) settle_panic(replica, outcome, now);
  const bool has_latency = failed || lease.sent_ != kNever;
  if (has_latency && (count_ > 1 || lease.has_permit_)) {
    on_latency(replica, answered ? decide::Outcome::success : outcome, took, now);
    if (answered && replica.in) {
      on_answer(replica, took, now);
      eject_if_slow(replica, now, draw);
    }
  }
  lease = Lease();
}

// What became of an attempt that no breaker was asked about.
void Replicas::settle_panic(Replica& replica, decide::Outcome outcome, Instant now) noexcept {
  if (outcome == decide::Outcome::cancelled) return;
  replica.returns = decide::is_failure(outcome) ? 0 : replica.returns + 1;
  if (replica.returns < options_.breaker.probes) return;
  replica.returns = 0;
  if (replica.breaker->close(now) != admit::Transition::closed) return;
  replica.slow = false;
  replica.answers = 0;
  replica.latency = Duration{0};  // What it was raised to by failures is no news of it now.
  replica.renewed = Instant{};
}

// ---- Slow beside the others ------------------------------------------------------------------

void Replicas::on_answer(Replica& replica, Duration latency, Instant now) noexcept {
  if (replica.answers == 0) {
    replica.mean = std::min(latency, kMostLatency);
  } else {
    const Duration most = std::max(options_.latency_floor, times(replica.mean, kMostJump));
    replica.mean += (std::min({latency, most, kMostLatency}) - replica.mean) / 8;
  }
  replica.answers = std::min(replica.answers + 1, options_.latency_samples);
  replica.answered = now;
}

bool Replicas::is_slow(const Replica& replica, Duration latency, Instant now) const noexcept {
  if (options_.latency_factor == 0 || latency <= options_.latency_floor) return false;
  std::array<Duration, kMostReplicas> others;  // Not more are read than written.
  std::size_t known = 0;
  for (const Replica& other : replicas_) {
    if (&other == &replica || other.answers < options_.latency_samples) continue;
    if (!is_closed(other, now)) continue;
    others[known++] = other.mean;
  }
  if (known == 0) return false;
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(known / 2);
  std::nth_element(others.begin(), middle, others.begin() + static_cast<std::ptrdiff_t>(known));
  const auto bound = static_cast<double>(middle->count()) * options_.latency_factor;
  return static_cast<double>(latency.count()) > bound && latency > *middle + options_.latency_floor;
}

bool Replicas::may_eject_one_more(Instant now) const noexcept {
  std::int64_t out = 1;
  for (const Replica& replica : replicas_) {
    if (replica.in && !is_closed(replica, now)) ++out;
  }
  const auto all = static_cast<std::int64_t>(count_);
  return out < all &&
         out * Percent::kDenominator <= all * options_.max_ejection_percent.hundredths();
}

void Replicas::eject_if_slow(Replica& replica, Instant now, double draw) noexcept {
  if (replica.breaker->state(now) != admit::BreakerState::closed) return;
  if (replica.slow) {  // It is back, and has a new start.
    replica.slow = false;
    replica.answers = 0;
    return;
  }
  if (replica.answers < options_.latency_samples || !is_slow(replica, replica.mean, now)) return;
  if (!may_eject_one_more(now)) return;
  replica.slow = replica.breaker->trip(now, draw) == admit::Transition::opened;
}

// ---- Which of two is asked -------------------------------------------------------------------

void Replicas::on_latency(Replica& replica, decide::Outcome outcome, Duration latency,
                          Instant now) noexcept {
  if (outcome == decide::Outcome::cancelled && latency <= replica.latency) {
    return;  // A lower bound: it counts only if it is above the average.
  }
  latency = std::min(latency, kMostLatency);
  if (decide::is_failure(outcome)) {
    // One that fails at once is not fast: it must not draw the load.
    for (std::size_t i = 0; i < size(); ++i) {
      if (&replicas_[i] != &replica) latency = std::max(latency, this->latency(i, now) * 4);
    }
    replica.latency = std::min(std::max(replica.latency, latency), kMostLatency);
  } else if (replica.renewed == Instant{}) {
    replica.latency = latency;
  } else {
    replica.latency += (latency - replica.latency) / 8;
  }
  replica.renewed = now;
}

}  // namespace damper::balance
