#pragma once

#include <cstdint>
#include <optional>

#include "damper/admit/circuit_breaker.h"
#include "damper/admit/token_bucket.h"
#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/decide/outcome.h"
#include "damper/engine/delivery/redelivery.h"

namespace damper::engine {

// An EndpointGate decides whether an attempt of any delivery to one endpoint may start now.
//
// Why: whether one more attempt helps is a property of the endpoint, not of a delivery. A dead
// endpoint is found out once, and not by each of 100,000 waiting deliveries; a retry time that its
// server names holds all of them (trap W1).
// Model: asked in this order: the server's retry time, the concurrency, the breaker, the rate. A
// delivery that is held consumes no attempt. The concurrency starts at kFirstConcurrency; each
// success allows one more, up to the policy's, and each timeout halves it, so that an endpoint
// which accepts connections and never answers holds few slots of its dispatcher. A probe of the
// breaker also needs a token of each of the ProbeRates, which many endpoints share: those of one
// host, and all. An endpoint that finds none for the n-th time asks again after up to 2^n times the
// wait, at most kLongestTurn: thousands that wait do not all ask for each token. After the breaker
// has closed, its ramp refuses a share of the attempts; a refusal ends all attempts for kRampPause,
// and one attempt at a time may be asked for: a backlog, which asks again at once, would otherwise
// be admitted in no time.
// Invariants:
//   (1) No more attempts in flight than `concurrency`.
//   (2) No attempt starts before the server's retry time, or while the breaker is open.
//   (3) Each ticket ends in exactly one of on_outcome() and on_unsent().
// Thread safety: none.
// Cost: no allocation; about 500 bytes.
class EndpointGate {
 public:
  static constexpr std::int32_t kFirstConcurrency = 4;
  static constexpr Duration kLongestTurn = std::chrono::seconds(5);
  static constexpr Duration kRampPause = std::chrono::milliseconds(50);

  struct ProbeRates {
    admit::TokenBucket* host = nullptr;  // nullptr: unbounded; else they outlive the gate
    admit::TokenBucket* all = nullptr;
  };

  // REQUIRES: !find_error(policy). The policy outlives the gate, or its reload().
  EndpointGate(const DeliveryPolicy& policy, ProbeRates probes);
  EndpointGate(const EndpointGate&) = delete;
  EndpointGate& operator=(const EndpointGate&) = delete;

  [[nodiscard]] const DeliveryPolicy& policy() const noexcept { return *policy_; }
  // Keeps the state. REQUIRES: !find_error(policy).
  void reload(const DeliveryPolicy& policy, Instant now);

  // Forgets what is known of the endpoint: another one has its place, or its owner says that it is
  // mended.
  void reset(Instant now) noexcept;

  // How many attempts might start now. 0: why not, and when to ask again (kNever: after the end of
  // an attempt).
  struct Room {
    std::int32_t attempts = 0;
    Verdict held_for = Verdict::none;
    Instant until = kNever;
  };
  [[nodiscard]] Room room(Instant now) noexcept;

  struct Ticket {
    admit::BreakerPermit permit{};
    Instant started{};
    bool half_opened = false;  // this attempt is the first probe
  };
  // An attempt is about to start; nothing: it may not.
  [[nodiscard]] std::optional<Ticket> try_start(Instant now, double draw) noexcept;

  struct Effect {
    admit::Transition transition = admit::Transition::none;  // of the breaker
    bool disable = false;  // nothing but failures for disable_after: the endpoint is to be disabled
    bool state_changed = false;  // what state() returns
  };
  Effect on_outcome(const Ticket& ticket, const decide::Report& report, Instant now,
                    double draw) noexcept;
  // The attempt was not made after all, or its outcome says nothing about the endpoint.
  void on_unsent(const Ticket& ticket, Instant now) noexcept;

  // What a restart has to keep.
  struct State {
    admit::SmallCircuitBreaker::Saved breaker{};
    Instant blocked_until = Instant::min();
    std::optional<Instant> failing_since{};
  };
  [[nodiscard]] State state() const noexcept;
  void restore(const State& state) noexcept;  // before the first attempt
  // Another process, which sends to the same endpoint, has this state: continues from it. Its
  // breaker is open or half-open if it has an open time, and closed otherwise. Attempts in flight
  // end as they do.
  void adopt(const State& state, Instant now) noexcept;

  [[nodiscard]] std::int32_t in_flight() const noexcept { return in_flight_; }
  // Whether its last attempt succeeded. One that is new has to show it first.
  [[nodiscard]] bool is_healthy() const noexcept { return healthy_; }
  [[nodiscard]] admit::BreakerState breaker_state(Instant now) const noexcept {
    return breaker_.state(now);
  }
  // The end of the server's retry time or of the breaker's open time; in the past: neither.
  [[nodiscard]] Instant blocked_until(Instant now) const noexcept;

 private:
  [[nodiscard]] Instant probe_at(Instant now) const noexcept;
  [[nodiscard]] Duration next_turn(Duration wait) noexcept;

  const DeliveryPolicy* policy_;
  ProbeRates probes_;
  admit::SmallCircuitBreaker breaker_;
  std::optional<admit::TokenBucket> rate_;
  Instant blocked_until_ = Instant::min();
  Instant refused_until_ = Instant::min();  // after an attempt that the breaker has refused
  std::optional<Instant> failing_since_;
  bool healthy_ = false;
  std::int32_t in_flight_ = 0;
  std::int32_t allowed_;     // in flight; 1 to the policy's concurrency
  std::uint32_t turns_ = 0;  // in a row without a token for a probe
  double turn_draw_ = 0;     // of the next one
};

}  // namespace damper::engine
