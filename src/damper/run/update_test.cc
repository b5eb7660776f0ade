#include "damper/run/update.h"

#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace damper {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

struct Versioned {
  int value = 0;
  int version = 0;
};

// A store under optimistic concurrency, as a control plane's: a write names the version it read.
class Store {
 public:
  Result<Versioned> read() {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  Result<int> write(const Versioned& next) {
    const std::lock_guard lock(mutex_);
    if (next.version != now_.version) return failed(Outcome::conflict);
    now_ = {next.value, next.version + 1};
    return now_.version;
  }

 private:
  std::mutex mutex_;
  Versioned now_;
};

Versioned increment(Versioned was) { return {was.value + 1, was.version}; }

engine::Policy quick() {
  engine::Policy policy;
  policy.call.timeout = 1h;
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 1us, .cap = 1us};
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  return policy;
}

TEST(Update, ReadsAppliesAndWrites) {
  Dependency dependency("test", quick());
  Store store;
  const auto result = update(
      dependency, [&](const Attempt&) { return store.read(); }, increment,
      [&](const Versioned& next, const Attempt&) { return store.write(next); });
  EXPECT_EQ(*result, 1);
  EXPECT_EQ(store.read()->value, 1);
}

TEST(Update, AfterAConflictItReadsAgainAndAppliesTheChangeAgain) {
  Dependency dependency("test", quick());
  Store store;
  std::vector<int> modified;
  const auto result = update(
      dependency, [&](const Attempt&) { return store.read(); },
      [&](Versioned was) {
        modified.push_back(was.value);
        return increment(was);
      },
      [&](const Versioned& next, const Attempt& attempt) {
        if (attempt.number() == 1) (void)store.write({41, 0});  // Somebody else was faster.
        return store.write(next);
      });
  EXPECT_TRUE(result);
  EXPECT_EQ(result.attempts(), 2u);
  EXPECT_EQ(modified, (std::vector<int>{0, 41}));
  EXPECT_EQ(store.read()->value, 42);
  EXPECT_EQ(dependency.tally().retries_for(Outcome::conflict), 1u);
}

TEST(Update, ManyWritersLoseNothing) {
  engine::Policy policy = quick();
  policy.call.max_attempts = 100;
  policy.call.backoff = {.base = 100us, .cap = 1ms};
  policy.budget = {.percent = Percent(1000), .min_per_second = 10'000};
  Dependency dependency("test", policy);
  Store store;
  constexpr int kThreads = 8;
  constexpr int kEach = 50;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kEach; ++j) {
        const auto read = [&](const Attempt&) { return store.read(); };
        const auto write = [&](const Versioned& next, const Attempt&) {
          std::this_thread::yield();  // So that others come in between.
          return store.write(next);
        };
        while (!update(dependency, read, increment, write)) {
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(store.read()->value, kThreads * kEach);
  EXPECT_EQ(store.read()->version, kThreads * kEach);
}

TEST(Update, AFailedReadIsTriedAgainAlthoughTheUpdateIsNotIdempotent) {
  Dependency dependency("test", quick());
  Store store;
  int modified = 0;
  const auto result = update(
      dependency,
      [&](const Attempt& attempt) -> Result<Versioned> {
        if (attempt.number() == 1) return failed(Outcome::timeout);
        if (attempt.number() == 2) throw std::system_error(ETIMEDOUT, std::generic_category());
        return store.read();
      },
      [&](Versioned was) {
        ++modified;
        return increment(was);
      },
      [&](const Versioned& next, const Attempt&) { return store.write(next); });
  EXPECT_TRUE(result);
  EXPECT_EQ(result.attempts(), 3u);
  EXPECT_EQ(modified, 1);
}

TEST(Update, AWriteWhoseFateIsUnknownIsRepeatedOnlyOnTheCallersWord) {
  Dependency dependency("test", quick());
  for (const bool idempotent : {false, true}) {
    Store store;
    const auto result = update(
        dependency, {.idempotent = idempotent}, [&](const Attempt&) { return store.read(); },
        increment,
        [&](const Versioned& next, const Attempt& attempt) -> Result<int> {
          if (attempt.number() == 1) return failed(Outcome::timeout);
          return store.write(next);
        });
    EXPECT_EQ(result.verdict(), idempotent ? Verdict::success : Verdict::not_idempotent);
    EXPECT_EQ(result.attempts(), idempotent ? 2u : 1u);
  }
}

TEST(Update, WhatModifyThrowsComesBackAndNothingIsWritten) {
  Dependency dependency("test", quick());
  Store store;
  auto result = update(
      dependency, {.idempotent = true}, [&](const Attempt&) { return store.read(); },
      [](Versioned) -> Versioned { throw std::out_of_range("full"); },
      [&](const Versioned& next, const Attempt&) { return store.write(next); });
  EXPECT_EQ(result.verdict(), Verdict::permanent);
  EXPECT_THROW((void)result.value(), std::out_of_range);
  EXPECT_EQ(store.read()->version, 0);
}

Verdict conflict_for_ever(const engine::Policy& policy) {
  Dependency dependency("test", policy);
  Store store;
  return update(
             dependency, [&](const Attempt&) { return store.read(); }, increment,
             [](const Versioned&, const Attempt&) -> Result<int> {
               return failed(Outcome::conflict);
             })
      .verdict();
}

TEST(Update, BudgetDeadlineAndAttemptsHoldForConflictsToo) {
  EXPECT_EQ(conflict_for_ever(quick()), Verdict::attempts_spent);
  engine::Policy poor = quick();
  poor.budget = {.percent = Percent(0), .reserve = 1};
  EXPECT_EQ(conflict_for_ever(poor), Verdict::budget_spent);
  engine::Policy slow = quick();
  slow.call.backoff = {.jitter = schedule::Jitter::none, .base = 2h, .cap = 2h};
  EXPECT_EQ(conflict_for_ever(slow), Verdict::deadline_too_close);
}

}  // namespace
}  // namespace damper
