#include "damper/http/client/replicas.h"

#include <algorithm>
#include <cmath>

#include "damper/base/check.h"
#include "damper/base/random.h"

namespace damper::http {
namespace {

constexpr Duration kMostLatency = std::chrono::seconds(60);

// The n-th of a set, from 0. REQUIRES: it has more.
std::size_t nth(const ReplicaSet& set, std::size_t n) noexcept {
  std::size_t at = 0;
  while (!set[at] || n-- > 0) ++at;
  return at;
}

std::size_t index(double draw, std::size_t count) noexcept {
  return std::min(count - 1, static_cast<std::size_t>(draw * static_cast<double>(count)));
}

}  // namespace

std::optional<std::string> find_error(const ReplicaOptions& options) {
  if (options.latency_half_life < std::chrono::milliseconds(1) ||
      options.latency_half_life > std::chrono::hours(1)) {
    return "latency_half_life is 1 ms to 1 h";
  }
  return admit::find_error(options.breaker);
}

Replicas::Replicas(std::size_t count, const ReplicaOptions& options) : options_(options) {
  DAMPER_CHECK(count >= 1 && count <= kMostReplicas);
  DAMPER_CHECK(!find_error(options));
  replicas_.resize(count);
  for (Replica& replica : replicas_) {
    replica.breaker = std::make_unique<admit::CircuitBreaker>(options.breaker);
  }
}

Duration Replicas::latency(std::size_t replica, Instant now) const noexcept {
  const Replica& it = replicas_[replica];
  const auto idle = static_cast<double>(std::max(Duration{0}, now - it.renewed).count());
  const double halvings = idle / static_cast<double>(options_.latency_half_life.count());
  return Duration{
      static_cast<std::int64_t>(static_cast<double>(it.latency.count()) * std::exp2(-halvings))};
}

bool Replicas::may_ask(std::size_t replica, Instant now) const noexcept {
  return replicas_[replica].breaker->state(now) != admit::BreakerState::open;
}

bool Replicas::better(std::size_t a, std::size_t b, Instant now) const noexcept {
  if (replicas_[a].outstanding != replicas_[b].outstanding) {
    return replicas_[a].outstanding < replicas_[b].outstanding;
  }
  return latency(a, now) * 2 < latency(b, now);
}

Replicas::Lease Replicas::pick(const ReplicaSet& excluded, Instant now, double draw) noexcept {
  if (size() == 1) {
    Lease lease;
    lease.replica_ = 0;
    lease.sent_ = now;
    ++replicas_[0].outstanding;
    return lease;
  }
  ReplicaSet fresh;
  ReplicaSet tried;
  for (std::size_t i = 0; i < size(); ++i) {
    if (may_ask(i, now)) (excluded[i] ? tried : fresh).set(i);
  }
  if (Lease lease = pick_among(fresh, now, draw)) return lease;
  return pick_among(tried, now, another_draw(draw));
}

Replicas::Lease Replicas::pick_among(const ReplicaSet& candidates, Instant now,
                                     double draw) noexcept {
  const std::size_t count = candidates.count();
  if (count == 0) return {};
  double second_draw = another_draw(draw);
  const std::size_t at = index(draw, count);
  std::size_t first = nth(candidates, at);
  std::size_t second = first;
  if (count > 1) {  // Another one: as many places on as the second draw says, at least one.
    second = nth(candidates, (at + 1 + index(second_draw, count - 1)) % count);
    if (better(second, first, now)) std::swap(first, second);
  }
  second_draw = another_draw(second_draw);
  if (Lease lease = try_lease(first, now, second_draw)) return lease;
  // It is on its ramp, or has all its probes out. The others in turn, from where the draw fell.
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t other = i == 0 ? second : nth(candidates, (at + i) % count);
    second_draw = another_draw(second_draw);
    if (other == first) continue;
    if (Lease lease = try_lease(other, now, second_draw)) return lease;
  }
  return {};
}

Replicas::Lease Replicas::try_lease(std::size_t replica, Instant now, double draw) noexcept {
  Lease lease;
  lease.permit_ = replicas_[replica].breaker->try_admit(now, draw);
  if (!lease.permit_.admitted) return {};
  lease.replica_ = static_cast<std::int32_t>(replica);
  lease.sent_ = now;
  ++replicas_[replica].outstanding;
  return lease;
}

void Replicas::settle(Lease& lease, decide::Outcome outcome, Instant now, double draw) noexcept {
  if (!lease) return;
  Replica& replica = replicas_[lease.replica()];
  const Duration took = std::max(Duration{0}, between(lease.sent_, now));
  DAMPER_CHECK(replica.outstanding > 0);
  --replica.outstanding;
  if (size() > 1) {
    if (outcome == decide::Outcome::cancelled) {
      replica.breaker->on_cancel(lease.permit_, now);
    } else if (decide::is_failure(outcome)) {
      (void)replica.breaker->on_failure(lease.permit_, took, now, draw);
    } else {
      (void)replica.breaker->on_success(lease.permit_, took, now, draw);
    }
    on_latency(replica, outcome, took, now);
  }
  lease = Lease();
}

void Replicas::on_latency(Replica& replica, decide::Outcome outcome, Duration latency,
                          Instant now) noexcept {
  if (outcome == decide::Outcome::cancelled && latency <= replica.latency) {
    return;  // It took at least so long: news only if that is more.
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

}  // namespace damper::http
