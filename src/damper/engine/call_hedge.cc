// The hedges of a Call: see call.h.
#include <algorithm>
#include <bit>
#include <utility>

#include "damper/engine/call.h"
#include "damper/schedule/hedge.h"

namespace damper::engine {
namespace {

constexpr Duration kSoonest = std::chrono::milliseconds(1);  // for a hedge to ask again

}  // namespace

// Sets the time of the next hedge, if there is one. REQUIRES: hedge_at_ is kNever.
template <Footprint kFootprint>
void BasicCall<kFootprint>::plan_hedge(Instant now) noexcept {
  hedge_suppressed_ = false;
  const CallPolicy policy = dependency_.policy();
  if (attempts_ >= static_cast<std::uint32_t>(policy.max_attempts) ||
      std::popcount(active_) > policy.hedge.max_hedges) {
    return;
  }
  const auto delay = schedule::hedge_delay(policy.hedge, dependency_.live_hedge(policy, now),
                                           deadline_.remaining(now));
  hedge_at_ = add(now, delay.value_or(kForever));
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::hedge(Instant now, double draw) noexcept {
  hedge_at_ = kNever;
  if (incomplete_) return wait();  // It is the caller that is late: see on_upload_complete().
  Permit permit;
  Grant grant;
  const Verdict verdict = try_hedge(now, draw, permit, grant);
  if (verdict != Verdict::none) {
    if (!std::exchange(hedge_suppressed_, true)) dependency_.counters_.on_hedge_suppressed();
    // When a replica turns slow, a second of late attempts spends the budget at once. Those that it
    // left out ask again when they have waited as long again, not only at their timeout.
    if (verdict == Verdict::budget_spent) {
      hedge_at_ = add(now, std::max(between(last_sent(), now), kSoonest));
    }
    return wait();
  }
  dependency_.counters_.on_hedge();
  send(now, permit, &grant, true);
}

// A hedge is extra load, so any sign of trouble suppresses it.
template <Footprint kFootprint>
Verdict BasicCall<kFootprint>::try_hedge(Instant now, double draw, Permit& permit,
                                         Grant& grant) noexcept {
  if (request_.unrepeatable) return Verdict::unrepeatable;
  if (!deadline_.fits(now, terms_.needed)) return Verdict::deadline_too_close;
  if (now < not_before_) return Verdict::pushed_back;
  if (dependency_.switches_.off(admit::Switch::hedging, now)) return Verdict::switched_off;
  if (terms_.has_breaker && !dependency_.breaker_.calm(now)) return Verdict::breaker_open;
  if (terms_.has_throttle && dependency_.throttle_.active(now)) return Verdict::throttled;
  grant = dependency_.budget_of(true).try_withdraw(now, dependency_.counters_.in_flight());
  if (!grant) return Verdict::budget_spent;
  const Verdict verdict = try_enter(now, draw, permit);
  if (verdict != Verdict::none) dependency_.budget_of(true).refund(grant);
  return verdict;
}

// When the youngest of the attempts in flight was sent.
template <Footprint kFootprint>
Instant BasicCall<kFootprint>::last_sent() const noexcept {
  Instant sent = Instant::min();
  for (std::size_t i = 0; active_ >> i != 0; ++i) {
    if (is_active(i)) sent = std::max(sent, lanes_[i].sent);
  }
  return sent;
}

// A success ended a race. The attempt that a hedge overtook has at least this latency; without it
// the quantile that plans the hedges would see only quick attempts. The upload's time is not its.
template <Footprint kFootprint>
void BasicCall<kFootprint>::on_hedge_race(const Lane& winner, Instant now) noexcept {
  if (winner.hedge) dependency_.counters_.on_hedge_won();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!is_active(i) || lanes_[i].sent >= winner.sent || uploaded_ == kNever) continue;
    dependency_.latencies_.record(between(std::max(lanes_[i].sent, uploaded_), now), now);
  }
}

// The class is instantiated in call.cc, without these.
template void BasicCall<Footprint::large>::plan_hedge(Instant) noexcept;
template void BasicCall<Footprint::small>::plan_hedge(Instant) noexcept;
template void BasicCall<Footprint::large>::hedge(Instant, double) noexcept;
template void BasicCall<Footprint::small>::hedge(Instant, double) noexcept;
template Verdict BasicCall<Footprint::large>::try_hedge(Instant, double, Permit&, Grant&) noexcept;
template Verdict BasicCall<Footprint::small>::try_hedge(Instant, double, Permit&, Grant&) noexcept;
template Instant BasicCall<Footprint::large>::last_sent() const noexcept;
template Instant BasicCall<Footprint::small>::last_sent() const noexcept;
template void BasicCall<Footprint::large>::on_hedge_race(const Lane&, Instant) noexcept;
template void BasicCall<Footprint::small>::on_hedge_race(const Lane&, Instant) noexcept;

}  // namespace damper::engine
