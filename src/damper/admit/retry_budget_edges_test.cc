// The edges of a budget: a thread that is behind, a reload, another epoch, the bound of a slot.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "damper/admit/retry_budget.h"

namespace damper::admit {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

int withdraw_all(RetryBudget& budget, Instant now) {
  int granted = 0;
  while (granted < 2'000'000 && budget.try_withdraw(now)) ++granted;
  return granted;
}

// A thread that is behind pays in the newest slot: there it is refunded, in the child and in each
// parent by the parent's own slot.
TEST(RetryBudgetEdges, ARefusalOfTheParentCostsTheChildNothing) {  // Invariants (2) and (5).
  RetryBudget parent({.percent = Percent(0), .reserve = 0});
  RetryBudget child({.percent = Percent(0), .reserve = 0, .min_per_second = 10}, &parent);
  (void)child.try_withdraw(kStart + 1s);  // Refused by the parent; it moves the slot.
  const double before = child.balance(kStart + 1s);
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(child.try_withdraw(kStart));  // From a second before.
  EXPECT_EQ(child.balance(kStart + 1s), before);
  EXPECT_EQ(child.balance(kStart + 1s), 100);
}

TEST(RetryBudgetEdges, AParentThatIsAheadIsRefundedInItsOwnSlot) {
  RetryBudget parent({.percent = Percent(0), .reserve = 0, .min_per_second = 10});
  RetryBudget child({.percent = Percent(0), .reserve = 0, .min_per_second = 10}, &parent);
  const RetryGrant before =
      parent.try_withdraw(kStart + 3s);  // Another child's, with a later time.
  ASSERT_TRUE(before);
  const RetryGrant grant = child.try_withdraw(kStart);
  ASSERT_TRUE(grant);
  EXPECT_EQ(parent.balance(kStart + 3s), 98);
  (void)parent.try_withdraw(kStart + 5s);  // Its slot has ended.
  child.refund(grant);
  EXPECT_EQ(parent.balance(kStart + 5s), 98);
  EXPECT_EQ(child.balance(kStart), 100);
  // What is left expires when it should: neither early nor late.
  EXPECT_EQ(parent.balance(kStart + 12s), 98);
  EXPECT_EQ(parent.balance(kStart + 14s + 100ms), 99);
  EXPECT_EQ(parent.balance(kStart + 17s), 100);
}

TEST(RetryBudgetEdges, ATimelineMayBeginAnywhere) {
  for (const Duration window : {1s, 5s, 7s, 10s, 60s}) {
    const auto granted = [&](Instant start, bool reloads) {
      const RetryBudgetOptions options{.window = window};
      RetryBudget budget(options);
      if (reloads) budget.reload(options, start);
      int count = 0;
      for (int i = 0; i < 10'000; ++i) {
        const Instant now = start + i * 10ms;
        budget.on_request(now);
        if (budget.try_withdraw(now)) ++count;
        if (reloads && i % 1000 == 999) budget.reload(options, now);
      }
      return count;
    };
    const int expected = granted(Instant{}, false);
    EXPECT_GE(expected, 900);
    // The boot of a machine, 1970 for one of 2026, a far future.
    for (const Duration start :
         {Duration(1000s), Duration(1'780'000'000s), Duration(9'000'000'000s)}) {
      EXPECT_NEAR(granted(Instant{start}, false), expected, 2)
          << window.count() << " " << start.count();
      EXPECT_NEAR(granted(Instant{start}, true), expected, 30)
          << window.count() << " " << start.count();
    }
  }
}

TEST(RetryBudgetEdges, TheBalanceKnowsTheBoundOfASlot) {
  RetryBudget budget({.percent = Percent(0), .window = 1h, .reserve = 0, .min_per_second = 1000});
  EXPECT_EQ(budget.balance(kStart), 1'048'575);  // And not 3,600,000.
  EXPECT_EQ(withdraw_all(budget, kStart), 1'048'575);
  EXPECT_EQ(budget.balance(kStart), 0);
  EXPECT_EQ(budget.balance(kStart - 6min), 0);  // A thread that is behind pays in this slot.
  EXPECT_EQ(budget.balance(kStart + 6min), 1'048'575);
}

TEST(RetryBudgetEdges, AReserveThatIsRefilledPaysOnceInAWindow) {
  RetryBudget budget({.percent = Percent(0), .reserve = 3});
  EXPECT_EQ(withdraw_all(budget, kStart), 3);
  for (int i = 0; i < 3; ++i) budget.on_success(kStart);
  EXPECT_EQ(budget.balance(kStart), 0);
  EXPECT_EQ(withdraw_all(budget, kStart), 0);
  EXPECT_EQ(budget.balance(kStart + 20s), 3);
}

TEST(RetryBudgetEdges, AReloadScalesWhatTheFloorPaid) {
  const auto reloaded = [](const RetryBudgetOptions& options) {
    RetryBudget budget({.percent = Percent(0), .reserve = 0, .min_per_second = 1});
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(budget.try_withdraw(kStart));  // Half of 10.
    budget.reload(options, kStart);
    return budget.balance(kStart);
  };
  RetryBudgetOptions twice = {.percent = Percent(0), .reserve = 0, .min_per_second = 2};
  EXPECT_EQ(reloaded(twice), 10);  // Half of 20.
  twice.window = 20s;  // The old terms would have earned 20 in it, of which 5 are spent.
  EXPECT_EQ(reloaded(twice), 30);
}

TEST(RetryBudgetEdges, AReloadScalesTheReserve) {
  RetryBudget budget({.percent = Percent(0), .reserve = 4});
  budget.reload({.percent = Percent(0), .reserve = 2}, kStart);
  EXPECT_EQ(withdraw_all(budget, kStart), 2);
  EXPECT_EQ(withdraw_all(budget, kStart + 100s), 0);
  budget.on_success(kStart + 100s);  // Half of it.
  budget.reload({.percent = Percent(0), .reserve = 6}, kStart + 100s);
  EXPECT_EQ(withdraw_all(budget, kStart + 100s), 3);
}

TEST(RetryBudgetEdges, AReloadForgetsNeitherWhatIsAheadNorWhatCameLater) {
  const RetryBudgetOptions options = {.percent = Percent(100), .reserve = 0};
  RetryBudget behind(options);
  for (int i = 0; i < 10; ++i) behind.on_request(kStart);
  EXPECT_EQ(withdraw_all(behind, kStart + 1s), 10);
  behind.reload(options, kStart);  // Another thread is ahead.
  EXPECT_EQ(withdraw_all(behind, kStart + 1s), 0);
  RetryBudget later(options);
  EXPECT_EQ(withdraw_all(later, kStart), 0);
  for (int i = 0; i < 10; ++i) later.on_request(kStart + 5s);
  later.reload(options, kStart + 5s);
  EXPECT_EQ(withdraw_all(later, kStart + 5s), 10);
}

TEST(RetryBudgetEdges, APercentageThatIsTooLargeIsNamed) {
  EXPECT_EQ(find_error(RetryBudgetOptions{.percent = Percent(42'949'674)}),
            "percent is 21474836.47%; it must be from 0% to 1000%");
}

// Invariant (3): threads that withdraw at the ends of slots, beside reloads of the same terms.
TEST(RetryBudgetEdges, TrapB2_IsNeverOverdrawnBesideAReload) {
  const RetryBudgetOptions options{
      .percent = Percent(0), .window = 1s, .reserve = 0, .min_per_second = 200};
  for (int round = 0; round < 60; ++round) {
    RetryBudget budget(options);
    std::atomic<std::int64_t> clock{0};  // in milliseconds
    std::atomic<int> granted{0};
    std::atomic<bool> over{false};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        while (!over.load()) {
          const Instant now = kStart + Duration(std::chrono::milliseconds(clock.load()));
          if (budget.try_withdraw(now)) ++granted;
        }
      });
    }
    for (int step = 0; step < 9; ++step) {  // Less than the window: nothing expires.
      const std::int64_t end = 100 * (step + 1);
      budget.reload(options, kStart + Duration(std::chrono::milliseconds(clock.load())));
      clock.store(end);
      budget.reload(options, kStart + Duration(std::chrono::milliseconds(end)));
    }
    over = true;
    threads.clear();
    ASSERT_LE(granted.load(), 200) << "round " << round;
  }
}

}  // namespace
}  // namespace damper::admit
