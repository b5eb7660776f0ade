// Which replica gets the next attempt.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "damper/balance/key_order.h"
#include "damper/balance/replicas.h"
#include "damper/balance/zone_share.h"
#include "damper/base/random.h"

namespace damper::balance {
namespace {

// Attempts that wait for their client are hardly any load; but if they were none, a replica that is
// faster than the others would get all tunnels.
constexpr double kHeldPerLoad = 64;

constexpr std::int64_t kMostSlowness = 8;  // times, that an attempt on a slow replica counts
constexpr double kZoneFactor = 4;          // times the load of another zone, that is too much
constexpr int kMostRefusals = 8;           // of breakers, until a key's order is left

// The n-th of a set, from 0. REQUIRES: it has more.
std::size_t nth(const ReplicaSet& set, std::size_t n) noexcept {
  std::size_t at = 0;
  while (!set[at] || n-- > 0) ++at;
  return at;
}

std::size_t index(double draw, std::size_t count) noexcept {
  return std::min(count - 1, static_cast<std::size_t>(draw * static_cast<double>(count)));
}

// A draw for the zone, independent of those that another_draw() derives.
double zone_draw(double draw) noexcept {
  return Random(~std::bit_cast<std::uint64_t>(draw)).draw();
}

}  // namespace

// What an attempt there is expected to take.
Duration Replicas::pace(const Replica& replica, Instant now) const noexcept {
  const Duration most = times(std::max(replica.mean, options_.latency_floor), kMostSlowness);
  return std::max(replica.silence.length(now, most, options_.latency_half_life),
                  faded(replica.mean, replica.answered, now, options_.latency_half_life));
}

// How many times as long as `other` an attempt is expected to take; 1: not clearly longer.
double Replicas::slowness(Duration pace, Duration other) const noexcept {
  if (pace <= other + options_.latency_floor || pace <= times(other, 2)) return 1;
  const auto base = static_cast<double>(std::max(other, Duration{1}).count());
  return std::min(static_cast<double>(pace.count()) / base, double{kMostSlowness});
}

bool Replicas::better(std::size_t a, std::size_t b, Instant now) const noexcept {
  const Replica& one = replicas_[a];
  const Replica& two = replicas_[b];
  double cost = one.load() + one.held / kHeldPerLoad + 1.0;
  double other_cost = two.load() + two.held / kHeldPerLoad + 1.0;
  if (!panics_) {
    const Duration here = pace(one, now);
    const Duration there = pace(two, now);
    if (two.answers > 0) cost *= slowness(here, there);  // Else there is nothing to compare with.
    if (one.answers > 0) other_cost *= slowness(there, here);
  }
  if (cost != other_cost) return cost < other_cost;
  return !panics_ && latency(a, now) * 2 < latency(b, now);
}

Replicas::Lease Replicas::pick(const ReplicaSet& excluded, Instant now, double draw,
                               std::optional<std::uint64_t> key) noexcept {
  return pick_but(excluded, {}, now, draw, key);
}

Replicas::Lease Replicas::pick_next(ReplicaSet& tried, const ReplicaSet& asking, Instant now,
                                    double draw, std::optional<std::uint64_t> key) noexcept {
  const Lease lease = pick_but(tried, asking, now, draw, key);
  if (!lease) return lease;
  tried.set(lease.replica());
  for (std::size_t i = 0; i < size(); ++i) {
    if (!tried[i] && may_ask(replicas_[i], now)) return lease;
  }
  tried = asking;
  tried.set(lease.replica());
  return lease;
}

Replicas::Lease Replicas::pick_but(const ReplicaSet& tried, const ReplicaSet& asking, Instant now,
                                   double draw, std::optional<std::uint64_t> key) noexcept {
  if (count_ == 1) {
    std::size_t only = 0;
    while (!is_in(only)) ++only;
    return replicas_[only].breaker->forced_open(now) ? Lease() : lease_anyway(only, now);
  }
  look_for_panic(now);
  ReplicaSet able;
  ReplicaSet closed;
  for (std::size_t i = 0; i < size(); ++i) {
    if (may_ask(replicas_[i], now)) able.set(i);
    if (is_closed(replicas_[i], now)) closed.set(i);
  }
  const std::array sets = {able & ~tried & ~asking, able & tried & ~asking, able & asking};
  if (options_.lb_policy != LbPolicy::consistent_hash) key.reset();
  // One more attempt of a call goes to any zone: that the first one failed may be its zone's fault.
  const bool prefers_zone = tried.none() && asking.none();
  double set_draw = draw;
  for (const ReplicaSet& set : sets) {
    const ReplicaSet left_out = prefers_zone ? beyond_zone(set, now, set_draw, key) : ReplicaSet();
    if (Lease lease = pick_among(set & ~left_out, able & ~left_out, now, set_draw, key)) {
      return lease;
    }
    set_draw = another_draw(set_draw);
    if (left_out.none()) continue;
    if (Lease lease = pick_among(set & left_out, able & left_out, now, set_draw, key)) {
      return lease;
    }
    set_draw = another_draw(set_draw);
  }
  // Some are on their ramp, and no other replica can take what that holds back.
  for (ReplicaSet set : sets) {
    set &= closed;
    if (set.any()) return lease_anyway(nth(set, index(draw, set.count())), now);
  }
  return {};
}

// Those of the candidates that do not get the attempt because of their zone. A replica that returns
// is not left out, wherever it is: it gets what its breaker admits. Else a zone that was out would
// never be back, and the own zone would have the load of both.
ReplicaSet Replicas::beyond_zone(const ReplicaSet& candidates, Instant now, double draw,
                                 std::optional<std::uint64_t> key) const noexcept {
  if (zones_ < 2 || panics_) return {};
  const ReplicaSet here = candidates & own_zone_;
  const ReplicaSet away = candidates & ~own_zone_;
  if (here.none() || away.none()) return {};
  ReplicaSet calm;
  ReplicaSet closed;
  for (std::size_t i = 0; i < size(); ++i) {
    closed.set(i, is_closed(replicas_[i], now));
    calm.set(i, closed[i] && replicas_[i].breaker->calm(now));
  }
  const double share =
      zone_share((calm & own_zone_).count(), calm.count(), zones_, options_.zone_overprovisioning);
  const bool stays = (key ? key_draw(*key) : zone_draw(draw)) < share &&
                     !is_overloaded(best_two(here, now, draw).first,
                                    best_two(away, now, another_draw(draw)).first, now);
  return stays ? away & closed : here & calm;
}

// Whether the replica of the own zone is slower than the other one and has more to do, each by far.
bool Replicas::is_overloaded(std::size_t local, std::size_t other, Instant now) const noexcept {
  const Replica& here = replicas_[local];
  const Replica& there = replicas_[other];
  double cost = here.load() + 1.0;
  if (there.answers > 0) {
    const double slower = slowness(pace(here, now), pace(there, now));
    if (slower == 1) return false;  // It has more to do because it is preferred, and keeps up.
    cost *= slower;
  }
  return cost > kZoneFactor * (there.load() + 1.0);
}

// Two different ones, if there are two, the better one first. REQUIRES: candidates.any().
Replicas::Two Replicas::best_two(const ReplicaSet& candidates, Instant now,
                                 double draw) const noexcept {
  const std::size_t count = candidates.count();
  Two two;
  two.at = index(draw, count);
  two.first = two.second = nth(candidates, two.at);
  if (count == 1) return two;
  // Another one: as many places on as the second draw says, at least one.
  two.second = nth(candidates, (two.at + 1 + index(another_draw(draw), count - 1)) % count);
  if (better(two.second, two.first, now)) std::swap(two.first, two.second);
  return two;
}

// `group`: the replicas among which a key's load is bounded.
Replicas::Lease Replicas::pick_among(const ReplicaSet& candidates, const ReplicaSet& group,
                                     Instant now, double draw,
                                     std::optional<std::uint64_t> key) noexcept {
  const std::size_t count = candidates.count();
  if (count == 0) return {};
  if (key) {
    if (Lease lease = pick_by_key(candidates, group, now, draw, *key)) return lease;
  }
  const Two two = best_two(candidates, now, draw);
  if (panics_) return lease_in_panic(two.first, now, another_draw(draw));
  double second_draw = another_draw(another_draw(draw));
  if (Lease lease = try_lease(two.first, now, second_draw)) return lease;
  // It is on its ramp, or has all its probes out. The others in turn, from where the draw fell.
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t other = i == 0 ? two.second : nth(candidates, (two.at + i) % count);
    second_draw = another_draw(second_draw);
    if (other == two.first) continue;
    if (Lease lease = try_lease(other, now, second_draw)) return lease;
  }
  return {};
}

// The first of the key's order that is under its bound. Empty: there is none, or the breakers of
// the first ones refuse.
Replicas::Lease Replicas::pick_by_key(ReplicaSet candidates, const ReplicaSet& group, Instant now,
                                      double draw, std::uint64_t key) noexcept {
  std::int64_t in_flight = 0;
  for (std::size_t i = 0; i < size(); ++i) in_flight += group[i] ? replicas_[i].load() : 0;
  const std::int64_t bound = load_bound(in_flight, group.count(), options_.hash_balance_factor);
  for (int refusals = 0; refusals < kMostRefusals; ++refusals) {
    std::size_t first = size();
    std::uint64_t best = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      if (!candidates[i] || replicas_[i].load() >= bound) continue;
      const std::uint64_t score = key_score(key, replicas_[i].name);
      if (first < size() && score <= best) continue;
      first = i;
      best = score;
    }
    if (first == size()) return {};
    if (panics_) return lease_in_panic(first, now, draw);
    draw = another_draw(draw);
    if (Lease lease = try_lease(first, now, draw)) return lease;
    candidates.reset(first);
  }
  return {};
}

Replicas::Lease Replicas::lease_in_panic(std::size_t replica, Instant now, double draw) noexcept {
  Lease lease = is_closed(replicas_[replica], now) ? try_lease(replica, now, draw) : Lease();
  if (lease) return lease;
  lease = lease_anyway(replica, now);
  lease.panic_ = true;
  return lease;
}

Replicas::Lease Replicas::try_lease(std::size_t replica, Instant now, double draw) noexcept {
  Lease lease;
  lease.permit_ = replicas_[replica].breaker->try_admit(now, draw);
  if (!lease.permit_.admitted) return {};
  lease.has_permit_ = true;
  begin(lease, replica, now);
  return lease;
}

Replicas::Lease Replicas::lease_anyway(std::size_t replica, Instant now) noexcept {
  Lease lease;
  begin(lease, replica, now);
  return lease;
}

void Replicas::begin(Lease& lease, std::size_t replica, Instant now) noexcept {
  lease.replica_ = static_cast<std::int32_t>(replica);
  lease.sent_ = now;
  ++replicas_[replica].outstanding;
  if (zones_ > 1) ++(own_zone_[replica] ? zone_picks_.own : zone_picks_.other);
  lease.round_ = replicas_[replica].silence.on_sent(now, options_.latency_half_life);
}

}  // namespace damper::balance
