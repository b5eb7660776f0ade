#include "damper/admit/retry_budget.h"

#include <algorithm>
#include <chrono>

#include "damper/base/check.h"

namespace damper::admit {

std::optional<std::string> find_error(const RetryBudgetOptions& options) {
  using std::chrono::hours;
  using std::chrono::seconds;
  if (options.percent < Percent(0) || options.percent > Percent(1000)) {
    return "budget_percent must be 0 to 1000";
  }
  if (options.window < seconds(1) || options.window > hours(1)) {
    return "retry_budget window must be 1s to 1h";
  }
  if (options.reserve < 0 || options.reserve > 1000) return "reserve must be 0 to 1000";
  if (options.min_per_second < 0 || options.min_per_second > 10'000) {
    return "min_retries_per_second must be 0 to 10000";
  }
  if (options.min_retry_concurrency < -1 || options.min_retry_concurrency > 1'000'000) {
    return "min_retry_concurrency must be 0 to 1000000, or -1 for no such bound";
  }
  return std::nullopt;
}

RetryBudget::RetryBudget(const RetryBudgetOptions& options, RetryBudget* parent) noexcept
    : parent_(parent) {
  DAMPER_CHECK(!find_error(options));
  reload(options, Instant{});
}

RetryBudget::Terms RetryBudget::terms_of(const RetryBudgetOptions& options,
                                         const SlotClock& clock) noexcept {
  return {.clock = clock,
          .per_deposit = options.percent.hundredths(),
          .floor = options.min_per_second * (options.window.count() / 1'000) * kRetry / 1'000'000,
          .reserve = options.reserve,
          .min_concurrency = options.min_retry_concurrency,
          .deposit_on = options.deposit_on};
}

RetryBudget::Account RetryBudget::account(const Terms& terms, std::uint32_t slot) const noexcept {
  return {
      .earned = static_cast<std::int64_t>(deposits_.sum(slot)) * terms.per_deposit + terms.floor,
      .spent = static_cast<std::int64_t>(withdrawals_.sum(slot)) * kRetry};
}

RetryBudget::Grant RetryBudget::try_withdraw_here(Instant now) noexcept {
  const Terms terms = terms_.load();
  const std::uint32_t slot = terms.clock.slot(now);
  std::uint64_t gate = gate_.load(std::memory_order_acquire);
  for (;;) {
    const auto [earned, spent] = account(terms, slot);
    const std::uint64_t reserve = gate & kReserveMask;
    const bool from_reserve = spent + kRetry > earned;
    if (from_reserve && (reserve == 0 || spent + kRetry > earned + terms.reserve * kRetry)) {
      return {};
    }
    if (!withdrawals_.add(slot)) return {};  // Time went back too far to count it.
    const std::uint64_t passed = gate + kReserveMask + 1 - (from_reserve ? 1 : 0);
    if (gate_.compare_exchange_strong(gate, passed, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      return {.at = now, .from_reserve = from_reserve, .granted = true};
    }
    withdrawals_.take(slot);  // Another one passed first: look again.
  }
}

void RetryBudget::refund_here(Instant at, bool from_reserve) noexcept {
  withdrawals_.take(terms_.load().clock.slot(at));
  if (from_reserve) refill_reserve();
}

void RetryBudget::refill_reserve() noexcept {
  std::uint64_t gate = gate_.load(std::memory_order_relaxed);
  const auto most = static_cast<std::uint64_t>(reserve_most_.load(std::memory_order_relaxed));
  while ((gate & kReserveMask) < most &&
         !gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
  }
}

// One atomic step: checking first and adding then would let two threads in.
bool RetryBudget::try_enter(std::int64_t active) noexcept {
  const Terms terms = terms_.load();
  const std::int64_t most =
      terms.min_concurrency < 0
          ? std::numeric_limits<std::int32_t>::max()
          : std::max<std::int64_t>(terms.min_concurrency, active * terms.per_deposit / kRetry);
  std::int32_t under_way = retries_under_way_.load(std::memory_order_relaxed);
  do {
    if (under_way >= most) return false;
  } while (!retries_under_way_.compare_exchange_weak(under_way, under_way + 1,
                                                     std::memory_order_relaxed));
  return true;
}

RetryBudget::Grant RetryBudget::try_withdraw(Instant now, std::int64_t active) noexcept {
  if (!try_enter(active)) return {};
  Grant grant = try_withdraw_here(now);
  if (grant && parent_ != nullptr) {
    const Grant above = parent_->try_withdraw(now, active);
    if (above) {
      grant.from_reserve = static_cast<std::uint16_t>(grant.from_reserve | above.from_reserve << 1);
    } else {
      refund_here(now, grant.from_reserve != 0);
      grant = {};
    }
  }
  if (!grant) retries_under_way_.fetch_sub(1, std::memory_order_relaxed);
  return grant;
}

void RetryBudget::refund(const Grant& grant) noexcept {
  DAMPER_CHECK(grant.granted);
  unsigned from_reserve = grant.from_reserve;
  for (RetryBudget* budget = this; budget != nullptr; budget = budget->parent_) {
    budget->refund_here(grant.at, (from_reserve & 1) != 0);
    from_reserve >>= 1;
  }
  on_retry_done();
}

void RetryBudget::on_retry_done() noexcept {
  for (RetryBudget* budget = this; budget != nullptr; budget = budget->parent_) {
    budget->retries_under_way_.fetch_sub(1, std::memory_order_relaxed);
  }
}

double RetryBudget::balance(Instant now) const noexcept {
  const Terms terms = terms_.load();
  const auto [earned, spent] = account(terms, terms.clock.slot(now));
  const auto in_reserve =
      static_cast<std::int64_t>(gate_.load(std::memory_order_relaxed) & kReserveMask) * kRetry;
  const std::int64_t left = std::min(std::max<std::int64_t>(earned - spent, 0) + in_reserve,
                                     earned - spent + terms.reserve * kRetry);
  return static_cast<double>(std::max<std::int64_t>(left, 0)) / static_cast<double>(kRetry);
}

double RetryBudget::fill(Instant now) const noexcept {
  const Terms terms = terms_.load();
  const auto [earned, spent] = account(terms, terms.clock.slot(now));
  if (spent == 0) return 1;
  if (spent >= earned) return 0;
  return static_cast<double>(earned - spent) / static_cast<double>(earned);
}

void RetryBudget::reload(const RetryBudgetOptions& options, Instant now) noexcept {
  DAMPER_CHECK(!find_error(options));
  const Terms old = terms_.load();
  SlotClock clock = old.clock;
  if (const Duration width = options.window / kLive; width != old.clock.width) {
    clock = old.clock.followed_by(width, now);
    deposits_.carry(old.clock, clock, now);
    withdrawals_.carry(old.clock, clock, now);
  }
  const Terms terms = terms_of(options, clock);
  const std::int64_t earned_before = account(old, clock.slot(now)).earned;
  const std::int64_t earned_after = account(terms, clock.slot(now)).earned;
  if (earned_before > 0) withdrawals_.scale(earned_after, earned_before);

  std::uint64_t gate = gate_.load(std::memory_order_relaxed);
  std::uint64_t scaled = 0;
  do {
    const std::uint64_t reserve = gate & kReserveMask;
    const auto most = static_cast<std::uint64_t>(options.reserve);
    const auto old_most = static_cast<std::uint64_t>(old.reserve);
    scaled = (gate & ~kReserveMask) | (old_most == 0 ? most : reserve * most / old_most);
  } while (!gate_.compare_exchange_weak(gate, scaled, std::memory_order_acq_rel,
                                        std::memory_order_relaxed));
  clock_.store(clock);
  reserve_most_.store(options.reserve, std::memory_order_relaxed);
  deposit_on_.store(options.deposit_on, std::memory_order_relaxed);
  terms_.store(terms);
}

}  // namespace damper::admit
