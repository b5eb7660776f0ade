#include "damper/balance/replicas.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "damper/base/random.h"

namespace damper::balance {
namespace {

using decide::Outcome;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart{seconds(1000)};

ReplicaSet excluding(std::initializer_list<std::size_t> replicas) {
  ReplicaSet set;
  for (const std::size_t replica : replicas) set.set(replica);
  return set;
}

// Fails so often that the replica is ejected.
void eject(Replicas& replicas, std::size_t victim, Instant now) {
  ReplicaSet others;
  for (std::size_t i = 0; i < replicas.size(); ++i) others.set(i, i != victim);
  for (int i = 0; i < 5; ++i) {
    auto lease = replicas.pick(others, now, 0.5);
    ASSERT_TRUE(lease);
    ASSERT_EQ(lease.replica(), victim);
    replicas.settle(lease, Outcome::unavailable, now, 0.5);
  }
  ASSERT_EQ(replicas.state(victim, now), admit::BreakerState::open);
}

TEST(Replicas, TrapH4_AnExcludedOneIsNeverPickedWhereThereIsAnother) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Replicas replicas(2 + random.bits() % 6, {});
    std::vector<Replicas::Lease> leases;
    Instant now = kStart;
    for (int step = 0; step < 60; ++step) {
      now += milliseconds(random.bits() % 50);
      ReplicaSet excluded;
      for (std::size_t i = 0; i < replicas.size(); ++i) excluded.set(i, random.draw() < 0.5);
      bool another = false;
      for (std::size_t i = 0; i < replicas.size(); ++i) {
        another |= !excluded[i] && replicas.state(i, now) == admit::BreakerState::closed;
      }
      auto lease = replicas.pick(excluded, now, random.draw());
      if (another) {
        ASSERT_TRUE(lease) << "seed " << seed;
        ASSERT_FALSE(excluded[lease.replica()]) << "seed " << seed << " step " << step;
      }
      leases.push_back(lease);
      if (random.draw() < 0.6) {
        auto& any = leases[random.bits() % leases.size()];
        replicas.settle(any, random.draw() < 0.1 ? Outcome::transient : Outcome::success, now,
                        random.draw());
      }
    }
    for (auto& lease : leases) replicas.settle(lease, Outcome::cancelled, now, 0);
    for (std::size_t i = 0; i < replicas.size(); ++i) EXPECT_EQ(replicas.outstanding(i), 0U);
  }
}

TEST(Replicas, TrapH4_OneMoreAttemptGoesToWhomIsNotBeingAskedHoweverBusy) {
  Replicas replicas(3, {});
  eject(replicas, 2, kStart);
  std::vector<Replicas::Lease> busy;
  for (int i = 0; i < 5; ++i) busy.push_back(replicas.pick(excluding({1}), kStart, 0.1));
  Random random(7);
  for (int i = 0; i < 100; ++i) {
    ReplicaSet tried = excluding({0});
    auto second = replicas.pick_next(tried, {}, kStart, random.draw());
    ASSERT_EQ(second.replica(), 1U);
    EXPECT_EQ(tried, excluding({1}));  // All that may be asked have been: it begins anew.
    auto hedge = replicas.pick_next(tried, excluding({1}), kStart, random.draw());
    ASSERT_EQ(hedge.replica(), 0U);
    EXPECT_EQ(tried, excluding({0, 1}));
    replicas.settle(hedge, Outcome::cancelled, kStart, 0);
    auto third = replicas.pick_next(tried, excluding({1}), kStart, random.draw());
    ASSERT_EQ(third.replica(), 0U);
    auto last = replicas.pick_next(tried, excluding({0, 1}), kStart, random.draw());
    EXPECT_TRUE(last);  // Rather twice than not at all.
    for (auto* lease : {&second, &third, &last}) {
      replicas.settle(*lease, Outcome::cancelled, kStart, 0);
    }
  }
  for (auto& lease : busy) replicas.settle(lease, Outcome::cancelled, kStart, 0);
}

TEST(Replicas, TheTwoThatAreComparedAreDifferent) {
  Replicas replicas(3, {});
  std::vector<Replicas::Lease> busy;
  for (int i = 0; i < 5; ++i) busy.push_back(replicas.pick(excluding({1, 2}), kStart, 0.1));
  Random random(7);
  for (int i = 0; i < 1000; ++i) {  // Were it compared with itself, the busy one could win.
    auto lease = replicas.pick({}, kStart, random.draw());
    ASSERT_NE(lease.replica(), 0U);
    replicas.settle(lease, Outcome::success, kStart, 0);
  }
}

TEST(Replicas, TheLessLoadedOfTwoIsPicked) {
  Replicas replicas(2, {});
  auto first = replicas.pick({}, kStart, 0.3);
  auto second = replicas.pick({}, kStart, 0.3);
  EXPECT_NE(first.replica(), second.replica());
  EXPECT_EQ(replicas.outstanding(0), 1U);
  EXPECT_EQ(replicas.outstanding(1), 1U);
}

TEST(Replicas, EqualsShareTheLoad) {
  Replicas replicas(5, {});
  std::array<int, 5> picks{};
  Random random(3);
  Instant now = kStart;
  for (int i = 0; i < 10'000; ++i) {
    auto lease = replicas.pick({}, now, random.draw());
    ++picks[lease.replica()];
    now += milliseconds(10);
    replicas.settle(lease, Outcome::success, now, random.draw());
  }
  for (const int count : picks) {
    EXPECT_GT(count, 1800);
    EXPECT_LT(count, 2200);
  }
}

TEST(Replicas, ASlowOneGetsLessAndIsTriedAgain) {
  Replicas replicas(3, {});
  std::array<int, 3> picks{};
  Random random(3);
  Instant now = kStart;
  for (int i = 0; i < 10'000; ++i) {
    auto lease = replicas.pick({}, now, random.draw());
    ++picks[lease.replica()];
    now += milliseconds(lease.replica() == 1 ? 100 : 10);
    replicas.settle(lease, Outcome::success, now, random.draw());
  }
  EXPECT_LT(picks[1], picks[0] / 4);
  EXPECT_GT(picks[1], 5);  // Its latency fades: it is not forgotten for ever.
}

TEST(Replicas, AnEjectedOneIsNotPickedAndReturnsByProbesAndTheRamp) {
  Replicas replicas(2, {});
  eject(replicas, 1, kStart);
  for (int i = 0; i < 20; ++i) {
    auto lease = replicas.pick({}, kStart, i / 20.0);
    ASSERT_EQ(lease.replica(), 0U);
    replicas.settle(lease, Outcome::success, kStart, 0);
  }
  // Half-open: one probe at a time at first, though it is the one that is not excluded.
  Instant now = kStart + seconds(1);
  auto probe = replicas.pick(excluding({0}), now, 0.9);
  ASSERT_EQ(probe.replica(), 1U);
  auto beside = replicas.pick(excluding({0}), now, 0.9);
  EXPECT_EQ(beside.replica(), 0U);
  replicas.settle(beside, Outcome::success, now, 0);
  replicas.settle(probe, Outcome::success, now, 0);
  for (int i = 0; i < 2; ++i) {
    auto more = replicas.pick(excluding({0}), now, 0.9);
    ASSERT_EQ(more.replica(), 1U);
    replicas.settle(more, Outcome::success, now, 0);
  }
  EXPECT_EQ(replicas.state(1, now), admit::BreakerState::closed);
  // The ramp: about a tenth of the picks at first, all of them after it.
  Random random(5);
  const auto share = [&](Instant at) {
    int picked = 0;
    for (int i = 0; i < 1000; ++i) {
      auto lease = replicas.pick(excluding({0}), at, random.draw());
      picked += lease.replica() == 1 ? 1 : 0;
      replicas.settle(lease, Outcome::cancelled, at, 0);
    }
    return picked;
  };
  const int early = share(now + milliseconds(1));
  EXPECT_GT(early, 50);
  EXPECT_LT(early, 200);
  EXPECT_EQ(share(now + seconds(6)), 1000);
}

TEST(Replicas, WhenAllAreEjectedAllArePicked) {
  Replicas replicas(2, {});
  eject(replicas, 0, kStart);
  eject(replicas, 1, kStart);
  auto first = replicas.pick({}, kStart, 0.5);
  auto second = replicas.pick({}, kStart, 0.5);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first.replica(), second.replica());
  EXPECT_FALSE(Replicas(0, {}).pick({}, kStart, 0.5));
}

TEST(Replicas, AnExcludedOneIsBetterThanAnEjectedOne) {
  Replicas replicas(2, {});
  eject(replicas, 1, kStart);
  auto lease = replicas.pick(excluding({0}), kStart, 0.5);
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease.replica(), 0U);
}

TEST(Replicas, ASingleOneIsAlwaysPicked) {
  Replicas replicas(1, {});
  for (int i = 0; i < 100; ++i) {
    auto lease = replicas.pick(excluding({0}), kStart, 0.5);
    ASSERT_TRUE(lease);
    replicas.settle(lease, Outcome::unavailable, kStart, 0.5);
  }
}

TEST(Replicas, ALeaseIsSettledOnce) {
  Replicas replicas(2, {});
  auto lease = replicas.pick({}, kStart, 0);
  const std::size_t replica = lease.replica();
  replicas.settle(lease, Outcome::success, kStart + milliseconds(8), 0);
  EXPECT_FALSE(lease);
  replicas.settle(lease, Outcome::transient, kStart + milliseconds(80), 0);
  EXPECT_EQ(replicas.outstanding(replica), 0U);
  EXPECT_EQ(replicas.latency(replica, kStart + milliseconds(8)), milliseconds(8));
}

TEST(Replicas, ALatencyFadesAndALoserShowsHowSlowItIs) {
  Replicas replicas(2, {.latency_half_life = seconds(1)});
  const auto once = [&](Outcome outcome, Instant at, Duration took) {
    auto lease = replicas.pick(excluding({1}), at, 0);
    replicas.settle(lease, outcome, at + took, 0);
  };
  once(Outcome::success, kStart, milliseconds(16));
  EXPECT_EQ(replicas.latency(0, kStart + milliseconds(16)), milliseconds(16));
  EXPECT_EQ(replicas.latency(0, kStart + milliseconds(1016)), milliseconds(8));
  once(Outcome::cancelled, kStart, milliseconds(1));  // Lost early: says nothing.
  EXPECT_EQ(replicas.latency(0, kStart + milliseconds(16)), milliseconds(16));
  once(Outcome::cancelled, kStart, milliseconds(96));  // Lost late: it is at least so slow.
  EXPECT_EQ(replicas.latency(0, kStart + milliseconds(96)), milliseconds(26));
}

TEST(Replicas, OneThatFailsAtOnceDoesNotDrawTheLoad) {
  Replicas replicas(2, {});
  Random random(1);
  Instant now = kStart;
  int failed = 0;
  for (int i = 0; i < 100; ++i) {  // The broken one needs a tenth of the other's time.
    auto lease = replicas.pick({}, now, random.draw());
    const bool broken = lease.replica() == 0;
    failed += broken ? 1 : 0;
    now += milliseconds(broken ? 1 : 10);
    replicas.settle(lease, broken ? Outcome::transient : Outcome::success, now, random.draw());
  }
  EXPECT_LE(failed, 3);
}

TEST(Replicas, BadOptionsAreSaid) {
  EXPECT_FALSE(find_error(ReplicaOptions{}));
  EXPECT_TRUE(find_error(ReplicaOptions{.latency_half_life = Duration{0}}));
  ReplicaOptions options;
  options.breaker.probes = 0;
  EXPECT_TRUE(find_error(options));
}

}  // namespace
}  // namespace damper::balance
