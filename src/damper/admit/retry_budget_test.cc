#include "damper/admit/retry_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <thread>
#include <type_traits>
#include <vector>

#include "damper/base/random.h"

namespace damper::admit {
namespace {

using namespace std::chrono_literals;

// Ten per cent over ten seconds, and no reserve: what was deposited is all there is.
constexpr RetryBudgetOptions kPlain = {.percent = Percent(10), .window = 10s, .reserve = 0};

template <class Budget>
class AnyRetryBudget : public testing::Test {};
using Budgets = testing::Types<RetryBudget, SmallRetryBudget>;
TYPED_TEST_SUITE(AnyRetryBudget, Budgets);

// The slots of a window of 10 s.
template <class Budget>
constexpr Duration kSlot = std::is_same_v<Budget, RetryBudget> ? 1s : 2s;

void deposit(auto& budget, int times, Instant now) {
  for (int i = 0; i < times; ++i) budget.on_request(now);
}

int withdraw_all(auto& budget, Instant now, int most = 1'000'000) {
  int granted = 0;
  while (granted < most && budget.try_withdraw(now)) ++granted;
  return granted;
}

TYPED_TEST(AnyRetryBudget, TenRequestsPayForOneRetry) {
  TypeParam budget(kPlain);
  deposit(budget, 9, Instant{1s});
  EXPECT_FALSE(budget.try_withdraw(Instant{1s}));
  deposit(budget, 1, Instant{1s});
  EXPECT_TRUE(budget.try_withdraw(Instant{1s}));
  EXPECT_FALSE(budget.try_withdraw(Instant{1s}));
}

TYPED_TEST(AnyRetryBudget, TrapB1_EveryPercentIsExact) {  // Invariant (1): 40 % means 40 %.
  for (std::int32_t percent = 0; percent <= 1000; ++percent) {
    TypeParam budget({.percent = Percent(percent), .reserve = 0});
    deposit(budget, 100, Instant{1s});
    ASSERT_EQ(withdraw_all(budget, Instant{1s}), percent) << percent << " %";
  }
  TypeParam finest({.percent = Percent::from_hundredths(1), .reserve = 0});
  deposit(finest, 9'999, Instant{1s});
  EXPECT_FALSE(finest.try_withdraw(Instant{1s}));
  deposit(finest, 1, Instant{1s});
  EXPECT_TRUE(finest.try_withdraw(Instant{1s}));
}

TYPED_TEST(AnyRetryBudget, TrapB5_ARefusedWithdrawalChangesNothing) {  // Invariant (2).
  TypeParam budget(kPlain);
  deposit(budget, 5, Instant{1s});
  for (int i = 0; i < 1'000; ++i) ASSERT_FALSE(budget.try_withdraw(Instant{1s}));
  EXPECT_EQ(budget.balance(Instant{1s}), 0.5);
  deposit(budget, 5, Instant{1s});
  EXPECT_TRUE(budget.try_withdraw(Instant{1s}));
}

// Invariant (4). Finagle's and tower's windows keep a deposit for twice as long when they are
// polled just under once a slot.
TYPED_TEST(AnyRetryBudget, TrapB3_ADepositNeverOutlivesItsWindowHoweverOftenItIsAsked) {
  for (const Duration poll : {10ms, 999ms, 1000ms, 1001ms, 9999ms}) {
    TypeParam budget(kPlain);
    deposit(budget, 1'000, Instant{100s});
    for (Instant now{100s}; now < Instant{110s}; now += poll) (void)budget.balance(now);
    EXPECT_EQ(budget.balance(Instant{109s - 1ns}), 100.0);
    EXPECT_EQ(budget.balance(Instant{110s}), 0.0) << poll.count();
  }
}

TYPED_TEST(AnyRetryBudget,
           AWithdrawalCountsForAtLeastItsWindow) {  // Invariant (4), the other half.
  TypeParam budget({.percent = Percent(0), .reserve = 0, .min_per_second = 1});
  EXPECT_EQ(withdraw_all(budget, Instant{100s + 999ms}), 10);
  EXPECT_FALSE(budget.try_withdraw(Instant{110s + 999ms - 1ns}));
  EXPECT_FALSE(budget.try_withdraw(Instant{110s} + kSlot<TypeParam> - 1ns));
  EXPECT_EQ(withdraw_all(budget, Instant{110s} + kSlot<TypeParam>), 10);
}

TYPED_TEST(AnyRetryBudget, TrapB4_FastFailuresDoNotRaiseTheRate) {
  TypeParam budget({.percent = Percent(10), .reserve = 3, .min_retry_concurrency = 3});
  int retries = 0;
  for (int ms = 0; ms < 10'000; ++ms) {  // A thousand requests a second; a retry fails at once.
    const Instant now{100s + 1ms * ms};
    budget.on_request(now);
    while (const auto grant = budget.try_withdraw(now, 1)) {
      ++retries;
      budget.on_retry_done(grant);
    }
  }
  EXPECT_LE(retries, 1'003);
  EXPECT_GE(retries, 990);
}

TYPED_TEST(AnyRetryBudget, TheReserveIsSpentAfterThePercentageAndRefilledBySuccessesAlone) {
  TypeParam budget({.percent = Percent(10), .reserve = 3});
  deposit(budget, 10, Instant{1s});
  EXPECT_EQ(withdraw_all(budget, Instant{1s}), 4);  // 1 earned, 3 in reserve.
  deposit(budget, 10, Instant{1s});                 // 2 earned by now, 4 spent.
  EXPECT_EQ(withdraw_all(budget, Instant{1s}), 0);
  EXPECT_EQ(withdraw_all(budget, Instant{100s}), 0);  // Time alone refills nothing.
  budget.on_success(Instant{100s});
  budget.on_success(Instant{100s});
  EXPECT_EQ(withdraw_all(budget, Instant{100s}), 2);
  for (int i = 0; i < 50; ++i) budget.on_success(Instant{200s});
  EXPECT_EQ(withdraw_all(budget, Instant{200s}), 3);  // Never more than the reserve holds.
}

TYPED_TEST(AnyRetryBudget, SuccessesCannotPushRetriesOverTheBoundOfTheWindow) {
  TypeParam budget({.percent = Percent(10), .reserve = 3});
  int retries = 0;
  for (int i = 0; i < 100; ++i) {  // Half fail: each failure retries, each success refills.
    budget.on_request(Instant{1s});
    budget.on_success(Instant{1s});
    if (budget.try_withdraw(Instant{1s})) ++retries;
  }
  EXPECT_EQ(retries, 13);  // 10 % of 100, and 3.
}

// Trap B8: with Finagle's floor of 10 a second each, this fleet retries everything.
TYPED_TEST(AnyRetryBudget, TrapB8_AFleetOfQuietClientsStaysNearOneInAnOutage) {
  for (const auto& [floor, expected] : {std::pair{0, 1.15}, std::pair{10, 3.0}}) {
    int requests = 0;
    int retries = 0;
    for (int client = 0; client < 200; ++client) {
      TypeParam budget({.min_per_second = floor});
      for (int half_second = 0; half_second < 20; ++half_second) {  // Each fails; two retries each.
        const Instant now{100s + half_second * 500ms};
        budget.on_request(now);
        ++requests;
        for (int retry = 0; retry < 2; ++retry) retries += budget.try_withdraw(now) ? 1 : 0;
      }
    }
    const double amplification = 1.0 + static_cast<double>(retries) / requests;
    EXPECT_EQ(amplification, expected);  // The reserve of 3 in 20 requests; or everything.
  }
}

TYPED_TEST(AnyRetryBudget, DepositsOnSuccessWhenSaidSo) {
  TypeParam budget({.reserve = 0, .deposit_on = DepositOn::success});
  deposit(budget, 100, Instant{1s});
  EXPECT_EQ(budget.balance(Instant{1s}), 0.0);
  for (int i = 0; i < 100; ++i) budget.on_success(Instant{1s});
  EXPECT_EQ(budget.balance(Instant{1s}), 10.0);
}

TYPED_TEST(AnyRetryBudget, ARefundRestoresWhatWasPaid) {
  TypeParam budget({.percent = Percent(10), .reserve = 1});
  deposit(budget, 10, Instant{1s});
  const RetryGrant earned = budget.try_withdraw(Instant{1s});
  const RetryGrant reserve = budget.try_withdraw(Instant{1s});
  EXPECT_EQ(earned.from_reserve, 0);
  EXPECT_EQ(reserve.from_reserve, 1);
  EXPECT_FALSE(budget.try_withdraw(Instant{1s}));
  budget.refund(reserve);
  budget.refund(earned);
  EXPECT_EQ(withdraw_all(budget, Instant{1s}), 2);
}

TYPED_TEST(AnyRetryBudget, ARefundCountsAlsoWhenItsSlotIsOver) {
  TypeParam budget({.percent = Percent(10), .reserve = 0});
  deposit(budget, 20, Instant{1s});
  const RetryGrant one = budget.try_withdraw(Instant{1s});
  const RetryGrant two = budget.try_withdraw(Instant{1s});
  EXPECT_FALSE(budget.try_withdraw(Instant{5s}));  // Four slots later it has looked back.
  budget.refund(one);
  budget.refund(two);
  EXPECT_EQ(budget.balance(Instant{5s}), 2.0);
  EXPECT_EQ(withdraw_all(budget, Instant{5s}), 2);
}

TYPED_TEST(AnyRetryBudget, NestedBudgetsAllPayOrNone) {  // Invariant (5).
  RetryBudget process({.percent = Percent(10), .reserve = 2});
  RetryBudget cluster({.percent = Percent(10), .reserve = 100}, &process);
  TypeParam route({.percent = Percent(100), .reserve = 5}, &cluster);
  deposit(route, 10, Instant{1s});  // Earns 10 in the route, 1 each above.
  EXPECT_EQ(process.balance(Instant{1s}), 3.0);
  EXPECT_EQ(withdraw_all(route, Instant{1s}), 3);
  EXPECT_EQ(process.balance(Instant{1s}), 0.0);
  EXPECT_EQ(cluster.balance(Instant{1s}), 98.0);
  EXPECT_EQ(route.balance(Instant{1s}), 12.0);  // 15 less 3: the refused one came back.

  route.on_success(Instant{100s});
  EXPECT_EQ(process.balance(Instant{100s}), 1.0);
  const RetryGrant grant = route.try_withdraw(Instant{100s});
  ASSERT_TRUE(grant);
  EXPECT_EQ(process.balance(Instant{100s}), 0.0);
  route.refund(grant);
  EXPECT_EQ(process.balance(Instant{100s}), 1.0);
}

TYPED_TEST(AnyRetryBudget, AChildThatRefusesCostsTheParentNothing) {
  RetryBudget process({.reserve = 10});
  TypeParam route({.reserve = 0}, &process);
  EXPECT_FALSE(route.try_withdraw(Instant{1s}));
  EXPECT_EQ(process.balance(Instant{1s}), 10.0);
}

// A thread whose time is behind pays in the newest slot; if its parent refuses, the refund has to
// go to that slot, or the budget counts a retry in a slot where none was.
TYPED_TEST(AnyRetryBudget, ARefusingParentRefundsAThreadThatIsBehind) {
  RetryBudget process({.reserve = 0});
  TypeParam route({.percent = Percent(10), .reserve = 0}, &process);
  deposit(route, 9, Instant{1s});    // The process has 0.9: it refuses.
  deposit(route, 20, Instant{50s});  // 2 in each, of which the process spends both.
  ASSERT_EQ(withdraw_all(process, Instant{50s}), 2);
  EXPECT_FALSE(route.try_withdraw(Instant{50s}));  // Makes 50 s the newest slot.
  EXPECT_FALSE(route.try_withdraw(Instant{47s}));  // Behind.
  EXPECT_EQ(route.balance(Instant{50s}), 2.0);
}

TYPED_TEST(AnyRetryBudget, TheConcurrencyBoundIsAnExtra) {
  TypeParam budget({.percent = Percent(20), .reserve = 100, .min_retry_concurrency = 3});
  std::vector<RetryGrant> out;
  for (int i = 0; i < 10; ++i) {
    if (const auto grant = budget.try_withdraw(Instant{1s}, 10)) out.push_back(grant);
  }
  EXPECT_EQ(out.size(), 3u);                          // max(3, 20 % of 10)
  EXPECT_TRUE(budget.try_withdraw(Instant{1s}, 20));  // max(3, 20 % of 20)
  EXPECT_FALSE(budget.try_withdraw(Instant{1s}, 20));
  budget.on_retry_done(out.front());
  EXPECT_TRUE(budget.try_withdraw(Instant{1s}, 20));
  EXPECT_EQ(budget.balance(Instant{1s}), 95.0);  // What the bound refused was not paid.
}

TYPED_TEST(AnyRetryBudget, TrapB6_AReloadKeepsTheFill) {  // Invariant (6).
  TypeParam budget({.percent = Percent(10), .reserve = 4});
  deposit(budget, 1'000, Instant{1s});
  for (int i = 0; i < 50; ++i) (void)budget.try_withdraw(Instant{1s});
  EXPECT_EQ(budget.fill(Instant{1s}), 0.5);

  budget.reload({.percent = Percent(20), .reserve = 4}, Instant{1s});
  EXPECT_EQ(budget.fill(Instant{1s}), 0.5);
  EXPECT_EQ(budget.balance(Instant{1s}), 104.0);

  budget.reload({.percent = Percent(5), .reserve = 2}, Instant{1s});
  EXPECT_EQ(budget.fill(Instant{1s}), 0.5);
  EXPECT_EQ(budget.balance(Instant{1s}), 27.0);

  budget.reload({.percent = Percent(5), .window = 60s, .reserve = 2}, Instant{1s});
  EXPECT_EQ(budget.fill(Instant{1s}), 0.5);
  EXPECT_EQ(budget.balance(Instant{55s}), 27.0);  // Now kept for a minute.
  EXPECT_EQ(budget.balance(Instant{73s}), 2.0);
}

TYPED_TEST(AnyRetryBudget, TrapB6_AShorterWindowDoesNotRefillASpentBudget) {
  TypeParam budget({.percent = Percent(10), .reserve = 0});
  for (int second = 0; second < 10; ++second) {
    deposit(budget, 100, Instant{100s + second * 1s});
    EXPECT_EQ(withdraw_all(budget, Instant{100s + second * 1s}), 10);
  }
  budget.reload({.percent = Percent(10), .window = 1s, .reserve = 0}, Instant{109s});
  EXPECT_EQ(withdraw_all(budget, Instant{109s}), 0);
}

TYPED_TEST(AnyRetryBudget, TrapB6_AHigherPercentageDoesNotMultiplyWhatTheReservePaid) {
  TypeParam budget({.percent = Percent(1), .reserve = 3});
  deposit(budget, 100, Instant{1s});
  EXPECT_EQ(withdraw_all(budget, Instant{1s}), 4);  // 1 earned, 3 of the reserve.
  budget.reload({.percent = Percent(20), .reserve = 3}, Instant{1s});
  // 20 are earned now, and 20 spent for the one that was; 3 are still owed to the reserve.
  deposit(budget, 20, Instant{1s});
  EXPECT_EQ(withdraw_all(budget, Instant{1s}), 1);
}

TYPED_TEST(AnyRetryBudget, TrapB6_TakingTheReserveAwayAndGivingItBackRefillsNothing) {
  TypeParam budget({.percent = Percent(0), .reserve = 3});
  EXPECT_EQ(withdraw_all(budget, Instant{1s}), 3);
  budget.reload({.percent = Percent(0), .reserve = 0}, Instant{100s});
  budget.reload({.percent = Percent(0), .reserve = 3}, Instant{100s});
  EXPECT_EQ(withdraw_all(budget, Instant{100s}), 0);
  budget.on_success(Instant{100s});
  EXPECT_EQ(withdraw_all(budget, Instant{100s}), 1);
}

TYPED_TEST(AnyRetryBudget, AReloadWhoseTimeIsBehindForgetsNothing) {
  TypeParam budget({.percent = Percent(10), .reserve = 0});
  deposit(budget, 100, Instant{5s});
  EXPECT_EQ(withdraw_all(budget, Instant{5s}), 10);
  budget.reload({.percent = Percent(10), .reserve = 0}, Instant{4999ms});
  EXPECT_EQ(withdraw_all(budget, Instant{5s}), 0);
}

TYPED_TEST(AnyRetryBudget, ARefundIsNotLostToAReloadOrToAThreadThatIsBehind) {
  TypeParam budget({.percent = Percent(10), .reserve = 0});
  deposit(budget, 20, Instant{5s});
  const RetryGrant one = budget.try_withdraw(Instant{5s});
  const RetryGrant behind = budget.try_withdraw(Instant{4500ms});
  budget.refund(behind);
  EXPECT_EQ(budget.balance(Instant{5s}), 1.0);
  budget.refund(one);
  const RetryGrant two = budget.try_withdraw(Instant{5s});
  budget.reload({.percent = Percent(10), .reserve = 0}, Instant{5s});
  budget.refund(budget.try_withdraw(Instant{5s}));
  EXPECT_EQ(budget.balance(Instant{6s}), 1.0);
  EXPECT_EQ(withdraw_all(budget, Instant{7s}), 1);
  EXPECT_TRUE(two);
}

// A reload that a refund overtakes must not take the difference for a billion retries.
TYPED_TEST(AnyRetryBudget, ReloadsBesideRefundsNeverLockTheBudget) {
  TypeParam budget({.percent = Percent(10), .reserve = 1});
  std::atomic<bool> done{false};
  std::jthread refunder([&] {
    while (!done.load()) {
      if (const auto grant = budget.try_withdraw(Instant{5s})) budget.refund(grant);
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    budget.reload({.percent = Percent(10), .reserve = 1}, Instant{6s});
    ASSERT_GE(budget.fill(Instant{6s}), 0.0);
  }
  done.store(true);
  refunder.join();
  deposit(budget, 1'000, Instant{7s});
  EXPECT_GT(budget.balance(Instant{7s}), 90.0);
}

TYPED_TEST(AnyRetryBudget, ASpentBudgetStaysSpentThroughAHundredReloads) {
  TypeParam budget({.percent = Percent(10), .reserve = 3});
  deposit(budget, 1'000, Instant{1s});
  (void)withdraw_all(budget, Instant{1s});
  for (int i = 0; i < 100; ++i) {
    const std::int32_t percent = i % 2 == 0 ? 20 : 10;
    budget.reload({.percent = Percent(percent), .reserve = 3}, Instant{1s});
    ASSERT_FALSE(budget.try_withdraw(Instant{1s}));
  }
}

// Invariant (1), against a list of exact times, and trap B7: what is earned comes back for ever.
TYPED_TEST(AnyRetryBudget, TrapB7_TheBoundHoldsAndTheQuotaRefillsOverLongRandomRuns) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const auto percent = static_cast<std::int32_t>(random.draw() * 100);
    TypeParam budget({.percent = Percent(percent), .reserve = 2, .min_per_second = 1});
    std::deque<Instant> requests;
    std::deque<Instant> retries;
    std::int64_t granted = 0;
    Instant now{1000s};
    for (int i = 0; i < 20'000; ++i) {
      now += Duration{static_cast<std::int64_t>(random.draw() * 20e6)};
      while (!requests.empty() && requests.front() <= now - 10s) requests.pop_front();
      while (!retries.empty() && retries.front() <= now - 10s) retries.pop_front();
      if (random.draw() < 0.5) {
        budget.on_request(now);
        requests.push_back(now);
      } else if (budget.try_withdraw(now)) {
        retries.push_back(now);
        ++granted;
        const auto most = static_cast<std::int64_t>(requests.size()) * percent + (10 + 2) * 100;
        ASSERT_LE(static_cast<std::int64_t>(retries.size()) * 100, most) << "seed " << seed;
      } else if (random.draw() < 0.1) {
        budget.on_success(now);
      }
    }
    const double seconds = std::chrono::duration<double>(now - Instant{1000s}).count();
    EXPECT_GT(static_cast<double>(granted), 0.8 * std::min(9'000.0, percent * 90.0 + seconds))
        << "seed " << seed;
  }
}

TYPED_TEST(AnyRetryBudget, TimeGoingBackwardsIsHarmless) {
  TypeParam budget(kPlain);
  deposit(budget, 100, Instant{100s});
  deposit(budget, 100, Instant{99s});
  EXPECT_EQ(budget.balance(Instant{100s}), 20.0);
  EXPECT_TRUE(budget.try_withdraw(Instant{99s}));
  EXPECT_EQ(budget.balance(Instant{100s}), 19.0);
  (void)budget.try_withdraw(Instant{-1s});
}

// Trap B2: check, then withdraw. Without the gate's compare-and-swap this reports an overdraft.
TYPED_TEST(AnyRetryBudget, TrapB2_ThreadsNeverOverdrawIt) {  // Invariant (3).
  for (int round = 0; round < 30; ++round) {
    TypeParam budget({.percent = Percent(10), .reserve = 7});
    deposit(budget, 1'000, Instant{1s});
    std::atomic<int> granted{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 200; ++j) {
          if (budget.try_withdraw(Instant{1s})) granted.fetch_add(1);
        }
      });
    }
    threads.clear();
    ASSERT_EQ(granted.load(), 107);
  }
}

TYPED_TEST(AnyRetryBudget, ThreadsThatDepositWithdrawAndRefundKeepTheBooks) {
  RetryBudget process({.percent = Percent(5), .reserve = 0});
  TypeParam route({.percent = Percent(10), .reserve = 0}, &process);
  std::atomic<int> kept{0};
  std::vector<std::jthread> threads;
  for (std::uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Random random(i);
      for (int j = 0; j < 5'000; ++j) {
        route.on_request(Instant{1s});
        if (const auto grant = route.try_withdraw(Instant{1s})) {
          if (random.draw() < 0.5) {
            route.refund(grant);
          } else {
            kept.fetch_add(1);
          }
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(process.balance(Instant{1s}), 1000.0 - kept.load());
  EXPECT_EQ(route.balance(Instant{1s}), 2000.0 - kept.load());
  EXPECT_LE(kept.load(), 1000);
}

TEST(RetryBudget, HasTheSizeOfItsFootprint) {
  EXPECT_LE(sizeof(RetryBudget), 1024u);
  EXPECT_LE(sizeof(SmallRetryBudget), 320u);
}

TEST(RetryBudget, BadOptionsGetASentence) {
  EXPECT_EQ(find_error(RetryBudgetOptions{}), std::nullopt);
  for (const RetryBudgetOptions& bad :
       {RetryBudgetOptions{.percent = Percent(-1)}, RetryBudgetOptions{.percent = Percent(1001)},
        RetryBudgetOptions{.window = 999ms}, RetryBudgetOptions{.window = 61min},
        RetryBudgetOptions{.reserve = -1}, RetryBudgetOptions{.reserve = 1001},
        RetryBudgetOptions{.min_per_second = -1}, RetryBudgetOptions{.min_per_second = 10'001},
        RetryBudgetOptions{.min_retry_concurrency = -2}}) {
    EXPECT_NE(find_error(bad), std::nullopt);
  }
}

}  // namespace
}  // namespace damper::admit
