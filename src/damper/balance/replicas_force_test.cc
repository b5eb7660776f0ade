#include <gtest/gtest.h>

#include "damper/balance/replicas.h"
#include "damper/base/random.h"

namespace damper::balance {
namespace {

// Replicas that an operator holds.

using admit::BreakerForce;
using decide::Outcome;
using std::chrono::seconds;

constexpr Instant kStart{seconds(1000)};
constexpr Instant kExpiry = kStart + seconds(60);
const admit::BreakerForceSetting kOpen{
    .force = BreakerForce::open, .length = seconds(60), .reason = "bad disk"};
const admit::BreakerForceSetting kClosed{
    .force = BreakerForce::closed, .length = seconds(60), .reason = "false alarm"};

TEST(ReplicasForce, TheOnlyOneIsNotPickedWhileItIsHeldOpen) {
  Replicas replicas(1, {});
  replicas.force(0, kOpen, kStart);
  EXPECT_FALSE(replicas.pick({}, kExpiry - Duration(1), 0.5));
  EXPECT_TRUE(replicas.pick({}, kExpiry, 0.5));
}

TEST(ReplicasForce, OneThatIsHeldOpenIsNotPickedInPanic) {
  Replicas replicas(3, {});
  replicas.force(0, kOpen, kStart);
  Random random(7);
  // The others fail until all are out.
  for (int i = 0; i < 200; ++i) {
    auto lease = replicas.pick({}, kStart, random.draw());
    ASSERT_TRUE(lease);
    ASSERT_NE(lease.replica(), 0U);
    replicas.settle(lease, Outcome::unavailable, kStart, random.draw());
  }
  EXPECT_TRUE(replicas.panics());
  replicas.force(1, kOpen, kStart);
  replicas.force(2, kOpen, kStart);
  EXPECT_FALSE(replicas.pick({}, kStart, 0.5));
}

TEST(ReplicasForce, AnswersInPanicDoNotReleaseOneThatIsHeldOpen) {
  Replicas replicas(2, {});
  Random random(7);
  for (int i = 0; i < 50; ++i) {
    auto lease = replicas.pick({}, kStart, random.draw());
    replicas.settle(lease, Outcome::unavailable, kStart, random.draw());
  }
  ASSERT_TRUE(replicas.panics());
  auto before = replicas.pick({}, kStart, 0.5);
  const std::size_t held = before.replica();
  replicas.force(held, kOpen, kStart);
  replicas.settle(before, Outcome::success, kStart, 0.5);
  for (int i = 0; i < 20; ++i) {
    auto lease = replicas.pick({}, kStart, random.draw());
    ASSERT_TRUE(lease);
    ASSERT_NE(lease.replica(), held);
    replicas.settle(lease, Outcome::success, kStart, random.draw());
  }
  EXPECT_EQ(replicas.state(held, kStart), admit::BreakerState::open);
}

TEST(ReplicasForce, OneThatIsHeldClosedIsNotEjected) {
  Replicas replicas(2, {});
  replicas.force(0, kClosed, kStart);
  ReplicaSet other;
  other.set(1);
  for (int i = 0; i < 20; ++i) {
    auto lease = replicas.pick(other, kStart, 0.5);
    ASSERT_EQ(lease.replica(), 0U);
    replicas.settle(lease, Outcome::unavailable, kStart, 0.5);
  }
  EXPECT_EQ(replicas.state(0, kStart), admit::BreakerState::closed);
  replicas.force(0, {}, kStart);  // Its failures are forgotten.
  auto lease = replicas.pick(other, kStart, 0.5);
  replicas.settle(lease, Outcome::unavailable, kStart, 0.5);
  EXPECT_EQ(replicas.state(0, kStart), admit::BreakerState::closed);
}

}  // namespace
}  // namespace damper::balance
