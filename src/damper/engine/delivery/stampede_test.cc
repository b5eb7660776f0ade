// What many deliveries and many endpoints do together, in virtual time: they do not retry in one
// instant, and they do not probe a recovering host in one instant.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <queue>
#include <tuple>
#include <vector>

#include "damper/base/random.h"
#include "damper/engine/delivery/endpoint_gate.h"
#include "damper/engine/delivery/redelivery.h"

namespace damper::engine {
namespace {

using admit::TokenBucket;
using admit::TokenBucketOptions;
using decide::Outcome;
using decide::Report;
using std::chrono::hours, std::chrono::milliseconds, std::chrono::minutes, std::chrono::seconds;

constexpr int kDeliveries = 10'000;

// The most retries in any 100 ms, of kDeliveries deliveries that fail in one instant.
std::ptrdiff_t tallest(const DeliveryPolicy& policy, const Report& report, std::uint32_t attempts) {
  Random random(17);
  std::vector<Duration> retries;
  for (int i = 0; i < kDeliveries; ++i) {
    DeliveryRecord record{.attempts = attempts};
    const auto next = decide_redelivery(policy, record, report, seconds(1), random.draw());
    EXPECT_EQ(next.what, Redelivery::What::again);
    retries.push_back(next.delay);
  }
  std::ranges::sort(retries);
  std::ptrdiff_t most = 0;
  for (auto first = retries.begin(), last = first; last != retries.end(); ++last) {
    while (*last - *first >= milliseconds(100)) ++first;
    most = std::max(most, last - first + 1);
  }
  return most;
}

[[nodiscard]] DeliveryPolicy without_jitter() {
  DeliveryPolicy policy;
  policy.retries = *schedule::ListedDelays::from(policy.retries.steps(), Percent(0));
  return policy;
}

TEST(Stampede, RetriesOfOneInstantAreSpread) {
  for (std::uint32_t attempts = 0; attempts < 9; ++attempts) {
    const Report report{.outcome = Outcome::transient};
    EXPECT_EQ(tallest(without_jitter(), report, attempts), kDeliveries);
    EXPECT_LE(tallest({}, report, attempts) * 8, kDeliveries) << "after attempt " << attempts + 1;
  }
}

TEST(Stampede, RetriesAtOneRetryTimeAreSpread) {
  for (const Duration retry_after : {Duration(0), Duration(seconds(1)), Duration(minutes(1))}) {
    for (const Outcome outcome : {Outcome::overload, Outcome::transient, Outcome::permanent}) {
      const Report report{.outcome = outcome, .retry_after = retry_after};
      EXPECT_LE(tallest({}, report, 0) * 8, kDeliveries)
          << name(outcome) << " after " << retry_after.count() << " ns";
    }
  }
  EXPECT_LE(tallest({}, {.outcome = Outcome::cancelled}, 0) * 8, kDeliveries);
}

// Endpoints of one host, each with a delivery that is due; driven as a dispatcher drives them: an
// endpoint is asked again when room() says so, or at the end of its attempt.
class Host {
 public:
  static constexpr int kEnough = 20;                       // deliveries of an endpoint
  static constexpr Duration kAttempt = milliseconds(200);  // length of one that fails or succeeds

  Host(int endpoints, TokenBucketOptions host, TokenBucketOptions all)
      : host_(host), all_(all), probes_per_second_(host.rate_per_second), burst_(host.burst) {
    for (int i = 0; i < endpoints; ++i) {
      gates_.push_back(
          std::make_unique<EndpointGate>(policy_, EndpointGate::ProbeRates{&host_, &all_}));
      events_.emplace(Instant{}, false, static_cast<std::size_t>(i));
    }
    running_.resize(gates_.size());
    successes_.resize(gates_.size());
  }

  // Until `end`. The host fails until `recovers`; then attempts succeed.
  void run(Instant end, Instant recovers) {
    while (!events_.empty() && std::get<Instant>(events_.top()) < end) {
      const auto [now, ends, index] = events_.top();
      events_.pop();
      EndpointGate& gate = *gates_[index];
      if (ends) {
        const EndpointGate::Ticket ticket = running_[index].front();
        running_[index].erase(running_[index].begin());
        const bool good = now >= recovers;
        (void)gate.on_outcome(ticket, {.outcome = good ? Outcome::success : Outcome::unavailable},
                              now, random_.draw());
        successes_[index] += good ? 1 : 0;
      }
      if (successes_[index] < kEnough) pump(index, now);
    }
  }

  [[nodiscard]] int closed(Instant now) const {
    return static_cast<int>(std::ranges::count_if(gates_, [&](const auto& gate) {
      return gate->breaker_state(now) == admit::BreakerState::closed;
    }));
  }
  // More probes than the rate allows in any time from one probe to another.
  [[nodiscard]] int over_rate() const {
    int over = 0;
    for (std::size_t i = 0; i < probes.size(); ++i) {
      for (std::size_t k = i; k < std::min(probes.size(), i + 500); ++k) {
        const double seconds_between =
            static_cast<double>(between(probes[i], probes[k]).count()) / 1e9;
        const double allowed = burst_ + probes_per_second_ * seconds_between;
        if (static_cast<double>(k - i + 1) > allowed + 1e-6) ++over;
      }
    }
    return over;
  }
  // Endpoints whose deliveries have all been sent.
  [[nodiscard]] std::ptrdiff_t drained() const {
    return std::ranges::count_if(successes_, [](int count) { return count >= kEnough; });
  }
  [[nodiscard]] const DeliveryPolicy& policy() const { return policy_; }

  std::vector<Instant> probes;
  int two_at_once = 0;     // attempts of an endpoint beside its probe
  std::int64_t asked = 0;  // times that an endpoint was asked for work

 private:
  void pump(std::size_t index, Instant now) {
    EndpointGate& gate = *gates_[index];
    for (;;) {
      ++asked;
      const auto room = gate.room(now);
      if (room.attempts == 0) {
        if (room.until != kNever)
          events_.emplace(std::max(room.until, now + Duration{1}), false, index);
        return;
      }
      const bool probe = gate.breaker_state(now) == admit::BreakerState::half_open;
      const auto ticket = gate.try_start(now, random_.draw());
      if (!ticket) {  // the ramp
        events_.emplace(now + milliseconds(50), false, index);
        return;
      }
      if (probe) {
        probes.push_back(now);
        two_at_once += gate.in_flight() == 1 ? 0 : 1;
      }
      running_[index].push_back(*ticket);
      events_.emplace(now + kAttempt, true, index);
    }
  }

  using Event = std::tuple<Instant, bool, std::size_t>;
  const DeliveryPolicy policy_;
  TokenBucket host_;
  TokenBucket all_;
  const double probes_per_second_;
  const double burst_;
  Random random_{23};
  std::vector<std::unique_ptr<EndpointGate>> gates_;
  std::vector<std::vector<EndpointGate::Ticket>> running_;  // by endpoint, in order of their ends
  std::vector<int> successes_;                              // by endpoint
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

TEST(Stampede, AThousandEndpointsOfADeadHostProbeItAtItsRateAndRecover) {
  constexpr int kEndpoints = 1'000;
  Host host(kEndpoints, {.rate_per_second = 20, .burst = 5}, {.rate_per_second = 100, .burst = 20});
  const Instant recovers = Instant{} + minutes(5);
  host.run(recovers, recovers);
  EXPECT_EQ(host.closed(recovers), 0);
  EXPECT_GT(host.probes.size(), 2'000U);
  // An endpoint is probed again after its open time and its turn at the rate.
  const Duration interval = host.policy().breaker.open_cap + seconds(kEndpoints / 20);
  const Instant recovered = recovers + 2 * interval + host.policy().breaker.ramp;
  host.run(recovered, recovers);
  EXPECT_EQ(host.closed(recovered), kEndpoints);
  EXPECT_EQ(host.over_rate(), 0);
  EXPECT_EQ(host.two_at_once, 0);
  EXPECT_EQ(host.drained(), kEndpoints);
  // What waits for a token does not ask for each of them: without turns 900 times a probe.
  EXPECT_LT(host.asked, 100 * std::ssize(host.probes));
}

}  // namespace
}  // namespace damper::engine
