#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "damper/balance/replicas.h"
#include "damper/base/random.h"

namespace damper::balance {
namespace {

using admit::BreakerState;
using decide::Outcome;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart{seconds(1000)};

ReplicaSet all_but(const Replicas& replicas, std::size_t one) {
  ReplicaSet set;
  for (std::size_t i = 0; i < replicas.size(); ++i) set.set(i, i != one);
  return set;
}

// An answer of one replica, if it may be asked.
bool answer(Replicas& replicas, std::size_t replica, Duration latency, Instant now,
            double draw = 0.5) {
  auto lease = replicas.pick(all_but(replicas, replica), now, draw);
  if (!lease) return false;
  const bool asked = lease.replica() == replica;
  replicas.settle(lease, asked ? Outcome::success : Outcome::cancelled,
                  now + (asked ? latency : Duration{0}), draw);
  return asked;
}

// Each replica answers so often, with these latencies.
void answer_all(Replicas& replicas, const std::vector<Duration>& latencies, int times,
                Instant now = kStart) {
  for (int i = 0; i < times; ++i) {
    for (std::size_t one = 0; one < latencies.size(); ++one) {
      answer(replicas, one, latencies[one], now);
    }
  }
}

TEST(ReplicaLatency, OneThatIsSlowBesideTheOthersIsEjected) {
  Replicas replicas(4, {});
  answer_all(replicas, {milliseconds(4), milliseconds(5), milliseconds(6), milliseconds(5)}, 40);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(replicas.state(i, kStart), BreakerState::closed);
  answer_all(replicas, {milliseconds(4), milliseconds(5), milliseconds(100), milliseconds(5)}, 40);
  const Instant later = kStart + milliseconds(100);
  EXPECT_EQ(replicas.state(2, later), BreakerState::open);
  EXPECT_EQ(replicas.state(0, later), BreakerState::closed);
  EXPECT_EQ(replicas.state(1, later), BreakerState::closed);
  EXPECT_EQ(replicas.state(3, later), BreakerState::closed);
}

TEST(ReplicaLatency, AFewLateAnswersAreNoVerdict) {
  Replicas replicas(3, {});
  answer_all(replicas, {milliseconds(1), milliseconds(1), milliseconds(1)}, 40);
  answer(replicas, 1, seconds(30), kStart);
  answer(replicas, 1, seconds(30), kStart);
  answer_all(replicas, {milliseconds(1), milliseconds(1), milliseconds(1)}, 10);
  EXPECT_EQ(replicas.state(1, kStart + seconds(30)), BreakerState::closed);
}

TEST(ReplicaLatency, TheFactorAndTheFloorBothCount) {
  Replicas replicas(3, {});  // 5 times, and 10 ms over it.
  answer_all(replicas, {milliseconds(1), milliseconds(1), milliseconds(11)}, 200);
  EXPECT_EQ(replicas.state(2, kStart), BreakerState::closed);  // 11 times, but 10 ms over.
  Replicas slow(3, {});
  answer_all(slow, {milliseconds(100), milliseconds(100), milliseconds(480)}, 200);
  EXPECT_EQ(slow.state(2, kStart), BreakerState::closed);  // 380 ms over, but 4.8 times.
  answer_all(slow, {milliseconds(100), milliseconds(100), milliseconds(600)}, 60);
  EXPECT_EQ(slow.state(2, kStart + milliseconds(600)), BreakerState::open);
}

TEST(ReplicaLatency, FewAnswersOrTheSwitchedOffFactorEjectNobody) {
  Replicas few(2, {.latency_samples = 50});
  answer_all(few, {milliseconds(1), seconds(1)}, 49);
  EXPECT_EQ(few.state(1, kStart + seconds(1)), BreakerState::closed);
  Replicas off(2, {.latency_factor = 0});
  answer_all(off, {milliseconds(1), seconds(1)}, 200);
  EXPECT_EQ(off.state(1, kStart + seconds(1)), BreakerState::closed);
}

TEST(ReplicaLatency, Invariant4_NoMoreThanTheShareIsOut) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const std::size_t count = 2 + random.bits() % 7;
    const auto percent = static_cast<std::int32_t>(random.bits() % 101);
    Replicas replicas(count, {.max_ejection_percent = Percent(percent)});
    Instant now = kStart;
    for (int step = 0; step < 400; ++step) {
      now += milliseconds(1);
      auto lease = replicas.pick({}, now, random.draw());
      if (!lease) continue;
      const bool slow = lease.replica() % 2 == 0;
      replicas.settle(lease, Outcome::success, now + milliseconds(slow ? 300 : 2), random.draw());
      std::size_t out = 0;
      for (std::size_t i = 0; i < count; ++i) {
        out += replicas.state(i, now) == BreakerState::closed ? 0U : 1U;
      }
      ASSERT_LE(out * 100, count * static_cast<std::size_t>(percent)) << "seed " << seed;
      ASSERT_LT(out, count);
    }
  }
}

TEST(ReplicaLatency, AProbeThatIsStillSlowOpensItAgainAndAFastOneBringsItBack) {
  Replicas replicas(3, {});
  const std::vector<Duration> slow{milliseconds(2), milliseconds(2), milliseconds(200)};
  answer_all(replicas, slow, 40);
  Instant now = kStart + milliseconds(200);
  ASSERT_EQ(replicas.state(2, now), BreakerState::open);
  now += seconds(1);
  ASSERT_TRUE(answer(replicas, 2, milliseconds(200), now));
  now += milliseconds(200);
  EXPECT_EQ(replicas.state(2, now), BreakerState::open);
  now += milliseconds(900);  // It grows: at least a second this time.
  EXPECT_EQ(replicas.state(2, now), BreakerState::open);
  now += milliseconds(1200);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(answer(replicas, 2, milliseconds(2), now));
  EXPECT_EQ(replicas.state(2, now + milliseconds(2)), BreakerState::closed);
  // It has a new start, and the ramp: its old average does not count against it.
  now += seconds(10);
  answer_all(replicas, {milliseconds(2), milliseconds(2), milliseconds(2)}, 40, now);
  EXPECT_EQ(replicas.state(2, now), BreakerState::closed);
}

TEST(ReplicaLatency, TheHeadIsWhatCountsNotTheBody) {
  Replicas replicas(2, {});
  for (int i = 0; i < 100; ++i) {
    auto lease = replicas.pick(all_but(replicas, 1), kStart, 0.5);
    replicas.on_head(lease, kStart + milliseconds(3));
    replicas.on_head(lease, kStart + milliseconds(9));  // The first one is it.
    replicas.settle(lease, Outcome::success, kStart + seconds(20), 0.5);
    answer(replicas, 0, milliseconds(3), kStart);
  }
  EXPECT_EQ(replicas.state(1, kStart), BreakerState::closed);
  EXPECT_EQ(replicas.latency(1, kStart), milliseconds(3));
}

TEST(ReplicaLatency, AReplicaMayComeAndGo) {
  Replicas replicas(0, {});
  EXPECT_FALSE(replicas.pick({}, kStart, 0.5));
  ASSERT_EQ(replicas.try_add(), 0U);
  auto alone = replicas.pick({}, kStart, 0.5);  // The only one: no breaker is asked.
  ASSERT_TRUE(alone);
  ASSERT_EQ(replicas.try_add(), 1U);
  replicas.remove(0);
  EXPECT_EQ(replicas.count(), 1U);
  for (int i = 0; i < 20; ++i) {
    auto lease = replicas.pick({}, kStart, i / 20.0);
    ASSERT_EQ(lease.replica(), 1U);
    replicas.settle(lease, Outcome::success, kStart, 0.5);
  }
  EXPECT_EQ(replicas.try_add(), 2U);  // 0 has a lease out.
  replicas.settle(alone, Outcome::transient, kStart, 0.5);
  EXPECT_FALSE(alone);
  EXPECT_EQ(replicas.try_add(), 0U);
  EXPECT_EQ(replicas.state(0, kStart), BreakerState::closed);
  EXPECT_EQ(replicas.latency(0, kStart), Duration{0});
  std::size_t added = 0;
  while (replicas.try_add()) ++added;
  EXPECT_EQ(added, kMostReplicas - 3);
}

TEST(ReplicaLatency, AReloadKeepsBreakersAndLatencies) {
  Replicas replicas(2, {});
  answer_all(replicas, {milliseconds(2), milliseconds(200)}, 40);
  const Instant now = kStart + milliseconds(200);
  ASSERT_EQ(replicas.state(1, now), BreakerState::open);
  replicas.reload({.latency_factor = 10}, now);
  EXPECT_EQ(replicas.state(1, now), BreakerState::open);
  EXPECT_EQ(replicas.latency(0, kStart + milliseconds(2)), milliseconds(2));
}

TEST(ReplicaLatency, BadOptionsAreSaid) {
  EXPECT_EQ(find_error(ReplicaOptions{.latency_factor = 1}),
            "latency_factor is 1; it must be from 1.5 to 100");
  EXPECT_TRUE(find_error(ReplicaOptions{.latency_floor = Duration{0}}));
  EXPECT_TRUE(find_error(ReplicaOptions{.latency_samples = 0}));
  EXPECT_TRUE(find_error(ReplicaOptions{.max_ejection_percent = Percent(101)}));
}

}  // namespace
}  // namespace damper::balance
