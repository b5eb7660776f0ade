#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "damper/admit/circuit_breaker.h"
#include "damper/balance/replica_options.h"
#include "damper/balance/replica_set.h"
#include "damper/balance/silence.h"
#include "damper/base/instant.h"
#include "damper/decide/outcome.h"

namespace damper::balance {

// Replicas are the endpoints of one service, and select the next one.
//
// Why: a random pick overloads a slow replica; the least loaded of all is a herd's pick when many
// clients choose at the same time. The less loaded of two random ones has neither fault
// (Mitzenmacher, "The power of two choices in randomized load balancing", 2001).
// Model: two different replicas are drawn among those that may be asked. The one with fewer
// attempts under way is picked; with as many, the one whose latency is less than half of the
// other's; else the first. A latency is a moving average that a failure raises and that fades while
// nothing renews it.
// Slow: if an attempt on one of the two is expected to take more than twice as long as on the
// other, and `latency_floor` longer, each of its attempts under way counts as many times as it
// takes longer, up to eight times (as in Finagle's peak EWMA). The expected time is the mean of its
// answers or its silence (up to eight times the mean), whichever is longer; both fade. So a replica
// that becomes slow loses its share before its first slow answer, and is tried again within
// seconds.
// Breakers: each replica has a breaker of its own: one whose breaker does not admit is not asked.
// Errors trip it, and so do answers that are slow beside those of the others; a probe that is still
// slow opens it again, for longer. For this, one answer counts as ten times the average at most: a
// single late one is no verdict. A single replica has no breaker, since there is nothing better to
// do with the attempt; and a ramp holds back only what another one takes.
// Panic: when every replica is ejected, that says nothing of any of them (the network, or what they
// all need, is down), and a client that refuses then notices the recovery late. Breakers that are
// not closed are ignored: all replicas share the attempts, none is a probe, so open times do not
// grow; latencies, which failures have raised, are not compared. A replica that answers
// `breaker.probes` of them in a row is let in at once, without a ramp and as one that is new. Panic
// lasts until no replica is out, or one second from when the first was let in: the others have that
// time to show that they are back, and the first is not given the load of all. What reaches
// replicas that are down is what the caller's own breaker, limit and retry budget let through. With
// fewer out than all there is no panic: one that answers beats two that do not.
// Checks: set_healthy() has the verdict of an active check. An unhealthy replica is not asked, and
// counts as ejected; when it is healthy again it returns as from an ejection, by probes and a ramp.
// If less than `panic_threshold` of the replicas are healthy, all verdicts are ignored and the
// breakers alone decide: a check with a wrong path fails everywhere, and the few that pass must not
// get the load of all. By hand: force() holds the breaker of a replica. One that is held open is
// not asked, in panic, as the only one or beside others that are out; one that is held closed is
// not ejected, and asked even if it is unhealthy.
// Keys: with LbPolicy::consistent_hash an attempt that has a key goes to the first replica of the
// key's order (key_order.h) that may be asked and is under its bound, `hash_balance_factor` times
// its fair share of the attempts in flight. One more attempt of the call goes to the next. If all
// are at their bound, and for an attempt without a key, the less loaded of two is picked.
// Zones: after set_zones() attempts stay in the own zone as far as it can serve its part of them
// (zone_share.h) with replicas that are neither ejected nor on their ramp. An attempt also goes to
// another zone if the replica here is overloaded: clearly slower than the one there (see "slow"),
// and its attempts, each counted as many times as it is slower, are more than four times as many.
// While nothing is known of the one there, four times as many attempts are enough. One more attempt
// of a call goes to any zone, and panic knows no zones. Among the replicas of the zone that gets
// the attempt all of the above holds. Replicas come and go: each has a number from when it is added
// to when it has been removed and its last lease is settled; another one may have it then.
// Invariants:
//   (1) A replica of `excluded` is picked only when no other one may be asked (trap H4).
//   (2) A replica whose breaker is not closed is picked as a probe alone, but in panic. None is
//       picked only when there is none that is not held open by hand.
//   (3) Each pick is settled once: outstanding, breaker and latency. A settled lease is empty, and
//       settling an empty one does nothing.
//   (4) Latency ejects a replica only while at most max_ejection_percent of them are out, that one
//       included, whatever the others are out for.
//   (5) A replica that was removed is not picked.
//   (6) An unhealthy replica is picked only in panic, if verdicts are ignored, if it is the only
//       one, or if it is held closed by hand. No verdict changes a breaker, a latency or a count.
//   (7) By its key no attempt goes to a replica that has load_bound() attempts in flight.
//   (8) A zone keeps no replica out: a half-open one, here or elsewhere, and one here on its ramp
//       get what their breakers admit, and without any here that may be asked the attempts go
//       elsewhere.
// Thread safety: none; one loop, one set. Now and draw are arguments.
// Cost: no allocation but to add a replica; a pick looks once at each replica's breaker.
class Replicas {
 public:
  // One attempt on one replica, until settle().
  class Lease {
   public:
    Lease() = default;
    [[nodiscard]] explicit operator bool() const noexcept { return replica_ >= 0; }
    // REQUIRES: it is not empty.
    [[nodiscard]] std::size_t replica() const noexcept {
      return static_cast<std::size_t>(replica_);
    }

   private:
    friend class Replicas;
    std::int32_t replica_ = -1;
    bool has_permit_ = false;  // the breaker gave a permit
    bool panic_ = false;       // it went without one, since all are out
    bool timed_ = false;       // on_head() came
    bool held_ = false;        // it waits for its client
    std::uint32_t round_ = 0;  // of the replica's silence
    admit::CircuitBreaker::Permit permit_{};
    Instant sent_{};    // or the end of the upload; kNever: it continues
    Duration took_{0};  // to the head
  };

  // REQUIRES: count <= kMostReplicas, !find_error(options).
  Replicas(std::size_t count, const ReplicaOptions& options);

  // Whether a number is free.
  [[nodiscard]] bool has_room() const noexcept { return free_number() < kMostReplicas; }
  // One more, and its number; nothing: all numbers are in use.
  // `name` is for the orders of keys; empty: the number has one.
  [[nodiscard]] std::optional<std::size_t> try_add(std::string_view name = {});
  // It is picked no more; attempts under way are settled as they would. REQUIRES: is_in(replica).
  void remove(std::size_t replica) noexcept;
  // Holds its breaker open or closed, or resets it. REQUIRES: is_in(replica).
  void force(std::size_t replica, const admit::BreakerForceSetting& setting, Instant now) noexcept;
  // The verdict of an active check; a new replica is healthy. REQUIRES: is_in(replica).
  void set_healthy(std::size_t replica, bool healthy, Instant now) noexcept;
  // The replicas of the own zone, and the number of zones of all; less than 2: there is no
  // preference. To be called again when replicas were added or removed.
  void set_zones(const ReplicaSet& own, std::size_t zones) noexcept {
    own_zone_ = own;
    zones_ = zones;
  }
  // Breakers and latencies keep their state. REQUIRES: !find_error(options).
  void reload(const ReplicaOptions& options, Instant now) noexcept;

  // An empty lease: there is no replica, or all are held open by hand. 0 <= draw < 1.
  [[nodiscard]] Lease pick(const ReplicaSet& excluded, Instant now, double draw,
                           std::optional<std::uint64_t> key = std::nullopt) noexcept;
  // For one more attempt of a call: one that is not of `tried`, if there is one, and one of
  // `asking`, where attempts of the call are under way, only if there is no other at all. It is
  // added to `tried`, which begins anew once all have been: with it and those of `asking`.
  [[nodiscard]] Lease pick_next(ReplicaSet& tried, const ReplicaSet& asking, Instant now,
                                double draw,
                                std::optional<std::uint64_t> key = std::nullopt) noexcept;
  // The answer's head is there: how long that took is the latency, whatever the body takes.
  void on_head(Lease& lease, Instant now) noexcept;
  // The caller has not sent the rest of the request: the time until on_upload_over() is not the
  // replica's. An answer that arrives before shows no latency. A probe is no probe any more.
  void on_upload_awaited(Lease& lease, Instant now) noexcept;
  // The request is complete, or the replica does not take more of it.
  void on_upload_over(Lease& lease, Instant now) noexcept {
    set_held(lease, false, now);
    if (!lease.timed_ && lease.sent_ == kNever) lease.sent_ = now;
  }
  // Whether the attempt waits for its client: a tunnel, an upload, or a response that is not read.
  // It is hardly a load of its replica then, nor is the replica silent.
  void set_held(Lease& lease, bool held, Instant now) noexcept;
  // The attempt ended. `cancelled` is no verdict on the replica, though it shows how long it took.
  void settle(Lease& lease, decide::Outcome outcome, Instant now, double draw) noexcept;

  // Numbers are under this; not all of them are of a replica that is in.
  [[nodiscard]] std::size_t size() const noexcept { return replicas_.size(); }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }  // that are in
  [[nodiscard]] bool is_in(std::size_t replica) const noexcept { return replicas_[replica].in; }
  [[nodiscard]] std::uint32_t outstanding(std::size_t replica) const noexcept {
    return replicas_[replica].outstanding;
  }
  [[nodiscard]] admit::BreakerState state(std::size_t replica, Instant now) const noexcept {
    return replicas_[replica].breaker->state(now);
  }
  // Whether it is ejected, or unhealthy by verdicts that are not ignored.
  [[nodiscard]] bool is_out(std::size_t replica, Instant now) const noexcept {
    return state(replica, now) == admit::BreakerState::open ||
           is_unhealthy(replicas_[replica], now);
  }
  // Whether the last pick found that breakers are of no use.
  [[nodiscard]] bool panics() const noexcept { return panics_; }
  // Attempts in the own zone and in others, while there was a preference.
  struct ZonePicks {
    std::uint64_t own = 0, other = 0;
  };
  [[nodiscard]] const ZonePicks& zone_picks() const noexcept { return zone_picks_; }
  // As it counts now: the average, faded. 0 while nothing is known.
  [[nodiscard]] Duration latency(std::size_t replica, Instant now) const noexcept;

 private:
  struct Replica {
    std::unique_ptr<admit::CircuitBreaker> breaker;  // which cannot be moved
    std::uint64_t name = 0;                          // name_number()
    bool in = false;
    bool unhealthy = false;                // by active checks
    Instant held_closed = Instant::min();  // by hand, until then
    bool slow = false;                     // tripped for its latency, and not closed since
    std::uint32_t outstanding = 0;
    std::uint32_t held = 0;  // of those
    [[nodiscard]] std::uint32_t load() const noexcept { return outstanding - held; }
    Duration latency{0};
    Instant renewed{};
    std::int32_t returns = 0;  // answers in a row to attempts in panic
    std::int32_t answers = 0;  // since it was let in, up to latency_samples
    Duration mean{0};          // of answers alone: what `slow` is judged by
    Instant answered{};        // when the mean was last renewed
    Silence silence;
  };

  struct Two {
    std::size_t at = 0;  // where the draw fell
    std::size_t first = 0, second = 0;
  };

  [[nodiscard]] std::size_t free_number() const noexcept;
  void count_healthy() noexcept;
  [[nodiscard]] bool is_unhealthy(const Replica& replica, Instant now) const noexcept {
    return replica.unhealthy && !ignores_checks_ && now >= replica.held_closed;
  }
  [[nodiscard]] bool is_closed(const Replica& replica, Instant now) const noexcept;
  [[nodiscard]] bool may_ask(const Replica& replica, Instant now) const noexcept;
  void look_for_panic(Instant now) noexcept;
  [[nodiscard]] Duration pace(const Replica& replica, Instant now) const noexcept;
  [[nodiscard]] double slowness(Duration pace, Duration other) const noexcept;
  [[nodiscard]] bool better(std::size_t a, std::size_t b, Instant now) const noexcept;
  [[nodiscard]] Lease pick_but(const ReplicaSet& tried, const ReplicaSet& asking, Instant now,
                               double draw, std::optional<std::uint64_t> key) noexcept;
  [[nodiscard]] ReplicaSet beyond_zone(const ReplicaSet& candidates, Instant now, double draw,
                                       std::optional<std::uint64_t> key) const noexcept;
  [[nodiscard]] bool is_overloaded(std::size_t local, std::size_t other,
                                   Instant now) const noexcept;
  [[nodiscard]] Two best_two(const ReplicaSet& candidates, Instant now, double draw) const noexcept;
  [[nodiscard]] Lease pick_among(const ReplicaSet& candidates, const ReplicaSet& group, Instant now,
                                 double draw, std::optional<std::uint64_t> key) noexcept;
  [[nodiscard]] Lease pick_by_key(ReplicaSet candidates, const ReplicaSet& group, Instant now,
                                  double draw, std::uint64_t key) noexcept;
  [[nodiscard]] Lease lease_in_panic(std::size_t replica, Instant now, double draw) noexcept;
  [[nodiscard]] Lease try_lease(std::size_t replica, Instant now, double draw) noexcept;
  [[nodiscard]] Lease lease_anyway(std::size_t replica, Instant now) noexcept;
  void begin(Lease& lease, std::size_t replica, Instant now) noexcept;
  void settle_panic(Replica& replica, decide::Outcome outcome, Instant now) noexcept;
  void on_latency(Replica& replica, decide::Outcome outcome, Duration latency,
                  Instant now) noexcept;
  void on_answer(Replica& replica, Duration latency, Instant now) noexcept;
  [[nodiscard]] bool is_slow(const Replica& replica, Duration latency, Instant now) const noexcept;
  void eject_if_slow(Replica& replica, Instant now, double draw) noexcept;
  [[nodiscard]] bool may_eject_one_more(Instant now) const noexcept;

  ReplicaOptions options_;
  std::vector<Replica> replicas_;
  std::size_t count_ = 0;
  ReplicaSet own_zone_;
  std::size_t zones_ = 0;
  ZonePicks zone_picks_;
  bool ignores_checks_ = false;
  bool panics_ = false;
  Instant panic_ends_ = kNever;  // once the first was let in
};

}  // namespace damper::balance
