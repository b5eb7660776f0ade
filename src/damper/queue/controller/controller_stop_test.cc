// How a Controller ends: nothing is lost.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "damper/base/random.h"
#include "damper/queue/controller/controller.h"
#include "damper/queue/controller/controller_testing.h"

namespace damper {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using queue::Added;

TEST(ControllerStop, WhatIsUnderWayMayFinishWithinItsGrace) {
  std::latch running(1);
  std::latch go(1);
  std::atomic<bool> finished = false;
  Controller<std::string> controller(quick(), [&](const std::string&, const RunContext& context) {
    running.count_down();
    go.wait();
    EXPECT_FALSE(context.stop().stop_requested());
    finished = true;
    return done();
  });
  controller.add("a");
  running.wait();
  controller.add("b");
  std::jthread later([&] {
    EXPECT_TRUE(eventually([&] { return controller.add("b").added == Added::closed; }));
    go.count_down();
  });
  const auto left = controller.stop(1h);
  EXPECT_TRUE(finished);
  ASSERT_EQ(left.size(), 1u);  // It was ready, and is not run any more.
  EXPECT_EQ(left[0].key, "b");
  EXPECT_EQ(left[0].parked_for, Verdict::none);
}

TEST(ControllerStop, AfterItsGraceItIsAskedToStopAndHandedBack) {
  std::latch running(1);
  Controller<std::string> controller(quick(), [&](const std::string&, const RunContext& context) {
    running.count_down();
    wait_for(context.stop());
    return Reconcile(failed(Outcome::cancelled));
  });
  controller.add("a");
  running.wait();
  const auto left = controller.stop(1ms);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].key, "a");
  EXPECT_EQ(left[0].failures, 0u);  // It counts as not run.
}

TEST(ControllerStop, ReturnsWhatIsReadyDelayedAndParkedOnce) {
  std::latch parked(1);
  Controller<std::string> controller(quick(), [&](const std::string&) {
    parked.count_down();
    return terminal("hopeless");
  });
  controller.add("parked");
  parked.wait();
  EXPECT_TRUE(eventually([&] { return controller.stats().queue.parked == 1; }));
  controller.add_after("delayed", 1h);
  const Instant now = run::now();
  const auto left = controller.stop();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].key, "parked");
  EXPECT_EQ(left[0].parked_for, Verdict::permanent);
  EXPECT_EQ(left[0].why, "hopeless");
  EXPECT_EQ(left[1].key, "delayed");
  EXPECT_GT(left[1].due, now + 59min);
  EXPECT_TRUE(controller.stop().empty());
  EXPECT_TRUE(controller.drain(1s).empty());
  EXPECT_EQ(controller.add("late").added, Added::closed);
  EXPECT_FALSE(controller.revive("parked"));
  EXPECT_EQ(controller.stats().queue.parked, 0u);
}

TEST(ControllerStop, ADrainRunsWhatIsReadyAndWhatIsAddedBySomethingUnderWay) {  // Trap Q1.
  std::atomic<int> runs = 0;
  std::latch running(1);
  std::latch go(1);
  Controller<int> controller(quick(), [&](const int&) {
    if (runs++ == 0) {
      running.count_down();
      go.wait();
    }
    return done();
  });
  for (int key = 0; key < 100; ++key) controller.add(key);
  running.wait();
  controller.add(0);  // Marked: it runs again.
  controller.add_after(1000, 1h);
  std::jthread later([&] {
    EXPECT_TRUE(eventually([&] { return controller.add(7).added == Added::closed; }));
    go.count_down();
  });
  const auto left = controller.drain(1h);
  EXPECT_EQ(runs, 101);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].key, 1000);
}

TEST(ControllerStop, ADrainThatTakesTooLongHandsBackTheRest) {
  std::latch running(1);
  Controller<int> controller(quick(), [&](const int& key, const RunContext& context) {
    running.count_down();
    wait_for(context.stop());
    return key == 0 ? done() : Reconcile(failed(Outcome::cancelled));
  });
  controller.add(0);
  running.wait();
  controller.add(1);
  controller.add(2);
  EXPECT_EQ(controller.drain(1ms).size(), 2u);
}

TEST(ControllerStop, ADrainWithAllRetriesHeldIsOver) {
  Controller<int> controller(quick(), [&](const int&) { return failed(Outcome::transient); });
  controller.switches().set(admit::Switch::retries, {.off = true});
  for (int key = 0; key < 10; ++key) controller.add(key);
  EXPECT_EQ(controller.drain(1h).size(), 10u);
}

TEST(ControllerStop, SeveralMayEndItAndEachKeyIsReturnedOnce) {  // Trap Q3.
  for (int round = 0; round < 20; ++round) {
    Controller<int> controller(quick(2), [&](const int&) { return requeue_after(1h); });
    for (int key = 0; key < 50; ++key) controller.add(key);
    std::atomic<std::size_t> returned = 0;
    std::vector<std::jthread> enders;
    for (int t = 0; t < 4; ++t) {
      enders.emplace_back([&, t] {
        returned += (t % 2 == 0 ? controller.stop(1min) : controller.drain(1min)).size();
      });
    }
    enders.clear();
    EXPECT_EQ(returned, 50u);
  }
}

TEST(ControllerStop, FromWithinARunItEndsTheProgramInsteadOfWaitingForItself) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // It has threads.
  EXPECT_DEATH(
      {
        Controller<int>* self = nullptr;
        std::latch ready(1);
        Controller<int> controller({}, [&](const int&) {
          ready.wait();
          (void)self->stop();
          return done();
        });
        self = &controller;
        ready.count_down();
        controller.add(1);
        (void)controller.drain(1min);
      },
      "check failed");
}

TEST(ControllerStop, TheDestructorStops) {
  std::latch running(1);
  std::atomic<bool> ended = false;
  {
    Controller<int> controller(quick(), [&](const int&, const RunContext& context) {
      running.count_down();
      wait_for(context.stop());
      ended = true;
      return done();
    });
    controller.add(1);
    running.wait();
  }
  EXPECT_TRUE(ended);
}

// Invariant (2): random runs, random ends, producers until the end.
TEST(ControllerStop, LosesNothing) {
  constexpr std::size_t kKeys = 200;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    ControllerOptions options = quick(1 + static_cast<int>(random.draw() * 4));
    options.retries.max_attempts = 3;
    options.most_parked = 20;
    // A key's number is raised before it is added, and read by its run.
    std::array<std::atomic<int>, kKeys> wanted{};
    std::array<std::atomic<int>, kKeys> done_for{};
    Controller<std::size_t> controller(
        options, [&](const std::size_t& key, const RunContext& context) -> Reconcile {
          const int saw = wanted[key];
          switch ((static_cast<std::size_t>(saw) * 31 + key + context.attempt()) % 7) {
            case 0: return failed(Outcome::transient);
            case 1: return terminal("no");
            case 2: return requeue_after(context.attempt() % 2 == 0 ? 1us : 1h);
            case 3: throw std::runtime_error("bug");
            default: done_for[key] = saw; return done();
          }
        });
    std::array<int, kKeys> taken{};  // The number of the last add that was taken.
    std::jthread producer([&] {
      Random keys(seed + 1000);
      for (int i = 0; i < 100'000; ++i) {
        const auto key = static_cast<std::size_t>(keys.draw() * kKeys);
        const int number = ++wanted[key];
        const auto added = keys.draw() < 0.2 ? controller.add_after(key, 1ms) : controller.add(key);
        if (!is_taken(added.added)) return;
        taken[key] = number;
      }
    });
    const auto until = run::now() + Duration(static_cast<std::int64_t>(random.draw() * 1e7));
    (void)eventually([&] { return run::now() >= until; });
    const auto left = random.draw() < 0.5 ? controller.stop() : controller.drain(1ms);
    producer.join();
    std::set<std::size_t> unfinished;
    for (const auto& key : left) {
      EXPECT_TRUE(unfinished.insert(key.key).second) << "seed " << seed;
    }
    for (std::size_t key = 0; key < kKeys; ++key) {
      EXPECT_TRUE(done_for[key] >= taken[key] || unfinished.contains(key))
          << "seed " << seed << ", key " << key;
    }
  }
}

}  // namespace
}  // namespace damper
