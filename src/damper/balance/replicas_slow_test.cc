#include <gtest/gtest.h>

#include <vector>

#include "damper/balance/replicas.h"

namespace damper::balance {
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

// Uploads that stall make every replica silent, so that one that never answers is not found.
TEST_F(ReplicaSlowness, AnAttemptThatWaitsForItsClientIsNoSilenceAndNoLoad) {
  std::vector<Lease> uploads;
  for (int i = 0; i < 50; ++i) {
    Lease& lease = uploads.emplace_back(ask(0, kStart));
    replicas.on_upload_awaited(lease, kStart);
  }
  keep(1, 1, kStart);
  EXPECT_TRUE(goes_to(0, kStart + milliseconds(1)));    // No load ...
  EXPECT_TRUE(goes_to(0, kStart + milliseconds(500)));  // ... nor silent, as the other one is.
  for (Lease& lease : uploads) replicas.on_upload_over(lease, kStart + milliseconds(500));
  EXPECT_TRUE(goes_to(1, kStart + milliseconds(500)));
  for (Lease& lease : uploads) replicas.settle(lease, Outcome::cancelled, kStart + seconds(1), 0);
  EXPECT_EQ(replicas.outstanding(0), 0U);
}

TEST_F(ReplicaSlowness, TunnelsAreSpreadButAreNoLoad) {
  std::vector<Lease> tunnels;
  const auto open_tunnel = [&](Lease lease) {
    replicas.on_head(lease, kStart + kUsual);
    replicas.set_held(lease, true, kStart + kUsual);
    tunnels.push_back(lease);
  };
  for (int i = 0; i < 10; ++i) open_tunnel(ask(0, kStart));
  const Instant now = kStart + seconds(1);
  EXPECT_TRUE(goes_to(1, now));  // With the same load the one with fewer of them.
  keep(1, 1, now);
  EXPECT_TRUE(goes_to(0, now));
  for (Lease& lease : tunnels) replicas.settle(lease, Outcome::success, now, 0);
  EXPECT_EQ(replicas.outstanding(0), 0U);
}

TEST_F(ReplicaSlowness, AFasterReplicaDoesNotGetAllTunnels) {
  Instant now = kStart;
  for (int i = 0; i < 50; ++i, now += milliseconds(1)) {  // Three times as fast.
    Lease lease = ask(0, now);
    replicas.settle(lease, Outcome::success, now + kUsual / 3, 0);
  }
  ASSERT_TRUE(goes_to(0, now));
  std::vector<Lease> tunnels;
  for (int i = 0; i < 1000; ++i) {
    Lease& tunnel = tunnels.emplace_back(replicas.pick({}, now, i % 2 == 0 ? 0.1 : 0.9));
    replicas.on_head(tunnel, now);
    replicas.set_held(tunnel, true, now);
  }
  EXPECT_GT(replicas.outstanding(1), 200U);
  for (Lease& tunnel : tunnels) replicas.settle(tunnel, Outcome::success, now, 0);
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

TEST_F(ReplicaSlowness, ARequestThatIsNotAnsweredIsNotTheReplicasSilence) {
  keep(0, 1, kStart);  // An upload, a long poll or a stream, which lasts.
  answer(0, kStart + milliseconds(10));
  const Instant later = kStart + seconds(2);
  answer(1, later - kUsual);
  keep(1, 2, later);
  EXPECT_TRUE(goes_to(0, later));
}

TEST_F(ReplicaSlowness, OneWithARequestThatIsNeverAnsweredIsTriedAgainWithinSeconds) {
  keep(0, 1, kStart);
  const Instant later = kStart + seconds(15);  // three half-lives of 8 times the usual time
  answer(1, later - kUsual);
  keep(1, 2, later);
  Lease trial = replicas.pick({}, later, 0.1);
  EXPECT_EQ(trial.replica(), 0U);
  EXPECT_TRUE(goes_to(1, later));  // One trial at a time.
  replicas.settle(trial, Outcome::success, later + kUsual, 0);
  EXPECT_TRUE(goes_to(0, later + kUsual));
}

TEST_F(ReplicaSlowness, AFailureDoesNotBringBackAMeanThatHasFaded) {
  Lease slow = ask(0, kStart);
  replicas.settle(slow, Outcome::success, kStart + seconds(3), 0);  // The mean is 42.5 ms now.
  const Instant later = kStart + seconds(3) + seconds(10);
  Lease refused = ask(0, later);
  replicas.settle(refused, Outcome::transient, later, 0);
  answer(1, later - kUsual);
  keep(1, 1, later);
  EXPECT_TRUE(goes_to(0, later));
}

TEST_F(ReplicaSlowness, AnAttemptCountsForEightAtMost) {
  Replicas uneven(2, {});
  const auto excluded = [](std::size_t one) { return ReplicaSet(one == 0 ? 0b10 : 0b01); };
  for (const std::size_t one : {0U, 1U}) {
    const Duration took = one == 0 ? seconds(1) : kUsual;
    Lease lease = uneven.pick(excluded(one), kStart - took, 0);
    uneven.settle(lease, Outcome::success, kStart, 0);
  }
  for (int i = 0; i < 6; ++i) (void)uneven.pick(excluded(1), kStart, 0);
  EXPECT_EQ(uneven.pick({}, kStart, 0).replica(), 1U);  // 1 attempt counts 8 times, 7 once.
  (void)uneven.pick(excluded(1), kStart, 0);
  EXPECT_EQ(uneven.pick({}, kStart, 0.9).replica(), 0U);  // 1 attempt counts 8 times, 9 once.
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

TEST_F(ReplicaSlowness, OneThatIsNewAndDoesNotAnswerLosesItsShareToo) {
  ASSERT_EQ(replicas.try_add(), 2U);
  (void)replicas.pick(ReplicaSet(0b011), kStart, 0);
  const Instant later = kStart + milliseconds(100);
  answer(1, later - kUsual);
  keep(1, 3, later);
  for (const double draw : {0.1, 0.9}) {  // 2 attempts count 4 times, 4 once.
    Lease lease = replicas.pick(ReplicaSet(0b001), later, draw);
    EXPECT_EQ(lease.replica(), 1U);
    replicas.settle(lease, Outcome::cancelled, later, 0);
  }
}

TEST_F(ReplicaSlowness, OneThatIsNewIsNoMeasureForTheOthers) {
  ASSERT_EQ(replicas.try_add(), 2U);
  (void)replicas.pick(ReplicaSet(0b011), kStart, 0);
  for (const double draw : {0.1, 0.9}) {
    Lease lease = replicas.pick(ReplicaSet(0b001), kStart, draw);
    EXPECT_EQ(lease.replica(), 1U);
    replicas.settle(lease, Outcome::cancelled, kStart, 0);
  }
}

}  // namespace
}  // namespace damper::balance
