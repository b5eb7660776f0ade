#include "damper/run/blocking.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <latch>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

// What ends a call from outside: its stop token, and the kill switch. Each call here would wait for
// an hour if it were not ended.

namespace damper {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

constexpr Duration kSoon = 60s;

engine::Policy patient() {
  engine::Policy policy;
  policy.call.timeout = 3h;
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 1h, .cap = 1h};
  policy.budget = {.percent = Percent(0), .reserve = 100};
  return policy;
}

// Waits until `calls` calls have paid for a retry, which they do just before they wait.
void await_waiting(Dependency& dependency, double balance) {
  while (dependency.budget().balance(run::now()) > balance) std::this_thread::yield();
}

TEST(BlockingStop, ACallThatWasGivenUpBeforeItBeganSendsNothing) {
  Dependency dependency("test", patient());
  std::stop_source stop;
  stop.request_stop();
  int times = 0;
  const auto result = call(dependency, {.idempotent = true, .stop = stop.get_token()},
                           [&](const Attempt&) -> Result<int> { return ++times; });
  EXPECT_EQ(result.verdict(), Verdict::cancelled);
  EXPECT_EQ(result.attempts(), 0u);
  EXPECT_EQ(times, 0);
  EXPECT_EQ(dependency.tally().of(Verdict::cancelled), 1u);
  EXPECT_EQ(dependency.tally().in_flight(), 0u);
}

TEST(BlockingStop, AStopEndsABackoffAtOnceAndWhatWasPaidComesBack) {
  Dependency dependency("test", patient());
  std::stop_source stop;
  const Instant before = run::now();
  const std::jthread other([&] {
    await_waiting(dependency, 99.0);
    stop.request_stop();
  });
  const auto result = call(dependency, {.idempotent = true, .stop = stop.get_token()},
                           [](const Attempt&) { return Outcome::transient; });
  EXPECT_EQ(result.verdict(), Verdict::cancelled);
  EXPECT_EQ(result.attempts(), 1u);
  EXPECT_EQ(result.failure()->report.outcome, Outcome::transient);
  EXPECT_LT(run::now() - before, kSoon);
  EXPECT_EQ(dependency.budget().balance(run::now()), 100.0);
}

TEST(BlockingStop, AStopReachesTheOperationAndNoRetryFollows) {
  Dependency dependency("test", patient());
  std::stop_source stop;
  std::latch inside(1);
  const std::jthread other([&] {
    inside.wait();
    stop.request_stop();
  });
  const auto result =
      call(dependency, {.idempotent = true, .stop = stop.get_token()}, [&](const Attempt& attempt) {
        std::mutex mutex;
        std::condition_variable_any changed;
        std::unique_lock lock(mutex);
        inside.count_down();
        EXPECT_FALSE(changed.wait_for(lock, attempt.stop(), kSoon, [] { return false; }));
        EXPECT_TRUE(attempt.stop().stop_requested());
        return Outcome::transient;
      });
  EXPECT_EQ(result.verdict(), Verdict::cancelled);
  EXPECT_EQ(result.attempts(), 1u);
}

TEST(BlockingStop, ASuccessThatCameInSpiteOfTheStopCounts) {
  Dependency dependency("test", patient());
  std::stop_source stop;
  const auto result = call(dependency, {.stop = stop.get_token()}, [&](const Attempt&) {
    stop.request_stop();
    return Outcome::success;
  });
  EXPECT_TRUE(result);
}

// Fifty threads wait for an hour; `flip` ends them.
void fifty_wait_until(Dependency& dependency, const std::function<void()>& flip) {
  constexpr int kThreads = 50;
  const Instant before = run::now();
  std::atomic<int> switched_off{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const auto result =
          call(dependency, {.idempotent = true}, [](const Attempt&) { return Outcome::transient; });
      if (result.verdict() == Verdict::switched_off) switched_off.fetch_add(1);
    });
  }
  await_waiting(dependency, 50.0);
  EXPECT_EQ(dependency.tally().in_flight(), 50u);
  flip();
  threads.clear();  // Joins: nobody is left parked.
  EXPECT_LT(run::now() - before, kSoon);
  EXPECT_EQ(switched_off.load(), kThreads);
  EXPECT_EQ(dependency.tally().of(Verdict::switched_off), 50u);
  EXPECT_EQ(dependency.tally().in_flight(), 0u);
  EXPECT_EQ(dependency.tally().all_retries(), 0u);
  EXPECT_EQ(dependency.budget().balance(run::now()), 100.0);
}

TEST(BlockingStop, TrapK1_TheKillSwitchEndsEveryBackoffAtOnce) {
  Dependency dependency("test", patient());
  fifty_wait_until(dependency, [] { switches().set(admit::Switch::retries, {.off = true}); });
  switches().clear(admit::Switch::retries);
}

TEST(BlockingStop, TrapK1_TheSwitchOfTheDependencyEndsItsBackoffsAtOnce) {
  Dependency dependency("test", patient());
  fifty_wait_until(dependency, [&] {
    dependency.flip(admit::Switch::retries, {.off = true, .reason = "drill"}, run::now());
  });
}

TEST(BlockingStop, AFlipThatDoesNotConcernItLeavesACallWaiting) {
  Dependency dependency("test", patient());
  Dependency other("other", patient());
  std::stop_source stop;
  const std::jthread operations([&] {
    await_waiting(dependency, 99.0);
    for (int i = 0; i < 100; ++i) other.switches().set(admit::Switch::retries, {.off = i % 2 == 0});
    EXPECT_EQ(dependency.tally().in_flight(), 1u);
    stop.request_stop();
  });
  const auto result = call(dependency, {.idempotent = true, .stop = stop.get_token()},
                           [](const Attempt&) { return Outcome::transient; });
  EXPECT_EQ(result.verdict(), Verdict::cancelled);
  EXPECT_EQ(dependency.tally().all_retries(), 0u);
}

}  // namespace
}  // namespace damper
