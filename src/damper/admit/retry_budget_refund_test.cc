#include <gtest/gtest.h>

#include "damper/admit/retry_budget.h"

namespace damper::admit {
namespace {

// What a retry that is refunded, refused or done gives back: its withdrawal, its part of the
// reserve, and its place among the retries in flight, in the budget and in its parents.

using std::chrono::seconds;
using Grant = RetryGrant;

constexpr Instant kStart{seconds(1000)};  // The beginning of a slot of 1 s.

RetryBudgetOptions bounded(std::int32_t most) {
  return {.percent = Percent(0), .reserve = 100, .min_retry_concurrency = most};
}

void expect_one_in_flight(RetryBudget& budget) {
  for (int i = 0; i < 3; ++i) {
    const Grant first = budget.try_withdraw(kStart);
    ASSERT_TRUE(first) << i;
    EXPECT_FALSE(budget.try_withdraw(kStart)) << i;
    if (i == 1) {
      budget.refund(first);
    } else {
      budget.on_retry_done(first);
    }
  }
}

TEST(RetryBudgetRefund, APlaceInFlightIsGivenBackAtEveryLevel) {
  constexpr int kLevels = 3;
  for (int which = 1; which < 1 << kLevels; ++which) {  // Which of them have the bound of one.
    RetryBudget top(bounded((which & 4) != 0 ? 1 : -1));
    RetryBudget middle(bounded((which & 2) != 0 ? 1 : -1), &top);
    RetryBudget budget(bounded((which & 1) != 0 ? 1 : -1), &middle);
    expect_one_in_flight(budget);
  }
}

TEST(RetryBudgetRefund, ABoundOfNoneIsABound) {
  RetryBudgetOptions options = bounded(0);
  RetryBudget none(options);
  EXPECT_FALSE(none.try_withdraw(kStart, 1000));
  options.percent = Percent(10);
  RetryBudget budget(options);
  EXPECT_FALSE(budget.try_withdraw(kStart, 9));
  EXPECT_TRUE(budget.try_withdraw(kStart, 10));
  EXPECT_FALSE(budget.try_withdraw(kStart, 19));
}

TEST(RetryBudgetRefund, ARefusalByTheParentGivesThePlaceInFlightBack) {
  for (const std::int32_t bound : {1, -1}) {
    RetryBudget parent(RetryBudgetOptions{.percent = Percent(100), .reserve = 0});
    RetryBudget budget(bounded(bound), &parent);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(budget.try_withdraw(kStart));
    for (int i = 0; i < 9; ++i) parent.on_request(kStart);
    budget.reload(bounded(1), kStart);
    expect_one_in_flight(budget);
  }
}

TEST(RetryBudgetRefund, OnlyARetryFromTheReserveRefillsIt) {
  const RetryBudgetOptions options = {.percent = Percent(100), .reserve = 1};
  RetryBudget budget(options);
  budget.on_request(kStart);
  const Grant earned = budget.try_withdraw(kStart);
  const Grant reserved = budget.try_withdraw(kStart);
  ASSERT_TRUE(earned && reserved);
  budget.refund(earned);
  EXPECT_FALSE(budget.try_withdraw(kStart));  // What the request earned pays for `reserved` now.
  budget.refund(reserved);
  EXPECT_TRUE(budget.try_withdraw(kStart));
  EXPECT_TRUE(budget.try_withdraw(kStart));
  EXPECT_FALSE(budget.try_withdraw(kStart));
}

TEST(RetryBudgetRefund, OnlyARetryFromTheReserveRefillsItInALaterSlot) {
  const RetryBudgetOptions options = {.percent = Percent(100), .reserve = 1};
  const Instant later = kStart + seconds(3);
  for (const bool of_reserve : {false, true}) {
    RetryBudget budget(options);
    budget.on_request(kStart);
    const Grant earned = budget.try_withdraw(kStart);
    const Grant reserved = budget.try_withdraw(kStart);
    ASSERT_TRUE(earned && reserved);
    for (int i = 0; i < 2; ++i) budget.on_request(later);
    ASSERT_TRUE(budget.try_withdraw(later));  // It pays for `reserved`, too.
    budget.refund(of_reserve ? reserved : earned);
    ASSERT_TRUE(budget.try_withdraw(later));
    EXPECT_EQ(static_cast<bool>(budget.try_withdraw(later)), of_reserve);
  }
}

TEST(RetryBudgetRefund, ARefundRefillsTheReserveThatPaidAndNoOther) {
  for (std::size_t which = 0; which < 3; ++which) {
    const auto options = [which](std::size_t level) {
      return RetryBudgetOptions{.percent = Percent(0),
                                .reserve = level == which ? 1 : 0,
                                .min_per_second = level == which ? 0 : 10};
    };
    RetryBudget top(options(2));
    RetryBudget middle(options(1), &top);
    RetryBudget budget(options(0), &middle);
    const Grant grant = budget.try_withdraw(kStart);
    EXPECT_EQ(grant.from_reserve, 1U << which);
    EXPECT_FALSE(budget.try_withdraw(kStart));
    budget.refund(grant);
    EXPECT_TRUE(budget.try_withdraw(kStart)) << which;
    EXPECT_FALSE(budget.try_withdraw(kStart));
  }
}

TEST(RetryBudgetRefund, AReserveThatSuccessesRefilledMeanwhileHoldsNoMore) {
  RetryBudget budget(RetryBudgetOptions{.percent = Percent(0), .reserve = 1});
  const Grant grant = budget.try_withdraw(kStart);
  budget.on_success(kStart);
  budget.refund(grant);
  EXPECT_TRUE(budget.try_withdraw(kStart + seconds(100)));
  EXPECT_FALSE(budget.try_withdraw(kStart + seconds(200)));
}

TEST(RetryBudgetRefund, ARetryFromBeforeTheBoundHasNoPlaceInFlight) {
  RetryBudget parent(bounded(-1));
  RetryBudget child(bounded(-1), &parent);
  child.on_retry_done(child.try_withdraw(kStart));
  parent.on_retry_done(parent.try_withdraw(kStart));
  child.reload(bounded(1), kStart);
  expect_one_in_flight(child);
  child.reload(bounded(-1), kStart);
  parent.reload(bounded(1), kStart);
  expect_one_in_flight(child);
}

TEST(RetryBudgetRefund, EveryBudgetOfAChainIsRefundedInItsOwnSlot) {
  const RetryBudgetOptions floor = {.percent = Percent(0), .reserve = 0, .min_per_second = 10};
  RetryBudget top(floor);
  RetryBudget third(floor, &top);
  RetryBudget second(floor, &third);
  RetryBudget first(floor, &second);
  RetryBudget budget(floor, &first);
  ASSERT_TRUE(third.try_withdraw(kStart + seconds(3)));  // They are ahead by 3, 2 and 1 slots.
  ASSERT_TRUE(second.try_withdraw(kStart + seconds(2)));
  ASSERT_TRUE(first.try_withdraw(kStart + seconds(1)));
  const Grant grant = budget.try_withdraw(kStart);
  ASSERT_TRUE(grant);
  const Instant later = kStart + seconds(6);
  ASSERT_TRUE(budget.try_withdraw(later));  // The slots have ended.
  budget.refund(grant);
  EXPECT_EQ(budget.balance(later), 99);
  EXPECT_EQ(first.balance(later), 98);
  EXPECT_EQ(second.balance(later), 97);
  EXPECT_EQ(third.balance(later), 96);
  EXPECT_EQ(top.balance(later), 96);
}

TEST(RetryBudgetRefund, ARefundOfWhatAReloadForgotChangesNothing) {
  RetryBudget budget(RetryBudgetOptions{.percent = Percent(100), .reserve = 1});
  budget.on_request(kStart);
  const Grant grant = budget.try_withdraw(kStart);
  budget.reload({.percent = Percent(0), .reserve = 1}, kStart);
  budget.refund(grant);
  EXPECT_TRUE(budget.try_withdraw(kStart));  // The reserve.
  EXPECT_FALSE(budget.try_withdraw(kStart));
}

TEST(RetryBudgetRefund, ARefundAfterAReloadIsKeptInTheNextSlot) {
  RetryBudget budget(RetryBudgetOptions{.percent = Percent(100), .reserve = 0});
  for (int i = 0; i < 2; ++i) budget.on_request(kStart);
  const Grant grant = budget.try_withdraw(kStart);
  ASSERT_TRUE(budget.try_withdraw(kStart));
  budget.reload({.percent = Percent(100), .reserve = 0}, kStart);
  budget.refund(grant);
  EXPECT_TRUE(budget.try_withdraw(kStart + seconds(1)));
  EXPECT_FALSE(budget.try_withdraw(kStart + seconds(1)));
}

TEST(RetryBudgetRefund, HowFullItIs) {
  RetryBudget budget(RetryBudgetOptions{.percent = Percent(100), .reserve = 2});
  EXPECT_EQ(budget.fill(kStart), 1);  // Nothing is spent.
  for (int i = 0; i < 4; ++i) budget.on_request(kStart);
  EXPECT_EQ(budget.fill(kStart), 1);
  ASSERT_TRUE(budget.try_withdraw(kStart));
  EXPECT_EQ(budget.fill(kStart), 0.75);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(budget.try_withdraw(kStart));
  EXPECT_EQ(budget.fill(kStart), 0);
  ASSERT_TRUE(budget.try_withdraw(kStart));  // From the reserve.
  EXPECT_EQ(budget.fill(kStart), 0);
}

}  // namespace
}  // namespace damper::admit
