#ifndef DAMPER_HTTP_CLIENT_REPLICAS_H_
#define DAMPER_HTTP_CLIENT_REPLICAS_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/admit/circuit_breaker.h"
#include "damper/base/instant.h"
#include "damper/decide/outcome.h"

namespace damper::http {

struct ReplicaOptions {
  // When a replica is ejected, and how it comes back. Eager, beside the dependency's own breaker:
  // there are others to go to.
  admit::CircuitBreakerOptions breaker{.consecutive_failures = 5, .minimum_volume = 10};
  // A latency that nothing renews counts half after so long: a slow replica is tried again.
  Duration latency_half_life = std::chrono::seconds(5);  // 1 ms to 1 h
};

[[nodiscard]] std::optional<std::string> find_error(const ReplicaOptions& options);

inline constexpr std::size_t kMostReplicas = 256;
using ReplicaSet = std::bitset<kMostReplicas>;

// Replicas are the endpoints of one service, and who is asked next.
//
// Why: a random pick overloads whoever is slow, the least loaded of all is a herd's pick when many
// clients look at the same time. The less loaded of two random ones has neither fault
// (Mitzenmacher, "The power of two choices in randomized load balancing", 2001). Model: two
// different replicas are drawn among those that may be asked. The one with fewer attempts under way
// is picked; with as many, the one whose latency is less than half of the other's; else the first.
// A latency is a moving average that a failure doubles and that fades while nothing renews it. Each
// replica has a breaker of its own: one whose breaker does not admit is not asked. A single replica
// has none, since there is nothing better to do with the attempt. Invariants:
//   (1) A replica of `excluded` is picked only when no other one may be asked (trap H4).
//   (2) A replica whose breaker refuses is not picked; when all do, none is.
//   (3) Each pick is settled once: outstanding, breaker and latency. A settled lease is empty, and
//       settling an empty one does nothing.
// Thread safety: none; one loop, one set. Now and draw are arguments.
// Cost: no allocation after construction; a pick looks once at each replica's breaker.
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
    admit::CircuitBreaker::Permit permit_{};
    Instant sent_{};
  };

  // REQUIRES: 1 <= count <= kMostReplicas, !find_error(options).
  Replicas(std::size_t count, const ReplicaOptions& options);

  // An empty lease: every breaker is open. 0 <= draw < 1.
  [[nodiscard]] Lease pick(const ReplicaSet& excluded, Instant now, double draw) noexcept;
  // The attempt ended. `cancelled` is no verdict on the replica, though it shows how long it took.
  void settle(Lease& lease, decide::Outcome outcome, Instant now, double draw) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return replicas_.size(); }
  [[nodiscard]] std::uint32_t outstanding(std::size_t replica) const noexcept {
    return replicas_[replica].outstanding;
  }
  [[nodiscard]] admit::BreakerState state(std::size_t replica, Instant now) const noexcept {
    return replicas_[replica].breaker->state(now);
  }
  // As it counts now: the average, faded. 0 while nothing is known.
  [[nodiscard]] Duration latency(std::size_t replica, Instant now) const noexcept;

 private:
  struct Replica {
    std::unique_ptr<admit::CircuitBreaker> breaker;  // which cannot be moved
    std::uint32_t outstanding = 0;
    Duration latency{0};
    Instant renewed{};
  };

  [[nodiscard]] bool may_ask(std::size_t replica, Instant now) const noexcept;
  [[nodiscard]] bool better(std::size_t a, std::size_t b, Instant now) const noexcept;
  [[nodiscard]] Lease pick_among(const ReplicaSet& candidates, Instant now, double draw) noexcept;
  [[nodiscard]] Lease try_lease(std::size_t replica, Instant now, double draw) noexcept;
  void on_latency(Replica& replica, decide::Outcome outcome, Duration latency,
                  Instant now) noexcept;

  ReplicaOptions options_;
  std::vector<Replica> replicas_;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_CLIENT_REPLICAS_H_
