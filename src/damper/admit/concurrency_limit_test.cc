#include "damper/admit/concurrency_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <queue>
#include <thread>
#include <vector>

#include "damper/base/random.h"

namespace damper::admit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant at(std::int64_t ms) { return Instant{milliseconds(ms)}; }

void fill(ConcurrencyLimit& limit) {
  while (limit.try_acquire()) {
  }
}

TEST(ConcurrencyLimit, RefusesAtTheLimitAndARefusalChangesNothing) {  // Invariants (1), (2)
  ConcurrencyLimit limit({.kind = LimitKind::fixed, .initial = 2});
  EXPECT_TRUE(limit.try_acquire());
  EXPECT_TRUE(limit.try_acquire());
  EXPECT_FALSE(limit.try_acquire());
  EXPECT_EQ(limit.in_flight(), 2);
  limit.release(at(0), at(1), false);
  EXPECT_EQ(limit.in_flight(), 1);
  EXPECT_TRUE(limit.try_acquire());
  EXPECT_FALSE(limit.try_acquire());
}

TEST(ConcurrencyLimitDeathTest, AReleaseTooManyIsABug) {
  ConcurrencyLimit limit({.kind = LimitKind::fixed, .initial = 2});
  EXPECT_DEATH(limit.release_ignored(), "check failed");
}

TEST(ConcurrencyLimit, AnIgnoredReleaseGivesNoSample) {  // Invariant (5)
  ConcurrencyLimit limit({.kind = LimitKind::aimd, .initial = 4, .window_samples = 4});
  for (int i = 0; i < 100; ++i) {
    fill(limit);
    limit.release_ignored();
  }
  EXPECT_EQ(limit.limit(), 4);
  EXPECT_EQ(limit.in_flight(), 3);
}

TEST(ConcurrencyLimit, MovesOnceAWindow) {
  ConcurrencyLimit limit({.kind = LimitKind::aimd, .initial = 4, .window_samples = 3});
  fill(limit);
  for (int i = 0; i < 3; ++i) limit.release(at(0), at(10), false);
  EXPECT_EQ(limit.limit(), 4);  // Four were in flight, so a window is four.
  limit.release(at(0), at(10), false);
  EXPECT_EQ(limit.limit(), 5);
}

TEST(ConcurrencyLimit, AttemptsFromBeforeTheLastWindowAreLeftOut) {
  ConcurrencyLimit limit({.kind = LimitKind::aimd, .initial = 4, .window_samples = 2});
  fill(limit);
  for (int i = 0; i < 4; ++i) limit.release(at(0), at(10), true);
  EXPECT_EQ(limit.limit(), 2);  // 2.8
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(limit.try_acquire());
    limit.release(at(9), at(11), true);  // Sent under the limit of 4.
  }
  EXPECT_EQ(limit.limit(), 2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(limit.try_acquire());
    limit.release(at(10), at(11), true);
  }
  EXPECT_EQ(limit.limit(), 1);
}

TEST(ConcurrencyLimit, AWindowIsAtMost500Samples) {
  ConcurrencyLimit limit({.kind = LimitKind::aimd, .initial = 800});
  fill(limit);
  for (int i = 0; i < 499; ++i) limit.release(at(0), at(10), false);
  EXPECT_EQ(limit.limit(), 800);
  limit.release(at(0), at(10), false);
  EXPECT_EQ(limit.limit(), 801);
}

TEST(ConcurrencyLimit, WhenTheLimitFallsBelowWhatIsInFlightNothingIsAdmitted) {  // Invariant (1)
  ConcurrencyLimit limit({.kind = LimitKind::aimd, .initial = 10, .window_samples = 5});
  limit.reload({.kind = LimitKind::fixed, .initial = 10});
  fill(limit);
  limit.reload({.kind = LimitKind::fixed, .initial = 3});
  EXPECT_EQ(limit.in_flight(), 10);
  for (int i = 0; i < 7; ++i) {
    EXPECT_FALSE(limit.try_acquire());
    limit.release_ignored();
  }
  EXPECT_FALSE(limit.try_acquire());  // 3 of 3
  limit.release_ignored();
  EXPECT_TRUE(limit.try_acquire());
}

TEST(ConcurrencyLimit, AReloadKeepsTheLimitAndWhatIsInFlight) {
  ConcurrencyLimit limit({.kind = LimitKind::aimd, .initial = 10});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(limit.try_acquire());
  limit.reload({.kind = LimitKind::vegas, .initial = 50});
  EXPECT_EQ(limit.limit(), 10);
  EXPECT_EQ(limit.in_flight(), 3);
  limit.reload({.kind = LimitKind::fixed, .initial = 2});
  limit.release(at(0), at(1), true);
  EXPECT_EQ(limit.limit(), 2);
  EXPECT_EQ(limit.in_flight(), 2);
}

TEST(ConcurrencyLimit, AReloadChangesTheKindAndTheWindow) {
  ConcurrencyLimit limit({.kind = LimitKind::fixed, .initial = 4});
  const auto answer_all = [&limit](std::int64_t ms) {
    fill(limit);
    while (limit.in_flight() > 0) limit.release(at(ms), at(ms + 10), false);
    return limit.limit();
  };
  EXPECT_EQ(answer_all(0), 4);
  limit.reload({.kind = LimitKind::aimd, .initial = 4, .window_samples = 4});
  EXPECT_EQ(answer_all(20), 5);
  limit.reload({.kind = LimitKind::aimd, .initial = 4, .window_samples = 10});
  EXPECT_EQ(answer_all(40), 5);  // Half of the window.
  EXPECT_EQ(answer_all(60), 6);
}

TEST(ConcurrencyLimit, ADropCountsAlthoughTimeWentBackwards) {
  ConcurrencyLimit limit({.kind = LimitKind::aimd, .initial = 4, .window_samples = 2});
  fill(limit);
  for (int i = 0; i < 4; ++i) limit.release(at(20), at(19), true);
  EXPECT_EQ(limit.limit(), 2);  // 2.8
}

TEST(ConcurrencyLimit, TimeThatGoesBackwardsDoesNotFreezeTheLimit) {
  ConcurrencyLimit limit({.kind = LimitKind::aimd, .initial = 1, .window_samples = 1});
  ASSERT_TRUE(limit.try_acquire());
  limit.release(at(1'000'000), at(1'000'010), false);
  EXPECT_EQ(limit.limit(), 2);
  ASSERT_TRUE(limit.try_acquire());
  limit.release(at(20), at(10), false);  // An hour back, and no latency: left out.
  EXPECT_EQ(limit.limit(), 2);
  ASSERT_TRUE(limit.try_acquire());
  limit.release(at(10), at(20), false);
  EXPECT_EQ(limit.limit(), 3);
  ASSERT_TRUE(limit.try_acquire() && limit.try_acquire());
  limit.release(at(30), at(25), false);  // A latency below zero is no sample.
  limit.release(at(30), at(25), false);
  EXPECT_EQ(limit.limit(), 3);
}

TEST(ConcurrencyLimit, ExtremeLatenciesAreHeld) {
  ConcurrencyLimit limit({.kind = LimitKind::gradient, .initial = 1000});
  fill(limit);
  for (int i = 0; i < 500; ++i) limit.release(Instant{}, kNever, false);  // A minute each.
  EXPECT_EQ(limit.limit(), 1000);
  limit.reload({.kind = LimitKind::gradient, .initial = 1000, .max = 2000});
  fill(limit);
  for (int i = 0; i < 500; ++i) limit.release(kNever, kNever, false);  // Zero: under the floor.
  EXPECT_EQ(limit.limit(), 1000);
}

// The limit after a window of one answer, which is the floor, and a window with all 100 in use.
std::int32_t limit_after(Duration floor, Duration latency) {
  ConcurrencyLimit limit({.kind = LimitKind::gradient, .initial = 100, .window_samples = 1});
  EXPECT_TRUE(limit.try_acquire());
  limit.release(at(0), at(0) + floor, false);
  fill(limit);
  const Instant sent = at(0) + floor;
  while (limit.in_flight() > 0) limit.release(sent, sent + latency, false);
  return limit.limit();
}

TEST(ConcurrencyLimit, ALatencyIsMeasuredFrom16NanosecondsToAMinute) {
  EXPECT_EQ(limit_after(Duration(16), Duration(32)), 94);  // To 100 * 1.2/2 + 10
  EXPECT_EQ(limit_after(Duration(0), Duration(16)), 102);  // No queue: to 100 + 10
  EXPECT_EQ(limit_after(seconds(1), seconds(2)), 94);
  EXPECT_EQ(limit_after(seconds(30), seconds(60)), 94);
  EXPECT_EQ(limit_after(seconds(60), seconds(3600)), 102);
}

TEST(ConcurrencyLimit, AnAnswerAtTheInstantOfItsAttemptCounts) {
  ConcurrencyLimit limit({.kind = LimitKind::aimd, .initial = 1, .window_samples = 1});
  ASSERT_TRUE(limit.try_acquire());
  limit.release(at(10), at(10), false);
  EXPECT_EQ(limit.limit(), 2);
}

TEST(ConcurrencyLimit, TrapL1_TimeoutsAloneShrinkItToItsMinimum) {  // Invariant (3)
  for (const LimitKind kind : {LimitKind::aimd, LimitKind::vegas, LimitKind::gradient}) {
    ConcurrencyLimit limit({.kind = kind, .initial = 100, .min = 2});
    std::int32_t last = 100;
    for (std::int64_t second = 0; second < 200; ++second) {
      fill(limit);
      while (limit.in_flight() > 0) limit.release(at(second * 1000), at(second * 1000 + 999), true);
      EXPECT_LE(limit.limit(), last) << name(kind);
      last = limit.limit();
    }
    EXPECT_EQ(last, 2) << name(kind);
  }
}

// A dependency with `workers` workers and a queue before them, under more demand than it can serve.
class Overloaded {
 public:
  Overloaded(const ConcurrencyLimitOptions& options, std::uint64_t seed, std::size_t workers)
      : limit_(options), random_(seed), workers_(workers) {}

  void run(Duration length) {
    const Instant end = now_ + length;
    lowest_ = highest_ = limit_.limit();
    served_ = 0;
    for (;;) {
      while (limit_.try_acquire()) waiting_.push(now_);
      for (; !waiting_.empty() && working_.size() < workers_; waiting_.pop()) {
        working_.push({now_ + service(), waiting_.front()});
      }
      if (working_.top().done > end) break;
      const Job job = working_.top();
      working_.pop();
      now_ = job.done;
      limit_.release(job.started, now_, false);
      ++served_;
      lowest_ = std::min(lowest_, limit_.limit());
      highest_ = std::max(highest_, limit_.limit());
    }
    now_ = end;
  }

  void be_slower_by(double factor) { service_ms_ *= factor; }
  void have_workers(std::size_t workers) { workers_ = workers; }
  std::int32_t lowest() const { return lowest_; }
  std::int32_t highest() const { return highest_; }
  std::int32_t served() const { return served_; }

 private:
  struct Job {
    Instant done, started;
    bool operator<(const Job& other) const { return done > other.done; }
  };
  Duration service() {  // Uniform from a half to one and a half.
    return Duration{static_cast<std::int64_t>((0.5 + random_.draw()) * service_ms_ * 1e6)};
  }

  ConcurrencyLimit limit_;
  Random random_;
  std::size_t workers_;
  double service_ms_ = 10;
  Instant now_{};
  std::priority_queue<Job> working_;
  std::queue<Instant> waiting_;
  std::int32_t lowest_ = 0, highest_ = 0, served_ = 0;
};

TEST(ConcurrencyLimit, ConvergesToTheCapacityOfTheDependency) {
  for (const LimitKind kind : {LimitKind::vegas, LimitKind::gradient}) {
    for (const std::int32_t workers : {20, 100}) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        Overloaded world({.kind = kind}, seed, static_cast<std::size_t>(workers));
        world.run(seconds(10));
        world.run(seconds(3));
        EXPECT_GE(world.lowest(), workers) << name(kind) << " seed " << seed;
        EXPECT_LE(world.highest(), 2 * workers) << name(kind) << " seed " << seed;
      }
    }
  }
}

TEST(ConcurrencyLimit, FollowsACapacityThatHalvesAndComesBack) {
  for (const LimitKind kind : {LimitKind::vegas, LimitKind::gradient}) {
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      Overloaded world({.kind = kind}, seed, 100);
      world.run(seconds(10));
      world.have_workers(50);
      world.run(seconds(10));
      world.run(seconds(3));
      EXPECT_LE(world.highest(), 100) << name(kind) << " seed " << seed;
      EXPECT_GE(world.lowest(), 50) << name(kind) << " seed " << seed;
      world.have_workers(100);
      world.run(seconds(10));
      world.run(seconds(3));
      EXPECT_GE(world.lowest(), 95) << name(kind) << " seed " << seed;
      EXPECT_LE(world.highest(), 200) << name(kind) << " seed " << seed;
    }
  }
}

TEST(ConcurrencyLimit, WorkThatBecomesSlowerDoesNotHoldTheLimitDown) {
  for (const LimitKind kind : {LimitKind::vegas, LimitKind::gradient}) {
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      Overloaded world({.kind = kind}, seed, 100);
      world.run(seconds(10));
      world.be_slower_by(2);
      world.run(seconds(20));
      world.run(seconds(3));
      EXPECT_GE(world.served(), 10'500) << name(kind) << " seed " << seed;  // Of 15,000.
      EXPECT_LE(world.highest(), 200) << name(kind) << " seed " << seed;
    }
  }
}

TEST(ConcurrencyLimit, TrapL2_NoPhaseRejectsTrafficInOrderToMeasure) {  // Invariant (4)
  for (const LimitKind kind : {LimitKind::vegas, LimitKind::gradient}) {
    ConcurrencyLimit limit({.kind = kind});
    std::int64_t now = 0;
    std::int32_t last = limit.limit();
    for (int i = 0; i < 5'000; ++i, now += 10) {  // 20 at a time, 10 ms each, for a minute.
      for (int j = 0; j < 20; ++j) ASSERT_TRUE(limit.try_acquire()) << name(kind) << " round " << i;
      for (int j = 0; j < 20; ++j) limit.release(at(now), at(now + 10), false);
      ASSERT_GE(limit.limit(), last) << name(kind) << " round " << i;
      last = limit.limit();
    }
  }
}

TEST(ConcurrencyLimit, TrapL3_ThreadsNeverOvershootTheLimit) {  // Invariants (1), (2)
  ConcurrencyLimit limit({.kind = LimitKind::fixed, .initial = 1});
  std::atomic<int> inside{0};
  std::atomic<int> overshoots{0};
  std::atomic<int> ready{0};
  constexpr int kThreads = 32;  // Many, so that one is preempted at every point.
  const auto work = [&] {
    ++ready;
    while (ready.load() < kThreads) std::this_thread::yield();
    for (int i = 0; i < 2'000'000; ++i) {
      if (!limit.try_acquire()) continue;
      if (inside.fetch_add(1) != 0 || limit.in_flight() != 1) ++overshoots;
      inside.fetch_sub(1);
      limit.release_ignored();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overshoots.load(), 0);
  EXPECT_EQ(limit.in_flight(), 0);
}

TEST(ConcurrencyLimit, SamplesAndReloadsFromManyThreadsKeepItWithinBounds) {
  ConcurrencyLimit limit({.kind = LimitKind::gradient, .initial = 8, .min = 4, .max = 16});
  std::atomic<bool> out_of_bounds{false};
  const auto work = [&](std::uint64_t seed) {
    Random random(seed);
    for (int i = 0; i < 20'000; ++i) {
      if (limit.try_acquire()) limit.release(at(i), at(i + 2), random.draw() < 0.1);
      const std::int32_t seen = limit.limit();
      if (seen < 4 || seen > 16) out_of_bounds = true;
      if (seed == 0 && i % 100 == 0) {
        limit.reload({.kind = i % 200 == 0 ? LimitKind::vegas : LimitKind::gradient,
                      .initial = 8,
                      .min = 4,
                      .max = 16});
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(out_of_bounds);
  EXPECT_EQ(limit.in_flight(), 0);
}

}  // namespace
}  // namespace damper::admit
