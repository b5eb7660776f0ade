#include <gtest/gtest.h>

#include <vector>

#include "damper/http/client/replicas.h"

namespace damper::http {
namespace {

using decide::Outcome;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Lease = Replicas::Lease;

constexpr Instant kStart{seconds(1000)};
constexpr Duration kUsual = milliseconds(20);

// Two replicas that have answered in kUsual so far.
class ReplicaSlowness : public testing::Test {
 protected:
  ReplicaSlowness() {
    for (const std::size_t one : {0U, 1U}) answer(one, kStart - kUsual);
  }
  [[nodiscard]] Lease ask(std::size_t one, Instant now) {
    ReplicaSet other;
    other.set(1 - one);
    return replicas.pick(other, now, 0);
  }
  void answer(std::size_t one, Instant now) {
    Lease lease = ask(one, now);
    replicas.settle(lease, Outcome::success, now + kUsual, 0);
  }
  // Attempts on `one` that stay under way.
  void keep(std::size_t one, int count, Instant now) {
    for (int i = 0; i < count; ++i) (void)ask(one, now);
  }
  // Whether a new attempt goes to `one`, whichever of the two is drawn first.
  [[nodiscard]] bool goes_to(std::size_t one, Instant now) {
    bool all = true;
    for (const double draw : {0.1, 0.9}) {
      Lease lease = replicas.pick({}, now, draw);
      all = all && lease.replica() == one;
      replicas.settle(lease, Outcome::cancelled, now, 0);
    }
    return all;
  }

  Replicas replicas{2, {}};
};

TEST_F(ReplicaSlowness, OneThatDoesNotAnswerLosesItsShareBeforeItsFirstAnswer) {
  keep(0, 1, kStart);
  keep(1, 3, kStart + milliseconds(30));
  EXPECT_TRUE(goes_to(0, kStart + milliseconds(35)));  // Not yet over twice the usual time.
  answer(1, kStart + milliseconds(80));
  EXPECT_TRUE(goes_to(1, kStart + milliseconds(100)));  // 2 attempts count 5 times, 4 once.
  keep(1, 7, kStart + milliseconds(100));
  EXPECT_TRUE(goes_to(0, kStart + milliseconds(100)));  // 2 attempts count 5 times, 11 once.
}

TEST_F(ReplicaSlowness, AttemptsThatAreCancelledWithoutAnAnswerAddUp) {
  Instant now = kStart;
  for (int i = 0; i < 4; ++i, now += milliseconds(25)) {  // Hedges won elsewhere.
    Lease lost = ask(0, now);
    replicas.settle(lost, Outcome::cancelled, now + milliseconds(25), 0);
  }
  keep(1, 3, now);
  EXPECT_TRUE(goes_to(1, now));  // 1 attempt counts 5 times, 4 once.
  answer(0, now);
  EXPECT_TRUE(goes_to(0, now + kUsual));
}

TEST_F(ReplicaSlowness, ItFadesSoThatASlowReplicaIsTriedAgain) {
  Lease lost = ask(0, kStart);
  replicas.settle(lost, Outcome::cancelled, kStart + milliseconds(100), 0);
  const Instant later = kStart + milliseconds(100) + seconds(15);  // three half-lives
  answer(1, later - kUsual);
  keep(1, 1, later);
  EXPECT_TRUE(goes_to(0, later));
}

TEST_F(ReplicaSlowness, AnAnswerThatIsReadForAnHourIsAnAnswer) {
  Lease stream = ask(0, kStart);
  replicas.on_head(stream, kStart + kUsual);
  const Instant later = kStart + hours(1);
  answer(1, later - kUsual);
  keep(1, 2, later);
  EXPECT_TRUE(goes_to(0, later));
  replicas.settle(stream, Outcome::cancelled, later, 0);
  EXPECT_TRUE(goes_to(0, later));
}

TEST_F(ReplicaSlowness, AnAttemptCountsForEightAtMost) {
  keep(0, 1, kStart);
  const Instant later = kStart + seconds(4);
  answer(1, later - kUsual);
  keep(1, 14, later);
  EXPECT_TRUE(goes_to(1, later));  // 2 attempts count 8 times, 15 once.
  keep(1, 2, later);
  EXPECT_TRUE(goes_to(0, later));
}

TEST_F(ReplicaSlowness, AFewMillisecondsMoreAreNotSlow) {
  Replicas quick(2, {});
  for (const std::size_t one : {0U, 1U}) {
    ReplicaSet other;
    other.set(1 - one);
    Lease lease = quick.pick(other, kStart - milliseconds(1), 0);
    quick.settle(lease, Outcome::success, kStart, 0);
  }
  (void)quick.pick(ReplicaSet(0b10), kStart, 0);
  for (int i = 0; i < 2; ++i) (void)quick.pick(ReplicaSet(0b01), kStart + milliseconds(9), 0);
  // Nine times as long, but not the floor of 10 ms longer.
  EXPECT_EQ(quick.pick({}, kStart + milliseconds(9), 0).replica(), 0U);
}

TEST_F(ReplicaSlowness, OneThatIsNewIsNotCompared) {
  ASSERT_EQ(replicas.try_add(), 2U);
  (void)replicas.pick(ReplicaSet(0b011), kStart, 0);
  const Instant later = kStart + seconds(1);
  for (const std::size_t one : {0U, 1U}) {
    ReplicaSet others;
    others.set().reset(one);
    for (int i = 0; i < 3; ++i) (void)replicas.pick(others, later, 0);
  }
  EXPECT_EQ(replicas.pick(ReplicaSet(0b001), later, 0.1).replica(), 2U);
}

}  // namespace
}  // namespace damper::http
