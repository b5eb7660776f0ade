// LbPolicy::consistent_hash: an attempt with a key goes to the first replica of the key's order.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "damper/balance/key_order.h"
#include "damper/balance/replicas.h"
#include "damper/base/random.h"

namespace damper::balance {
namespace {

using decide::Outcome;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart{seconds(1000)};
constexpr ReplicaOptions kByKey{.lb_policy = LbPolicy::consistent_hash};

std::string name_of(std::size_t replica) { return "http://10.0.0." + std::to_string(replica); }

struct Service {
  explicit Service(std::size_t count, const ReplicaOptions& options = kByKey)
      : replicas(0, options) {
    for (std::size_t i = 0; i < count; ++i) (void)replicas.try_add(name_of(i));
  }
  // Of a request that ends at once.
  std::size_t ask(std::uint64_t key, Outcome outcome = Outcome::success) {
    auto lease = replicas.pick({}, now, random.draw(), key);
    const std::size_t replica = lease.replica();
    replicas.settle(lease, outcome, now, random.draw());
    return replica;
  }

  Replicas replicas;
  Random random{1};
  Instant now = kStart;
};

// The order of a key, best first.
std::vector<std::size_t> order_of(std::uint64_t key, std::size_t count) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [key](std::size_t a, std::size_t b) {
    return key_score(key, name_number(name_of(a))) > key_score(key, name_number(name_of(b)));
  });
  return order;
}

TEST(ReplicaKeys, AKeyHasItsReplicaAndKeysAreSpread) {
  Service service(5);
  std::array<int, 5> keys{};
  for (std::uint64_t key = 0; key < 1000; ++key) {
    const std::size_t first = service.ask(key);
    EXPECT_EQ(first, order_of(key, 5)[0]);
    EXPECT_EQ(service.ask(key), first);
    ++keys[first];
  }
  for (const int count : keys) EXPECT_GT(count, 150);
}

TEST(ReplicaKeys, WithoutAKeyOrWithLeastRequestTheLessLoadedOfTwoIsPicked) {
  Service by_key(3);
  Service by_load(3, {});
  Replicas control(3, {});
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const double draw = random.draw();
    const auto expected = control.pick({}, kStart, draw);
    EXPECT_EQ(by_key.replicas.pick({}, kStart, draw).replica(), expected.replica());
    EXPECT_EQ(by_load.replicas.pick({}, kStart, draw, 7).replica(), expected.replica());
  }
}

TEST(ReplicaKeys, OneMoreAttemptGoesToTheNextOfTheOrder) {
  for (std::uint64_t key = 0; key < 50; ++key) {
    Service service(4);
    const auto order = order_of(key, 4);
    ReplicaSet tried;
    for (std::size_t attempt = 0; attempt < 4; ++attempt) {
      auto lease = service.replicas.pick_next(tried, {}, kStart, 0.3, key);
      ASSERT_EQ(lease.replica(), order[attempt]);
      service.replicas.settle(lease, Outcome::transient, kStart, 0.3);
    }
  }
}

TEST(ReplicaKeys, OneThatIsOutIsSkippedAndTheOtherKeysStay) {
  Service service(4);
  service.replicas.set_healthy(2, false, kStart);
  service.replicas.force(1, {.force = admit::BreakerForce::open, .length = seconds(10)}, kStart);
  for (std::uint64_t key = 0; key < 400; ++key) {
    auto order = order_of(key, 4);
    std::erase_if(order, [](std::size_t replica) { return replica == 1 || replica == 2; });
    EXPECT_EQ(service.ask(key), order[0]);
  }
}

TEST(ReplicaKeys, AReplicaThatReturnsWithAnotherNumberHasItsKeys) {
  Service service(4);
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 0; key < 400; ++key) {
    if (order_of(key, 4)[0] == 1) keys.push_back(key);
  }
  service.replicas.remove(1);
  service.replicas.remove(3);
  for (const std::uint64_t key : keys) EXPECT_NE(service.ask(key), 1U);
  ASSERT_EQ(service.replicas.try_add(name_of(3)), 1U);
  ASSERT_EQ(service.replicas.try_add(name_of(1)), 3U);
  for (const std::uint64_t key : keys) EXPECT_EQ(service.ask(key), 3U);
}

// Else a client with many of them lifts the bound that keeps one key from one replica.
TEST(ReplicaKeys, TunnelsDoNotRaiseTheBoundOfTheLoad) {
  Service service(5);
  std::vector<Replicas::Lease> leases;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    Replicas::Lease& lease = leases.emplace_back(service.replicas.pick({}, kStart, 0.5, key));
    service.replicas.set_held(lease, true, kStart);
  }
  std::array<int, 5> picked{};
  for (int i = 0; i < 100; ++i) {
    const Replicas::Lease& lease = leases.emplace_back(service.replicas.pick({}, kStart, 0.5, 7));
    ++picked.at(lease.replica());
  }
  EXPECT_EQ(picked.at(order_of(7, 5)[0]), 30);  // 1.5 times 20
  for (auto& lease : leases) service.replicas.settle(lease, Outcome::success, kStart, 0.5);
}

// (7): the worst case, one key for everybody.
TEST(ReplicaKeys, TheLoadOfOneKeyIsSpreadWhenItIsTooMuchForOneReplica) {
  Service service(5);
  std::vector<Replicas::Lease> leases;
  for (int i = 0; i < 100; ++i) leases.push_back(service.replicas.pick({}, kStart, 0.5, 7));
  const auto order = order_of(7, 5);
  EXPECT_EQ(service.replicas.outstanding(order[0]), 30U);  // 1.5 times 20
  EXPECT_EQ(service.replicas.outstanding(order[1]), 30U);
  EXPECT_EQ(service.replicas.outstanding(order[2]), 30U);
  EXPECT_EQ(service.replicas.outstanding(order[3]), 10U);
  EXPECT_EQ(service.replicas.outstanding(order[4]), 0U);
  for (auto& lease : leases) service.replicas.settle(lease, Outcome::success, kStart, 0.5);
}

// (7)
TEST(ReplicaKeys, NoReplicaIsOverItsBoundWhateverTheKeys) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    Service service(2 + random.bits() % 8);
    std::vector<Replicas::Lease> leases;
    const std::uint64_t most_keys = 1 + random.bits() % 5;
    std::int64_t in_flight = 0;
    for (int step = 0; step < 200; ++step) {
      if (random.draw() < 0.3 && !leases.empty()) {
        auto& any = leases[random.bits() % leases.size()];
        in_flight -= any ? 1 : 0;
        service.replicas.settle(any, Outcome::success, kStart, 0.5);
        continue;
      }
      const std::int64_t bound = load_bound(in_flight, service.replicas.count(), Percent(150));
      auto lease = service.replicas.pick({}, kStart, random.draw(), random.bits() % most_keys);
      ASSERT_TRUE(lease);
      ASSERT_LE(service.replicas.outstanding(lease.replica()), bound) << "seed " << seed;
      leases.push_back(lease);
      ++in_flight;
    }
    for (auto& lease : leases) service.replicas.settle(lease, Outcome::success, kStart, 0.5);
  }
}

TEST(ReplicaKeys, AnEjectedOneReturnsByProbesAndItsRamp) {
  Service service(3);
  std::uint64_t key = 0;
  while (order_of(key, 3)[0] != 0) ++key;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(service.ask(key, Outcome::unavailable), 0U);
  ASSERT_EQ(service.replicas.state(0, kStart), admit::BreakerState::open);
  EXPECT_EQ(service.ask(key), order_of(key, 3)[1]);
  service.now = kStart + seconds(1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(service.ask(key), 0U);  // Its probes.
  ASSERT_EQ(service.replicas.state(0, service.now), admit::BreakerState::closed);
  int first = 0;
  service.now += milliseconds(1);
  for (int i = 0; i < 1000; ++i) first += service.ask(key) == 0 ? 1 : 0;
  EXPECT_GT(first, 50);
  EXPECT_LT(first, 200);
  service.now += seconds(6);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(service.ask(key), 0U);
}

TEST(ReplicaKeys, InPanicTheOrderHoldsAndAReplicaThatAnswersIsLetIn) {
  Service service(3);
  for (std::uint64_t key = 0; key < 200; ++key) (void)service.ask(key, Outcome::transient);
  ASSERT_TRUE(service.replicas.panics());
  for (std::uint64_t key = 0; key < 20; ++key) {
    EXPECT_EQ(service.ask(key, Outcome::transient), order_of(key, 3)[0]);
  }
  std::uint64_t key = 0;
  while (order_of(key, 3)[0] != 2) ++key;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(service.ask(key), 2U);
  EXPECT_EQ(service.replicas.state(2, service.now), admit::BreakerState::closed);
}

TEST(ReplicaKeys, FactorsOutOfTheirBoundsAreRefused) {
  EXPECT_TRUE(find_error(ReplicaOptions{.hash_balance_factor = Percent(99)}));
  EXPECT_TRUE(find_error(ReplicaOptions{.hash_balance_factor = Percent(1001)}));
  EXPECT_TRUE(find_error(ReplicaOptions{.zone_overprovisioning = Percent(99)}));
  EXPECT_FALSE(find_error(ReplicaOptions{.hash_balance_factor = Percent(100)}));
}

}  // namespace
}  // namespace damper::balance
