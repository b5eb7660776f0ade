#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "damper/admit/retry_budget.h"
#include "tests/interleavings/interleavings_testing.h"

namespace damper::interleavings {
namespace {

using admit::RetryBudgetOptions;
using admit::RetryGrant;
using admit::SmallRetryBudget;
using namespace std::chrono_literals;

constexpr Instant kStart{1000s};
constexpr Instant kNextSlot = kStart + 2s;  // of five in 10 s
constexpr RetryBudgetOptions kEarned{.percent = Percent(100), .window = 10s, .reserve = 0};
constexpr RetryBudgetOptions kReserved{.percent = Percent(0), .window = 10s, .reserve = 2};

enum class Refunds : std::uint8_t { exact, may_be_lost };

// A budget that can pay for two retries, and its books.
template <Refunds kRefunds = Refunds::exact>
class BudgetWorld {
 public:
  static constexpr int kThreads = 2;
  static constexpr int kPayable = 2;

  explicit BudgetWorld(const RetryBudgetOptions& options = kEarned) : budget_(options) {
    for (int i = 0; i < kPayable; ++i) budget_.on_request(kStart);
  }
  // What is left is granted when nothing else runs: nothing was lost, and nothing overdrawn.
  std::string fault() {
    while (withdraw(kNextSlot)) {
    }
    if (most_out_ > kPayable) return "overdrawn: " + std::to_string(most_out_) + " retries";
    const int lost = kPayable - out_;
    return lost <= (kRefunds == Refunds::exact ? 0 : refunds_) ? "" : "a refund was lost";
  }

 protected:
  RetryGrant withdraw(Instant now) {
    Scheduler::note("withdraw");
    const RetryGrant grant = budget_.try_withdraw(now);
    if (grant) Scheduler::note("granted");
    out_ += grant ? 1 : 0;
    most_out_ = std::max(most_out_, out_);
    return grant;
  }
  void refund(const RetryGrant& grant) {
    if (!grant) return;
    Scheduler::note("refund");
    ++refunds_;
    --out_;  // Before: another thread may get it at once.
    budget_.refund(grant);
  }
  void reload(const RetryBudgetOptions& options, Instant now) {
    Scheduler::note("reload");
    budget_.reload(options, now);
  }

 private:
  SmallRetryBudget budget_;
  int out_ = 0;
  int most_out_ = 0;
  int refunds_ = 0;
};

class WithdrawWorld : public BudgetWorld<> {
 public:
  void run(int /*thread*/) {
    withdraw(kStart);
    refund(withdraw(kStart));
    withdraw(kStart);
  }
};
TEST(Interleavings, ABudgetIsNotOverdrawnAndLosesNoRefund) {
  expect_sound<WithdrawWorld>(2, 1'000);
}

class SlotEndWorld : public BudgetWorld<Refunds::may_be_lost> {
 public:
  void run(int /*thread*/) {
    withdraw(kStart);
    refund(withdraw(kStart));
    withdraw(kNextSlot);
  }
};
TEST(Interleavings, ABudgetIsNotOverdrawnAtTheEndOfASlot) { expect_sound<SlotEndWorld>(2, 1'000); }

// A withdrawal sums the earlier slots while another thread refunds retries of them.
class LateRefundWorld : public BudgetWorld<> {
 public:
  LateRefundWorld() : first_(withdraw(kStart)), second_(withdraw(kStart)) { withdraw(kNextSlot); }
  void run(int thread) {
    if (thread == 0) {
      refund(first_);
      refund(second_);
    } else {
      withdraw(kNextSlot);
      withdraw(kNextSlot);
    }
  }

 private:
  RetryGrant first_;
  RetryGrant second_;
};
TEST(Interleavings, ARefundOfAnEarlierSlotIsSeen) { expect_sound<LateRefundWorld>(3, 1'000); }

// The slot ends while the reload carries the counts.
class ReloadWorld : public BudgetWorld<> {
 public:
  void run(int thread) {
    if (thread == 0) return reload(kEarned, kStart);
    withdraw(kStart);
    withdraw(kNextSlot);
    withdraw(kNextSlot);
  }
};
TEST(Interleavings, ABudgetIsNotOverdrawnBesideAReload) { expect_sound<ReloadWorld>(2, 1'000); }

class RefundWorld : public BudgetWorld<> {
 public:
  void run(int thread) {
    if (thread == 0) return reload(kEarned, kStart);
    const RetryGrant first = withdraw(kStart);
    refund(withdraw(kStart));
    refund(first);
  }
};
TEST(Interleavings, NoRefundIsLostBesideAReload) { expect_sound<RefundWorld>(2, 1'000); }

class ReserveWorld : public BudgetWorld<> {
 public:
  ReserveWorld() : BudgetWorld(kReserved) {}
  void run(int thread) {
    if (thread == 0) return reload(kReserved, kStart);
    const RetryGrant grant = withdraw(kStart);
    withdraw(kStart);
    refund(grant);
  }
};
TEST(Interleavings, NoRefundOfTheReserveIsLostBesideAReload) {
  expect_sound<ReserveWorld>(2, 1'000);
}

// Of nested budgets, all pay or none.
class NestedWorld {
 public:
  static constexpr int kThreads = 2;
  NestedWorld() { parent_.on_request(kStart); }
  void run(int thread) {
    admit::SmallRetryBudget& mine = thread == 0 ? first_ : second_;
    for (int i = 0; i < 2; ++i) {
      if (const RetryGrant grant = mine.try_withdraw(kStart)) {
        ++out_;
        if (i == 0) {
          --out_;
          mine.refund(grant);
        }
      }
    }
  }
  std::string fault() {
    while (first_.try_withdraw(kStart)) ++out_;
    if (out_ != 1) return std::to_string(out_) + " retries of a parent that pays for one";
    const double left = first_.balance(kStart) + second_.balance(kStart);
    return left == 3 ? "" : "a refused retry was paid for: " + std::to_string(left) + " left";
  }

 private:
  static constexpr RetryBudgetOptions kTwo{.percent = Percent(0), .window = 10s, .reserve = 2};
  admit::RetryBudget parent_{kEarned};
  SmallRetryBudget first_{kTwo, &parent_};
  SmallRetryBudget second_{kTwo, &parent_};
  int out_ = 0;
};
TEST(Interleavings, OfNestedBudgetsAllPayOrNone) { expect_sound<NestedWorld>(1, 100); }

// Retries in flight are bounded, and each place returns.
class BoundWorld {
 public:
  static constexpr int kThreads = 2;
  void run(int /*thread*/) {
    for (int i = 0; i < 3; ++i) {
      const RetryGrant grant = budget_.try_withdraw(kStart, 0);
      if (!grant) continue;
      too_many_ = ++in_flight_ > 1 || too_many_;
      Scheduler::pause();
      --in_flight_;
      budget_.on_retry_done(grant);
    }
  }
  std::string fault() {
    if (too_many_) return "two retries in flight under a bound of one";
    return budget_.try_withdraw(kStart, 0) ? "" : "a place is lost";
  }

 private:
  SmallRetryBudget budget_{
      {.percent = Percent(0), .window = 10s, .reserve = 100, .min_retry_concurrency = 1}};
  int in_flight_ = 0;
  bool too_many_ = false;
};
TEST(Interleavings, RetriesInFlightAreBounded) { expect_sound<BoundWorld>(2, 1'000); }

// Three threads, and a reload in each slot.
class RandomBudgetWorld : public BudgetWorld<Refunds::may_be_lost> {
 public:
  static constexpr int kThreads = 3;
  void run(int thread) {
    if (thread == 0) {
      reload(kEarned, kStart);
      reload(kEarned, kNextSlot);
      return;
    }
    std::vector<RetryGrant> grants;
    grants.push_back(withdraw(kStart));
    grants.push_back(withdraw(kNextSlot));
    for (const RetryGrant& grant : grants) refund(grant);
    withdraw(kNextSlot);
  }
};
TEST(Interleavings, RandomSchedulesOfABudget) { expect_sound_at_random<RandomBudgetWorld>(20'000); }

}  // namespace
}  // namespace damper::interleavings
