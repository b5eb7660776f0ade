#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "damper/base/atomic.h"
#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"
#include "damper/base/seqlock.h"
#include "damper/base/sharded_slot_ring.h"
#include "damper/base/slot_ring.h"

namespace damper::admit {

enum class DepositOn : std::uint8_t { request, success };

struct RetryBudgetOptions {
  static constexpr Range<Percent> kPercent{Percent(0), Percent(1000)};
  static constexpr Range<Duration> kWindow{std::chrono::seconds(1), std::chrono::hours(1)};
  static constexpr Range<std::int32_t> kReserve{0, 1000};
  static constexpr Range<std::int32_t> kMinPerSecond{0, 10'000};
  static constexpr Range<std::int32_t> kMinRetryConcurrency{-1, 1'000'000};

  Percent percent = Percent(10);
  Duration window = std::chrono::seconds(10);
  std::int32_t reserve = 3;         // retries
  std::int32_t min_per_second = 0;  // a loophole, see below
  DepositOn deposit_on = DepositOn::request;
  // Envoy's bound, in addition to the window's: retries in flight <= max(this, percent * requests
  // in flight). -1 disables it.
  std::int32_t min_retry_concurrency = -1;

  friend bool operator==(const RetryBudgetOptions&, const RetryBudgetOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const RetryBudgetOptions& options);

// A RetryGrant is the right to one retry, and what is needed to give it back. The masks have a bit
// for each budget of the chain; the lowest is that of the budget that granted it.
struct RetryGrant {
  Instant at{};  // of the withdrawal
  // How many slots later than `at` each budget of the chain paid, since another thread was ahead in
  // it; the last number is for all budgets from there on. A refund has to find the same slot.
  std::array<std::uint8_t, 4> ahead{};
  std::uint8_t from_reserve = 0;
  std::uint8_t entered = 0;  // the budgets that count it as in flight
  bool granted = false;
  [[nodiscard]] explicit operator bool() const noexcept { return granted; }
};

// A RetryBudget bounds retries to a fraction of recent requests.
//
// Why: a cap per request ("three tries") multiplies load exactly when the dependency can least
// afford it. A bound on retries in flight is no bound on their rate: fast failures get hundreds of
// retries a second through it (trap B4). A minimum rate of retries for each client is no bound
// either: a thousand quiet clients together retry everything (trap B8).
// Model: a request deposits `percent`, a retry withdraws one; both are forgotten after `window`.
// In addition there is a reserve, full at first, for a client that is new or quiet: it is spent
// after the percentage and refilled by successes alone, one by one, so an outage drains it once.
// `min_per_second` always allows that rate of retries, for compatibility with Finagle.
// Invariants:
//   (1) At each grant, the retries granted in the window that ends now, this one included, are at
//       most percent * deposits in it + min_per_second * window + reserve: exactly, for every
//       percent. (Later the deposits may expire before the retries that they paid for.)
//   (2) A refused withdrawal changes nothing.
//   (3) Under contention it is never overdrawn, also beside a reload; a race may refuse a retry
//       that a moment later would have been granted. A refund in the slot of its withdrawal is
//       exact; one that races with the end of the slot, or one of an earlier slot that races with
//       a reload, may be lost until the withdrawal is forgotten.
//   (4) Nothing counts for longer than its window, however seldom the budget is used; a withdrawal
//       counts up to one slot longer, a deposit up to one slot shorter. A slot is a tenth of the
//       window (small: a fifth).
//   (5) Of nested budgets, all pay or none.
//   (6) A reload keeps the fill: the part of what was earned that is spent stays the same.
// Thread safety: all methods may be called concurrently, reload() with all but itself. No locks;
// but a withdrawal reads seqlocks, and repeats that while another thread writes one.
// Cost: no allocation; a deposit is a load and a store (the first two threads) or one
// compare-and-swap, a grant is one compare-and-swap; 704 bytes (small: 272).
template <Footprint kFootprint>
class BasicRetryBudget {
 public:
  using Grant = RetryGrant;
  using Parent = BasicRetryBudget<Footprint::large>;

  // `parent` also has to agree to each withdrawal, and gets each deposit; it outlives this one.
  explicit BasicRetryBudget(const RetryBudgetOptions& options = {},
                            Parent* parent = nullptr) noexcept;
  BasicRetryBudget(const BasicRetryBudget&) = delete;
  BasicRetryBudget& operator=(const BasicRetryBudget&) = delete;

  // A request starts; an attempt succeeded. `deposit_on` selects which of them deposits; only the
  // latter refills the reserve.
  void on_request(Instant now) noexcept {
    on_request_here(now);
    for (Parent* budget = parent_; budget != nullptr; budget = budget->parent_) {
      budget->on_request_here(now);
    }
  }
  void on_success(Instant now) noexcept {
    on_success_here(now);
    for (Parent* budget = parent_; budget != nullptr; budget = budget->parent_) {
      budget->on_success_here(now);
    }
  }

  // Pays for one retry, here and in every parent, or nowhere. `active` is the number of requests in
  // flight; only the concurrency bound reads it. A granted retry ends in either refund() or
  // on_retry_done().
  [[nodiscard]] Grant try_withdraw(Instant now, std::int64_t active = 0) noexcept {
    const bool alone =
        parent_ == nullptr && !has_concurrency_bound_.load(std::memory_order_relaxed);
    return alone ? try_withdraw_here(now) : try_withdraw_everywhere(now, active);
  }

  // The retry was not sent: its payment is returned, in each budget in the slot that paid it.
  void refund(const Grant& grant) noexcept;

  // The retry has ended: it leaves the concurrency bound.
  void on_retry_done(const Grant& grant) noexcept;

  // The number of retries that could be granted now, without regard to the parents: at most 2^20 -
  // 1 in one slot.
  [[nodiscard]] double balance(Instant now) const noexcept;
  // The share of the earned retries that is left, from 0 to 1; 1 when nothing was ever spent.
  [[nodiscard]] double fill(Instant now) const noexcept;

  void reload(const RetryBudgetOptions& options, Instant now) noexcept;

 private:
  // Amounts are in units of 1/10,000 of a retry, so that a Percent multiplies exactly.
  static constexpr std::int64_t kRetry = Percent::kDenominator;
  // One slot more than the window has: a withdrawal is never forgotten before the deposits that
  // paid for it.
  using Withdrawals =
      std::conditional_t<kFootprint == Footprint::large, SlotRing<11>, SlotRing<6, 8>>;
  using Deposits = std::conditional_t<kFootprint == Footprint::large, ShardedSlotRing<2>,
                                      RingOf<Footprint::small>>;
  static constexpr int kLive = RingOf<kFootprint>::kLiveSlots;
  template <Footprint>
  friend class BasicRetryBudget;  // A budget pays in its parents, too.

  struct Terms {
    SlotClock clock;
    std::int64_t per_deposit = 0;  // units
    std::int64_t floor = 0;        // units: min_per_second * window
    std::int32_t reserve = 0;      // retries
    std::int32_t min_concurrency = -1;
  };
  // The state of withdrawals: the current slot, the reserve, and the withdrawals granted in the
  // slot. Packed in one word, so that a grant is one compare-and-swap.
  struct Packed {
    std::uint32_t slot = 0;
    std::uint32_t reserve = 0;  // 11 bits
    bool closed = false;        // by a reload: nothing is granted
    std::uint32_t passed = 0;   // 20 bits: a million in a tenth of the window is the most
  };
  // The sum over the slots before the current one. They do not change any more, so it is computed
  // once for each slot.
  struct PastSlots {
    std::uint32_t slot = 0;
    std::int64_t balance = 0;  // units: earned, the floor included, less spent
    std::int64_t per_deposit = 0;
    std::int64_t reserve = 0;  // units
  };

  static constexpr std::uint32_t kMostPassed = (1U << 20) - 1;
  static std::uint64_t pack(Packed packed) noexcept {
    return std::uint64_t{packed.slot} << 32 | std::uint64_t{packed.closed} << 31 |
           std::uint64_t{packed.reserve} << 20 | packed.passed;
  }
  static Packed unpack(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word >> 20 & 0x7ff),
            (word >> 31 & 1) != 0, static_cast<std::uint32_t>(word & kMostPassed)};
  }

  [[nodiscard]] bool deposits_on(DepositOn when) const noexcept {
    return deposit_on_.load(std::memory_order_relaxed) == when;
  }
  [[nodiscard]] bool reserve_is_full() const noexcept {
    return unpack(packed_.load(std::memory_order_relaxed)).reserve >=
           reserve_most_.load(std::memory_order_relaxed);
  }
  void deposit(Instant now) noexcept { deposits_.add(clock_.load().slot(now)); }
  void on_request_here(Instant now) noexcept {
    if (deposits_on(DepositOn::request)) deposit(now);
  }
  void on_success_here(Instant now) noexcept {
    if (deposits_on(DepositOn::success)) [[unlikely]]
      deposit(now);
    if (!reserve_is_full()) [[unlikely]]
      refill_reserve();
  }

  struct Totals {
    std::int64_t earned = 0;  // units, the reserve left out
    std::int64_t spent = 0;   // units
  };
  [[nodiscard]] Totals totals(const Terms& terms, Instant now) const noexcept;
  PastSlots look_back(std::uint32_t slot) noexcept;
  std::uint64_t enter_slot(std::uint64_t word, std::uint32_t slot) noexcept;
  void scale_spent(const Terms& old, const Terms& terms, Instant now) noexcept;
  void refill_reserve() noexcept;
  Grant try_withdraw_here(Instant now) noexcept;
  Grant try_withdraw_everywhere(Instant now, std::int64_t active) noexcept;
  void refund_here(const Grant& grant, std::size_t level) noexcept;
  bool try_enter(std::int64_t active, std::uint8_t& entered) noexcept;

  Parent* const parent_;
  Atomic<DepositOn> deposit_on_{DepositOn::request};
  Atomic<bool> has_concurrency_bound_{false};
  Atomic<std::uint32_t> reserve_most_{0};
  Seqlock<SlotClock> clock_;
  Deposits deposits_;
  Withdrawals withdrawals_;  // of the slots before that of packed_
  Atomic<std::uint64_t> packed_{0};
  Seqlock<PastSlots> past_;
  Seqlock<Terms> terms_;
  Atomic<std::int32_t> in_flight_{0};  // retries
};

using RetryBudget = BasicRetryBudget<Footprint::large>;
using SmallRetryBudget = BasicRetryBudget<Footprint::small>;

extern template class BasicRetryBudget<Footprint::large>;
extern template class BasicRetryBudget<Footprint::small>;

}  // namespace damper::admit
