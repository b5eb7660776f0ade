#include "damper/lab/herd/webhook_fleet.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "damper/base/random.h"
#include "damper/engine/delivery/endpoint_gate.h"

namespace damper::lab {
namespace {

using admit::BreakerState;
using admit::TokenBucket;
using engine::EndpointGate;

constexpr Instant kHerdStart{};
constexpr Duration kHerdBucket = std::chrono::milliseconds(100);
constexpr Duration kLongestHerd = std::chrono::hours(1);  // after the hosts are back

// Counts by kHerdBucket.
class Tallest {
 public:
  void add(Duration at) { tallest_ = std::max(tallest_, ++counts_[at / kHerdBucket]); }
  [[nodiscard]] std::int64_t value() const noexcept { return tallest_; }

 private:
  std::unordered_map<std::int64_t, std::int64_t> counts_;
  std::int64_t tallest_ = 0;
};

[[nodiscard]] decide::Report report_of(bool success) {
  return {.outcome = success ? decide::Outcome::success : decide::Outcome::transient};
}

// The gates of one fleet, and the attempts that they allow.
class ProbeWorld {
 public:
  ProbeWorld(const WebhookFleet& fleet, const ProbeRules& rules)
      : fleet_(fleet), rules_(rules), random_(fleet.seed), in_flight_(index(fleet.endpoints)) {
    const int owners = rules.lease ? 1 : fleet.dispatchers;
    for (int owner = 0; owner < owners; ++owner) {
      TokenBucket* all = nullptr;
      std::vector<TokenBucket*> hosts(index(fleet.hosts), nullptr);
      if (rules.rates) {
        all = add_bucket({.rate_per_second = 100, .burst = 20});
        for (TokenBucket*& host : hosts) host = add_bucket({.rate_per_second = 20, .burst = 5});
      }
      for (int endpoint = 0; endpoint < fleet.endpoints; ++endpoint) {
        add_gate(endpoint, {.host = hosts[index(endpoint % fleet.hosts)], .all = all});
      }
    }
  }

  [[nodiscard]] ProbeHerd run() {
    for (std::size_t gate = 0; gate < gates_.size(); ++gate) {
      trip(*gates_[gate].gate);
      wake(gate, kHerdStart);
    }
    const Instant end = add(kHerdStart, fleet_.down + kLongestHerd);
    while (!events_.empty() && events_.top().at < end) {
      const Event event = events_.top();
      events_.pop();
      if (event.ticket) {
        finish(event);
      } else {
        start(event);
      }
    }
    herd_.tallest = tallest_.value();
    return herd_;
  }

 private:
  struct Gate {
    int endpoint;
    std::unique_ptr<EndpointGate> gate;
  };
  struct Event {
    Instant at;
    std::uint64_t order;  // of events of one instant
    std::size_t gate;
    std::optional<EndpointGate::Ticket> ticket;  // the end of this attempt; none: ask the gate
    friend bool operator<(const Event& a, const Event& b) noexcept {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };

  [[nodiscard]] static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  [[nodiscard]] TokenBucket* add_bucket(const admit::TokenBucketOptions& options) {
    buckets_.push_back(std::make_unique<TokenBucket>(options));
    return buckets_.back().get();
  }
  void add_gate(int endpoint, EndpointGate::ProbeRates probes) {
    gates_.push_back({endpoint, std::make_unique<EndpointGate>(policy_, probes)});
  }
  [[nodiscard]] double open_draw() { return rules_.jitter ? random_.draw() : 0.5; }
  void wake(std::size_t gate, Instant at) { events_.push({at, ++order_, gate, std::nullopt}); }

  // Attempts fail at the start until the breaker opens.
  void trip(EndpointGate& gate) {
    while (const auto ticket = gate.try_start(kHerdStart, 0)) {
      gate.on_outcome(*ticket, report_of(false), kHerdStart, open_draw());
    }
  }

  void start(const Event& event) {
    EndpointGate& gate = *gates_[event.gate].gate;
    const auto room = gate.room(event.at);
    if (room.attempts == 0) {
      // Never at once again: a refusal by a rate names the instant of the next token.
      return wake(event.gate, std::max(room.until, add(event.at, std::chrono::milliseconds(1))));
    }
    const bool probe = gate.breaker_state(event.at) == BreakerState::half_open;
    const auto ticket = gate.try_start(event.at, random_.draw());
    if (!ticket) return wake(event.gate, add(event.at, kHerdBucket));
    if (probe) {
      ++herd_.probes;
      tallest_.add(between(kHerdStart, event.at));
    }
    std::int64_t& in_flight = in_flight_[index(gates_[event.gate].endpoint)];
    herd_.at_once = std::max(herd_.at_once, ++in_flight);
    events_.push({add(event.at, fleet_.answer), ++order_, event.gate, *ticket});
  }

  void finish(const Event& event) {
    Gate& gate = gates_[event.gate];
    --in_flight_[index(gate.endpoint)];
    const bool success = event.ticket->started >= add(kHerdStart, fleet_.down);
    const auto effect =
        gate.gate->on_outcome(*event.ticket, report_of(success), event.at, open_draw());
    if (effect.transition != admit::Transition::closed) return wake(event.gate, event.at);
    herd_.last_closed = between(add(kHerdStart, fleet_.down), event.at);
  }

  const WebhookFleet& fleet_;
  const ProbeRules rules_;
  const engine::DeliveryPolicy policy_{};
  Random random_;
  std::vector<std::unique_ptr<TokenBucket>> buckets_;
  std::vector<Gate> gates_;
  std::vector<std::int64_t> in_flight_;  // by endpoint
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
  Tallest tallest_;
  ProbeHerd herd_;
};

}  // namespace

RetryHerd run_retry_herd(const WebhookFleet& fleet, const engine::DeliveryPolicy& policy) {
  RetryHerd herd;
  Tallest tallest;
  Random random(fleet.seed);
  for (int i = 0; i < fleet.deliveries; ++i) {
    engine::DeliveryRecord record;
    Duration at{0};
    while (at < fleet.down) {
      const auto next =
          decide_redelivery(policy, record, report_of(false), at + fleet.answer, random.draw());
      if (next.what != engine::Redelivery::What::again) break;
      at += fleet.answer + next.delay;
      ++herd.retries;
      tallest.add(at);
    }
    herd.last_delivered = std::max(herd.last_delivered, at - fleet.down);
  }
  herd.tallest = tallest.value();
  return herd;
}

ProbeHerd run_probe_herd(const WebhookFleet& fleet, const ProbeRules& rules) {
  return ProbeWorld(fleet, rules).run();
}

}  // namespace damper::lab
