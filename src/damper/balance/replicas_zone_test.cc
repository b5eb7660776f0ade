// Attempts stay in the own zone, as far as it can serve them.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "damper/balance/replicas.h"
#include "damper/base/random.h"

namespace damper::balance {
namespace {

using decide::Outcome;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart{seconds(1000)};

// The first `own` of the replicas are in the own zone.
struct Zoned {
  Zoned(std::size_t own, std::size_t all, std::size_t zones, const ReplicaOptions& options = {})
      : replicas(all, options) {
    ReplicaSet here;
    for (std::size_t i = 0; i < own; ++i) here.set(i);
    own_zone = here;
    replicas.set_zones(here, zones);
  }
  // How many of `count` requests, one after the other, stay in the zone. Those of `down` fail.
  int stay(int count, Duration took = milliseconds(1), const ReplicaSet& down = {}) {
    int stayed = 0;
    for (int i = 0; i < count; ++i) {
      auto lease = replicas.pick({}, now, random.draw());
      stayed += own_zone[lease.replica()] ? 1 : 0;
      const Outcome outcome = down[lease.replica()] ? Outcome::unavailable : Outcome::success;
      now += took;
      replicas.settle(lease, outcome, now, random.draw());
    }
    return stayed;
  }

  Replicas replicas;
  ReplicaSet own_zone;
  Random random{1};
  Instant now = kStart;
};

TEST(ReplicaZones, AZoneThatIsWholeKeepsItsRequestsAndSharesThem) {
  Zoned service(3, 9, 3);
  EXPECT_EQ(service.stay(1000), 1000);
  EXPECT_EQ(service.replicas.zone_picks().own, 1000U);
  EXPECT_EQ(service.replicas.zone_picks().other, 0U);
}

TEST(ReplicaZones, WithoutAnotherZoneOrWithoutReplicasInTheOwnThereIsNoPreference) {
  const std::vector<std::pair<std::size_t, std::size_t>> cases = {{3, 1}, {0, 2}, {9, 2}};
  for (const auto& [own, zones] : cases) {
    Zoned service(own, 9, zones);
    Zoned control(own, 9, 0);
    (void)service.stay(500);
    (void)control.stay(500);
    for (std::size_t i = 0; i < 9; ++i) {
      EXPECT_EQ(service.replicas.latency(i, service.now), control.replicas.latency(i, control.now));
    }
    EXPECT_EQ(control.replicas.zone_picks().other, 0U);
  }
}

TEST(ReplicaZones, ASmallZoneKeepsWhatItCanServe) {
  Zoned service(1, 10, 2);  // 28 %
  const int stayed = service.stay(10'000);
  EXPECT_GT(stayed, 2600);
  EXPECT_LT(stayed, 3000);
  EXPECT_EQ(service.replicas.zone_picks().own, static_cast<std::uint64_t>(stayed));
  EXPECT_EQ(service.replicas.zone_picks().other, static_cast<std::uint64_t>(10'000 - stayed));
}

// (8)
TEST(ReplicaZones, AZoneThatIsDownSpillsAndReturns) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Zoned service(2, 4, 2);
    service.random = Random(seed);
    const int failed = service.stay(2000, milliseconds(1), ReplicaSet(0b0011));
    EXPECT_LT(failed, 30) << "seed " << seed;  // Until both are ejected, and their probes.
    (void)service.stay(40'000);
    EXPECT_EQ(service.stay(1000), 1000) << "seed " << seed;
  }
}

// (8): while the other zone was out, the own one had all requests, and kept them.
TEST(ReplicaZones, AnotherZoneThatWasOutGetsItsPartAgain) {
  Zoned service(2, 10, 2);  // 56 % stay
  ReplicaSet away;
  for (std::size_t i = 2; i < 10; ++i) away.set(i);
  (void)service.stay(5000, milliseconds(1), away);
  (void)service.stay(60'000);
  const int stayed = service.stay(10'000);
  EXPECT_GT(stayed, 5300);
  EXPECT_LT(stayed, 5900);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(service.replicas.state(i, service.now), admit::BreakerState::closed) << i;
  }
}

// (8): a zone that is not needed is there when it is, although it was out before.
TEST(ReplicaZones, AnotherZoneThatWasUnhealthyIsThereWhenTheOwnDies) {
  Zoned service(3, 6, 2, {.panic_threshold = Percent(10)});
  for (std::size_t i = 3; i < 6; ++i) service.replicas.set_healthy(i, false, service.now);
  (void)service.stay(1000);
  for (std::size_t i = 3; i < 6; ++i) service.replicas.set_healthy(i, true, service.now);
  (void)service.stay(60'000);
  const ReplicaSet own(0b000111);
  (void)service.stay(200, milliseconds(1), own);
  EXPECT_LT(service.stay(1000, milliseconds(1), own), 30);
}

TEST(ReplicaZones, AnUnhealthyZoneSpillsAndAHalfOfItTakesItsShare) {
  Zoned service(3, 9, 3, {.panic_threshold = Percent(10)});
  service.replicas.set_healthy(0, false, service.now);
  EXPECT_EQ(service.stay(1000), 1000);  // 2 of 8, 0.35 for a third
  service.replicas.set_healthy(1, false, service.now);
  const int stayed = service.stay(10'000);  // 1 of 7: 0.6
  EXPECT_GT(stayed, 5800);
  EXPECT_LT(stayed, 6200);
  service.replicas.set_healthy(2, false, service.now);
  EXPECT_EQ(service.stay(1000), 0);
}

// All attempts are in flight at once, and nothing is known of the other zone.
TEST(ReplicaZones, AttemptsThatPileUpInTheZoneSpill) {
  Zoned service(3, 9, 3);
  std::vector<Replicas::Lease> leases;
  std::set<std::size_t> asked;
  for (int i = 0; i < 9; ++i) {
    leases.push_back(service.replicas.pick({}, kStart, service.random.draw()));
  }
  EXPECT_EQ(service.replicas.zone_picks().other, 0U);  // 3 each
  for (int i = 0; i < 91; ++i) {
    leases.push_back(service.replicas.pick({}, kStart, service.random.draw()));
  }
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < 3; ++i) most = std::max(most, service.replicas.outstanding(i));
  for (std::size_t i = 3; i < 9; ++i) {
    EXPECT_GT(service.replicas.outstanding(i), 1U);
    EXPECT_LT(service.replicas.outstanding(i) * 2, most);
  }
  for (auto& lease : leases) service.replicas.settle(lease, Outcome::success, kStart, 0.5);
}

// The replicas of the other zone have answered as fast: more attempts are no overload.
TEST(ReplicaZones, ABusyZoneThatIsAsFastAsTheOthersKeepsItsRequests) {
  Zoned service(2, 4, 2);
  for (std::size_t i = 0; i < 4; ++i) {
    ReplicaSet others;
    for (std::size_t other = 0; other < 4; ++other) others.set(other, other != i);
    auto lease = service.replicas.pick(others, kStart, 0.5);
    ASSERT_EQ(lease.replica(), i);
    service.replicas.settle(lease, Outcome::success, kStart + milliseconds(5), 0.5);
  }
  const auto before = service.replicas.zone_picks().other;
  std::vector<Replicas::Lease> leases;
  for (int i = 0; i < 100; ++i) {
    leases.push_back(service.replicas.pick({}, kStart + milliseconds(5), service.random.draw()));
  }
  EXPECT_EQ(service.replicas.zone_picks().other, before);
  for (auto& lease : leases) service.replicas.settle(lease, Outcome::success, kStart, 0.5);
}

// Its proxies send more than a replica of the zone can serve, and each has few attempts in flight.
TEST(ReplicaZones, AZoneThatBecomesSlowSpills) {
  Zoned service(1, 4, 2, {.latency_factor = 0});  // 70 % stay
  int stayed = 0;
  for (int i = 0; i < 2000; ++i) {
    auto lease = service.replicas.pick({}, service.now, service.random.draw());
    const bool own = lease.replica() == 0;
    stayed += i >= 1000 && own ? 1 : 0;
    service.now += milliseconds(own && i >= 500 ? 500 : 20);
    service.replicas.settle(lease, Outcome::success, service.now, 0.5);
  }
  EXPECT_LT(stayed, 100);
  EXPECT_GT(stayed, 0);  // It is tried again.
}

// A zone that fails as a whole must not get all attempts of a call.
TEST(ReplicaZones, OneMoreAttemptGoesToAnyZone) {
  Zoned service(2, 4, 2);
  int own = 0;
  for (int i = 0; i < 1000; ++i) {
    ReplicaSet tried;
    auto first = service.replicas.pick_next(tried, {}, kStart, service.random.draw());
    EXPECT_TRUE(service.own_zone[first.replica()]);
    auto retry = service.replicas.pick_next(tried, {}, kStart, service.random.draw());
    own += service.own_zone[retry.replica()] ? 1 : 0;
    service.replicas.settle(first, Outcome::cancelled, kStart, 0.5);
    service.replicas.settle(retry, Outcome::cancelled, kStart, 0.5);
  }
  EXPECT_GT(own, 260);  // One of the three others.
  EXPECT_LT(own, 410);
}

TEST(ReplicaZones, InPanicThereAreNoZones) {
  Zoned service(2, 4, 2);
  (void)service.stay(500, milliseconds(1), ReplicaSet(0b1111));
  ASSERT_TRUE(service.replicas.panics());
  const int stayed = service.stay(200, Duration{0}, ReplicaSet(0b1111));
  EXPECT_GT(stayed, 60);
  EXPECT_LT(stayed, 140);
}

TEST(ReplicaZones, KeysHaveAReplicaInTheZoneAndThoseThatSpillAreAlwaysTheSame) {
  constexpr ReplicaOptions kByKey{.lb_policy = LbPolicy::consistent_hash};
  Zoned whole(2, 4, 2, kByKey);
  Zoned small(1, 10, 2, kByKey);
  int spilled = 0;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    std::set<std::size_t> of_whole;
    std::set<std::size_t> of_small;
    for (int i = 0; i < 3; ++i) {
      auto lease = whole.replicas.pick({}, kStart, whole.random.draw(), key);
      of_whole.insert(lease.replica());
      whole.replicas.settle(lease, Outcome::success, kStart, 0.5);
      lease = small.replicas.pick({}, kStart, small.random.draw(), key);
      of_small.insert(lease.replica());
      small.replicas.settle(lease, Outcome::success, kStart, 0.5);
    }
    EXPECT_EQ(of_whole.size(), 1U);
    EXPECT_LT(*of_whole.begin(), 2U);
    EXPECT_EQ(of_small.size(), 1U);
    spilled += *of_small.begin() == 0 ? 0 : 1;
  }
  EXPECT_GT(spilled, 670);
  EXPECT_LT(spilled, 770);
}

TEST(ReplicaZones, ThePreferenceFollowsTheReplicas) {
  Zoned service(1, 2, 2);
  EXPECT_EQ(service.stay(100), 100);
  service.replicas.set_zones(ReplicaSet(0b10), 2);
  EXPECT_EQ(service.stay(100), 0);
  service.replicas.set_zones({}, 0);
  const int stayed = service.stay(1000);
  EXPECT_GT(stayed, 300);
  EXPECT_LT(stayed, 700);
}

}  // namespace
}  // namespace damper::balance
