#include "damper/run/helper_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <vector>

#include "damper/run/clock.h"

namespace damper::run {
namespace {

using namespace std::chrono_literals;

struct Do final : HelperPool::Task {
  explicit Do(std::function<void()> task) : what(std::move(task)) {}
  void run(bool) noexcept override { what(); }
  std::function<void()> what;
};

TEST(HelperPool, RunsATaskNotBeforeItsTime) {
  HelperPool pool;
  std::latch ran(1);
  Instant when{};
  Do task([&] {
    when = now();
    ran.count_down();
  });
  const Instant due = in(20ms);
  ASSERT_TRUE(pool.schedule(task, due));
  ran.wait();
  EXPECT_GE(when, due);
  pool.cancel(task);
}

TEST(HelperPool, ACancelledTaskNeverRuns) {  // Invariant (1).
  HelperPool pool;
  std::atomic<int> ran{0};
  Do task([&] { ran.fetch_add(1); });
  ASSERT_TRUE(pool.schedule(task, kNever));
  pool.cancel(task);
  std::latch later(1);
  Do other([&] { later.count_down(); });
  ASSERT_TRUE(pool.schedule(other, now()));
  later.wait();
  EXPECT_EQ(ran.load(), 0);
  pool.cancel(other);
}

TEST(HelperPool, CancelWaitsForATaskThatRuns) {  // Invariant (1).
  HelperPool pool;
  for (int i = 0; i < 200; ++i) {
    std::latch started(1);
    std::atomic<bool> over{false};
    auto task = std::make_unique<Do>([&] {
      started.count_down();
      std::this_thread::yield();
      over.store(true);
    });
    ASSERT_TRUE(pool.schedule(*task, now()));
    started.wait();
    pool.cancel(*task);
    ASSERT_TRUE(over.load());
  }
}

TEST(HelperPool, ThreadsAndTasksAreBounded) {  // Invariant (2).
  HelperPool pool(2, 3);
  std::latch release(1);
  std::latch both_run(2);
  Do one([&] { both_run.count_down(), release.wait(); });
  Do two([&] { both_run.count_down(), release.wait(); });
  ASSERT_TRUE(pool.schedule(one, now()));
  ASSERT_TRUE(pool.schedule(two, now()));
  both_run.wait();
  Do three([] {}), four([] {}), five([] {}), six([] {});
  EXPECT_TRUE(pool.schedule(three, kNever));
  EXPECT_TRUE(pool.schedule(four, kNever));
  EXPECT_TRUE(pool.schedule(five, kNever));
  EXPECT_FALSE(pool.schedule(six, kNever));
  EXPECT_EQ(pool.threads(), 2u);
  release.count_down();
  for (Do* task : {&one, &two, &three, &four, &five, &six}) pool.cancel(*task);
}

TEST(HelperPool, WhatIsDueAtOnceRunsAtOnce) {  // Invariant (3).
  HelperPool pool(8);
  for (int round = 0; round < 20; ++round) {
    std::latch all(4);
    std::vector<std::unique_ptr<Do>> tasks;
    const Instant due = in(2ms);
    for (int i = 0; i < 4; ++i) {
      tasks.push_back(std::make_unique<Do>([&] { all.arrive_and_wait(); }));
      ASSERT_TRUE(pool.schedule(*tasks.back(), due));
    }
    all.wait();
    for (const auto& task : tasks) pool.cancel(*task);
  }
}

// Blocks where it may, and says so.
struct Blocks final : HelperPool::Task {
  void run(bool may_block) noexcept override {
    blocked.store(may_block);
    begun.count_down();
    if (may_block) release.wait();
  }
  std::atomic<bool> blocked{false};
  std::latch begun{1};
  std::latch release{1};
};

TEST(HelperPool, TheLastHelperIsNotToBeBlocked) {  // Invariant (3).
  HelperPool pool(2);
  Blocks first, second, third;
  ASSERT_TRUE(pool.schedule(first, now()));
  first.begun.wait();
  EXPECT_TRUE(first.blocked.load());
  ASSERT_TRUE(pool.schedule(second, now()));
  ASSERT_TRUE(pool.schedule(third, now()));
  second.begun.wait();
  third.begun.wait();
  EXPECT_FALSE(second.blocked.load());
  EXPECT_FALSE(third.blocked.load());
  first.release.count_down();
  for (Blocks* task : {&first, &second, &third}) pool.cancel(*task);
}

}  // namespace
}  // namespace damper::run
