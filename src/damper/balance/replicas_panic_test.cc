// When every replica is ejected, ejection is of no use.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "damper/balance/replicas.h"
#include "damper/base/random.h"

namespace damper::balance {
namespace {

using decide::Outcome;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart{seconds(1000)};

// Callers that ask every 5 ms, and replicas of which those in `down` fail.
struct Traffic {
  explicit Traffic(std::size_t count, std::uint64_t seed = 1)
      : replicas(count, {}), picks(count), random(seed) {}

  // How many attempts failed.
  int go_on(Duration length, const ReplicaSet& down) {
    std::fill(picks.begin(), picks.end(), 0);
    refused = 0;
    int failed = 0;
    for (const Instant end = now + length; now < end; now += milliseconds(5)) {
      auto lease = replicas.pick({}, now, random.draw());
      if (!lease) {
        ++refused;
        continue;
      }
      ++picks[lease.replica()];
      const bool fails = down[lease.replica()];
      failed += fails ? 1 : 0;
      replicas.settle(lease, fails ? Outcome::unavailable : Outcome::success, now + milliseconds(1),
                      random.draw());
    }
    return failed;
  }

  Replicas replicas;
  std::vector<int> picks;  // of the last go_on()
  int refused = 0;
  Instant now = kStart;
  Random random;
};

TEST(ReplicasPanic, AfterAnOutageOfAllTheLoadIsOnAllOfThemWithinASecond) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Traffic traffic(3, seed);
    EXPECT_EQ(traffic.go_on(seconds(2), {}), 0);
    traffic.go_on(seconds(10), ReplicaSet(0b111));
    EXPECT_TRUE(traffic.replicas.panics());
    EXPECT_EQ(traffic.refused, 0);
    EXPECT_EQ(traffic.go_on(milliseconds(500), {}), 0);  // Nothing was waited for.
    EXPECT_EQ(traffic.refused, 0);
    traffic.go_on(seconds(1), {});  // 200 of them
    EXPECT_EQ(traffic.refused, 0);
    EXPECT_FALSE(traffic.replicas.panics());
    for (const int picks : traffic.picks) {
      EXPECT_GT(picks, 40) << "seed " << seed;
      EXPECT_LT(picks, 95) << "seed " << seed;
    }
  }
}

TEST(ReplicasPanic, AnOutageOfAllDoesNotMakeOpenTimesGrow) {
  Traffic traffic(2);
  traffic.go_on(seconds(60), ReplicaSet(0b11));
  // All open times are long over: had there been probes, they would be up to 30 s long by now.
  EXPECT_EQ(traffic.replicas.state(0, traffic.now), admit::BreakerState::half_open);
  EXPECT_EQ(traffic.replicas.state(1, traffic.now), admit::BreakerState::half_open);
}

TEST(ReplicasPanic, OneBadReplicaOfThreeIsEjectedAndSoAreTwo) {
  Traffic traffic(3);
  traffic.go_on(seconds(2), {});
  EXPECT_LT(traffic.go_on(seconds(10), ReplicaSet(0b001)), 15);  // of 2000
  EXPECT_FALSE(traffic.replicas.panics());
  EXPECT_LT(traffic.go_on(seconds(10), ReplicaSet(0b011)), 25);
  EXPECT_FALSE(traffic.replicas.panics());
  EXPECT_EQ(traffic.refused, 0);
}

TEST(ReplicasPanic, TheOnesThatStayDownAreLeftASecondAfterTheFirstIsBack) {
  Traffic traffic(3);
  traffic.go_on(seconds(10), ReplicaSet(0b111));
  traffic.go_on(milliseconds(1500), ReplicaSet(0b110));
  EXPECT_FALSE(traffic.replicas.panics());
  EXPECT_LT(traffic.go_on(seconds(10), ReplicaSet(0b110)), 25);
  EXPECT_EQ(traffic.refused, 0);
}

TEST(ReplicasPanic, WhoFailsNowAndThenIsLetInForAnswersInARowAlone) {
  Replicas replicas(2, {});
  Instant now = kStart;
  const auto ask = [&](std::size_t replica, Outcome outcome) {
    ReplicaSet other;
    other.set(1 - replica);
    auto lease = replicas.pick(other, now, 0.5);
    ASSERT_EQ(lease.replica(), replica);
    replicas.settle(lease, outcome, now, 0.5);
  };
  for (int i = 0; i < 5; ++i) ask(0, Outcome::unavailable);
  for (int i = 0; i < 5; ++i) ask(1, Outcome::unavailable);
  for (const Outcome outcome : {Outcome::success, Outcome::success, Outcome::transient,
                                Outcome::success, Outcome::success, Outcome::cancelled}) {
    ask(0, outcome);
    EXPECT_EQ(replicas.state(0, now), admit::BreakerState::open);
  }
  ask(0, Outcome::success);
  EXPECT_EQ(replicas.state(0, now), admit::BreakerState::closed);
  EXPECT_EQ(replicas.state(1, now), admit::BreakerState::open);
}

TEST(ReplicasPanic, ARampHoldsBackOnlyWhatAnotherTakes) {
  Traffic traffic(2);
  traffic.go_on(seconds(1), {});
  traffic.go_on(seconds(3), ReplicaSet(0b01));
  while (traffic.replicas.state(0, traffic.now) != admit::BreakerState::closed) {
    traffic.go_on(milliseconds(5), {});  // It returns, and is on its ramp ...
    ASSERT_LT(traffic.now, kStart + seconds(60));
  }
  traffic.go_on(seconds(1), ReplicaSet(0b10));  // ... when the other one goes.
  EXPECT_EQ(traffic.refused, 0);
  EXPECT_GT(traffic.picks[0], 150);
}

// ---- Active checks ---------------------------------------------------------------------------

TEST(ReplicaChecks, AnUnhealthyReplicaIsNotAskedAndReturnsAsFromAnEjection) {
  Traffic traffic(4);
  traffic.replicas.set_healthy(0, false, traffic.now);
  EXPECT_EQ(traffic.go_on(seconds(2), {}), 0);
  EXPECT_EQ(traffic.picks[0], 0);
  EXPECT_EQ(traffic.replicas.state(0, traffic.now), admit::BreakerState::closed);  // (6)
  traffic.replicas.set_healthy(0, true, traffic.now);
  EXPECT_EQ(traffic.replicas.state(0, traffic.now), admit::BreakerState::half_open);
  (void)traffic.go_on(seconds(1), {});
  EXPECT_GT(traffic.picks[0], 0);
  EXPECT_LT(traffic.picks[0], traffic.picks[1]);  // Its ramp.
  (void)traffic.go_on(seconds(60), {});
  EXPECT_EQ(traffic.replicas.state(0, traffic.now), admit::BreakerState::closed);
}

TEST(ReplicaChecks, VerdictsAreIgnoredWhenTooFewAreHealthy) {
  Traffic traffic(4);
  for (std::size_t i = 0; i < 2; ++i) traffic.replicas.set_healthy(i, false, traffic.now);
  (void)traffic.go_on(seconds(1), {});
  EXPECT_EQ(traffic.picks[0] + traffic.picks[1], 0);  // Half of them: the threshold.
  traffic.replicas.set_healthy(2, false, traffic.now);
  (void)traffic.go_on(seconds(2), {});
  EXPECT_GT(*std::min_element(traffic.picks.begin(), traffic.picks.end()), 0);
  EXPECT_FALSE(traffic.replicas.panics());
}

TEST(ReplicaChecks, WithAllUnhealthyEveryPickIsThatOfReplicasWithoutChecks) {
  Traffic control(4);
  Traffic checked(4);
  for (std::size_t i = 0; i < 4; ++i) checked.replicas.set_healthy(i, false, checked.now);
  ReplicaSet down;
  down.set(1);
  EXPECT_EQ(checked.go_on(seconds(30), down), control.go_on(seconds(30), down));
  EXPECT_EQ(checked.picks, control.picks);  // The one that fails is ejected as ever.
  EXPECT_FALSE(checked.replicas.panics());
}

TEST(ReplicaChecks, TheOnlyReplicaAndOneThatIsHeldClosedAreAsked) {
  Replicas only(1, {});
  only.set_healthy(0, false, kStart);
  EXPECT_TRUE(only.pick({}, kStart, 0.5));
  Replicas two(2, {});
  two.set_healthy(0, false, kStart);
  EXPECT_EQ(two.pick({}, kStart, 0.1).replica(), 1U);
  two.force(0, {.force = admit::BreakerForce::closed, .length = seconds(10)}, kStart);
  ReplicaSet but_first;
  but_first.set(1);
  EXPECT_EQ(two.pick(but_first, kStart, 0.1).replica(), 0U);
  EXPECT_EQ(two.pick(but_first, kStart + seconds(10), 0.1).replica(), 1U);
}

}  // namespace
}  // namespace damper::balance
