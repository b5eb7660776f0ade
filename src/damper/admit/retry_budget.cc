#include "damper/admit/retry_budget.h"

#include <algorithm>
#include <chrono>

#include "damper/base/check.h"

namespace damper::admit {

std::optional<std::string> find_error(const RetryBudgetOptions& options) {
  return BoundsCheck()
      .field("percent", options.percent, options.kPercent)
      .field("window", options.window, options.kWindow)
      .field("reserve", options.reserve, options.kReserve)
      .field("min_per_second", options.min_per_second, options.kMinPerSecond)
      .field("min_retry_concurrency", options.min_retry_concurrency, options.kMinRetryConcurrency)
      .error();
}

template <Footprint kFootprint>
BasicRetryBudget<kFootprint>::BasicRetryBudget(const RetryBudgetOptions& options,
                                               Parent* parent) noexcept
    : parent_(parent) {
  reload(options, Instant{});
  Packed packed = unpack(packed_.load(std::memory_order_relaxed));
  packed.reserve = static_cast<std::uint32_t>(options.reserve);
  packed_.store(pack(packed), std::memory_order_relaxed);
}

// Begins a new slot: the withdrawals of the old slot are stored before one can be granted in the
// new slot, so no sum misses them. A late thread with an older count lowers nothing. Returns the
// packed word as it is afterwards.
template <Footprint kFootprint>
std::uint64_t BasicRetryBudget<kFootprint>::enter_slot(std::uint64_t word,
                                                       std::uint32_t slot) noexcept {
  const Packed old = unpack(word);
  withdrawals_.raise(old.slot, old.passed);
  const std::uint64_t entered =
      pack({.slot = slot, .reserve = old.reserve, .closed = old.closed, .passed = 0});
  if (packed_.compare_exchange_strong(word, entered, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
    return entered;
  }
  return word;
}

// Sums the slots before `slot`, once for each slot. Again if a refund of an earlier slot has
// changed the sum meanwhile: the refund dropped past_ before this thread stored its stale one.
template <Footprint kFootprint>
auto BasicRetryBudget<kFootprint>::look_back(std::uint32_t slot) noexcept -> PastSlots {
  const Terms terms = terms_.load();
  const auto deposits = static_cast<std::int64_t>(deposits_.sum_without(slot));
  for (;;) {
    const auto withdrawals = static_cast<std::int64_t>(withdrawals_.sum_without(slot));
    const PastSlots past = {
        .slot = slot,
        .balance = deposits * terms.per_deposit + terms.floor - withdrawals * kRetry,
        .per_deposit = terms.per_deposit,
        .reserve = terms.reserve * kRetry};
    past_.store(past);
    if (static_cast<std::int64_t>(withdrawals_.sum_without(slot)) == withdrawals) return past;
  }
}

template <Footprint kFootprint>
auto BasicRetryBudget<kFootprint>::try_withdraw_here(Instant now) noexcept -> Grant {
  const SlotClock clock = clock_.load();
  const std::uint32_t slot_now = clock.slot(now);
  std::uint64_t word = packed_.load(std::memory_order_acquire);
  for (;;) {
    Packed packed = unpack(word);
    if (packed.closed) [[unlikely]]
      return {};
    if (slot_now != packed.slot && !SlotClock::is_ahead(packed.slot, slot_now)) [[unlikely]] {
      word = enter_slot(word, slot_now);
      continue;
    }
    PastSlots past = past_.load();
    if (past.slot != packed.slot) [[unlikely]]
      past = look_back(packed.slot);
    const std::int64_t left =
        past.balance + static_cast<std::int64_t>(deposits_.count(packed.slot)) * past.per_deposit -
        std::int64_t{packed.passed} * kRetry;
    const bool from_reserve = left < kRetry;
    if (from_reserve && (packed.reserve == 0 || left + past.reserve < kRetry)) return {};
    if (packed.passed == kMostPassed) return {};
    ++packed.passed;
    if (from_reserve) --packed.reserve;
    if (packed_.compare_exchange_weak(word, pack(packed), std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      // A thread whose time is behind withdraws in the newest slot, and is refunded there.
      Grant grant = {.at = now, .from_reserve = from_reserve, .entered = 0, .granted = true};
      grant.ahead.fill(static_cast<std::uint8_t>(std::min(packed.slot - slot_now, 255U)));
      return grant;
    }
  }
}

template <Footprint kFootprint>
void BasicRetryBudget<kFootprint>::refund_here(const Grant& grant, std::size_t level) noexcept {
  const bool from_reserve = (grant.from_reserve >> level & 1) != 0;
  const std::uint32_t ahead = grant.ahead[std::min(level, grant.ahead.size() - 1)];
  std::uint64_t word = packed_.load(std::memory_order_acquire);
  std::uint32_t slot = 0;
  for (;;) {
    Packed packed = unpack(word);
    // During a reload a thread may see the new clock and the old packed word, or the reverse. The
    // terms get the clock before the packed word does, so no slot is too old for it; a slot that is
    // ahead is that of the packed word.
    slot = terms_.load().clock.slot(grant.at) + ahead;
    const bool is_past = slot != packed.slot && !SlotClock::is_ahead(slot, packed.slot);
    if (is_past || packed.passed == 0) break;
    --packed.passed;
    if (packed_.compare_exchange_weak(word, pack(packed), std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      if (from_reserve) refill_reserve();
      return;
    }
  }
  withdrawals_.take(slot);  // It was granted in an earlier slot,
  past_.store({});          // so the sum of the earlier slots is stale.
  if (from_reserve) refill_reserve();
}

template <Footprint kFootprint>
void BasicRetryBudget<kFootprint>::refill_reserve() noexcept {
  const std::uint32_t most = reserve_most_.load(std::memory_order_relaxed);
  std::uint64_t word = packed_.load(std::memory_order_relaxed);
  for (;;) {
    Packed packed = unpack(word);
    if (packed.reserve >= most) return;
    ++packed.reserve;
    if (packed_.compare_exchange_weak(word, pack(packed), std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      return;
    }
  }
}

// One atomic step: checking first and adding then would let two threads in.
template <Footprint kFootprint>
bool BasicRetryBudget<kFootprint>::try_enter(std::int64_t active, std::uint8_t& entered) noexcept {
  if (!has_concurrency_bound_.load(std::memory_order_relaxed)) return true;
  const Terms terms = terms_.load();
  const std::int64_t most =
      std::max<std::int64_t>(terms.min_concurrency, active * terms.per_deposit / kRetry);
  std::int32_t under_way = in_flight_.load(std::memory_order_relaxed);
  do {
    if (under_way >= most) return false;
  } while (!in_flight_.compare_exchange_weak(under_way, under_way + 1, std::memory_order_relaxed));
  entered = 1;
  return true;
}

template <Footprint kFootprint>
auto BasicRetryBudget<kFootprint>::try_withdraw_everywhere(Instant now,
                                                           std::int64_t active) noexcept -> Grant {
  std::uint8_t entered = 0;
  if (!try_enter(active, entered)) return {};
  Grant grant = try_withdraw_here(now);
  grant.entered = entered;
  if (grant && parent_ != nullptr) {
    const Grant above = parent_->try_withdraw(now, active);
    if (above) {
      grant.from_reserve = static_cast<std::uint8_t>(grant.from_reserve | above.from_reserve << 1);
      grant.entered = static_cast<std::uint8_t>(grant.entered | above.entered << 1);
      std::copy_n(above.ahead.begin(), grant.ahead.size() - 1, grant.ahead.begin() + 1);
    } else {
      refund_here(grant, 0);
      grant.granted = false;
    }
  }
  if (!grant && entered != 0) in_flight_.fetch_sub(1, std::memory_order_relaxed);
  return grant;
}

template <Footprint kFootprint>
void BasicRetryBudget<kFootprint>::refund(const Grant& grant) noexcept {
  DAMPER_CHECK(grant.granted);
  refund_here(grant, 0);
  std::size_t level = 0;
  for (Parent* budget = parent_; budget != nullptr; budget = budget->parent_) {
    budget->refund_here(grant, ++level);
  }
  on_retry_done(grant);
}

template <Footprint kFootprint>
void BasicRetryBudget<kFootprint>::on_retry_done(const Grant& grant) noexcept {
  unsigned entered = grant.entered;
  if ((entered & 1) != 0) in_flight_.fetch_sub(1, std::memory_order_relaxed);
  for (Parent* budget = parent_; budget != nullptr; budget = budget->parent_) {
    entered >>= 1;
    if ((entered & 1) != 0) budget->in_flight_.fetch_sub(1, std::memory_order_relaxed);
  }
}

template <Footprint kFootprint>
auto BasicRetryBudget<kFootprint>::totals(const Terms& terms, Instant now) const noexcept
    -> Totals {
  const Packed packed = unpack(packed_.load(std::memory_order_acquire));
  const std::uint32_t slot = terms.clock.slot(now);
  const auto deposits = static_cast<std::int64_t>(deposits_.sum(slot));
  auto withdrawals = static_cast<std::int64_t>(withdrawals_.sum(slot));
  // The withdrawals of the current slot are stored only when the slot ends.
  if (withdrawals_.covers(slot, packed.slot)) {
    withdrawals += std::int64_t{packed.passed} - std::int64_t{withdrawals_.count(packed.slot)};
  }
  return {.earned = deposits * terms.per_deposit + terms.floor, .spent = withdrawals * kRetry};
}

template <Footprint kFootprint>
double BasicRetryBudget<kFootprint>::balance(Instant now) const noexcept {
  const Terms terms = terms_.load();
  const auto [earned, spent] = totals(terms, now);
  const Packed packed = unpack(packed_.load(std::memory_order_relaxed));
  const auto in_reserve = std::min<std::int64_t>(packed.reserve, terms.reserve) * kRetry;
  const std::uint32_t slot = terms.clock.slot(now);
  const bool is_entered = packed.slot == slot || SlotClock::is_ahead(packed.slot, slot);
  const std::int64_t most = std::int64_t{kMostPassed} - (is_entered ? packed.passed : 0);
  const std::int64_t left = std::min({std::max<std::int64_t>(earned - spent, 0) + in_reserve,
                                      earned - spent + terms.reserve * kRetry, most * kRetry});
  return static_cast<double>(std::max<std::int64_t>(left, 0)) / static_cast<double>(kRetry);
}

template <Footprint kFootprint>
double BasicRetryBudget<kFootprint>::fill(Instant now) const noexcept {
  const auto [earned, spent] = totals(terms_.load(), now);
  if (spent == 0) return 1;
  if (spent >= earned) return 0;
  return static_cast<double>(earned - spent) / static_cast<double>(earned);
}

// Keeps the spent share of the earned retries under the new terms. Retries paid by the reserve are
// not scaled.
template <Footprint kFootprint>
void BasicRetryBudget<kFootprint>::scale_spent(const Terms& old, const Terms& terms,
                                               Instant now) noexcept {
  const auto deposits = static_cast<std::int64_t>(deposits_.sum(terms.clock.slot(now)));
  const std::int64_t old_floor = static_cast<std::int64_t>(
      static_cast<__int128>(old.floor) * terms.clock.width().count() / old.clock.width().count());
  const std::int64_t earned_before = deposits * old.per_deposit + old_floor;
  const std::int64_t earned_after = deposits * terms.per_deposit + terms.floor;
  const auto spent = static_cast<std::int64_t>(withdrawals_.sum(terms.clock.slot(now))) * kRetry;
  if (earned_before == 0 || spent == 0) return;
  const std::int64_t paid = std::min(spent, earned_before);
  const auto scaled =
      static_cast<std::int64_t>(static_cast<__int128>(paid) * earned_after / earned_before);
  withdrawals_.scale(scaled + (spent - paid), spent);
}

// Slots get new numbers at each reload, so a slot that a running withdrawal has read before is
// never mistaken for a new one.
//
// Order of the stores, and why: (a) packed_ gets the mark that refuses all withdrawals: one that is
// granted while the rings are carried, and whose slot ends before (c), would be lost; then the old
// slot's withdrawals are stored, and both rings are carried to the new numbers; (b) terms_, so that
// a refund computes slots of the new clock; (c) packed_, in a loop that subtracts the refunds since
// (a), and keeps the reserve's refills since; (d) the carried count of the current slot is cleared,
// since packed_ holds it now; (e) past_ is dropped, and clock_ last: until then deposits and
// withdrawals use the old clock, whose slots the new ones are ahead of.
template <Footprint kFootprint>
void BasicRetryBudget<kFootprint>::reload(const RetryBudgetOptions& options, Instant now) noexcept {
  DAMPER_CHECK_VALID(find_error(options));
  const Terms old = terms_.load();
  std::uint64_t word = packed_.load(std::memory_order_acquire);
  Packed before;
  Packed closed;
  do {
    before = closed = unpack(word);
    closed.closed = true;
  } while (!packed_.compare_exchange_weak(word, pack(closed), std::memory_order_acq_rel,
                                          std::memory_order_acquire));
  word = pack(closed);
  if (SlotClock::is_ahead(before.slot, old.clock.slot(now))) {
    now = old.clock.start(before.slot, now);  // Another thread is ahead.
  }
  const SlotClock clock = old.clock.followed_by(options.window / kLive, now);
  const Terms terms = {
      .clock = clock,
      .per_deposit = options.percent.hundredths(),
      .floor = options.min_per_second * (options.window.count() / 1'000) * kRetry / 1'000'000,
      .reserve = options.reserve,
      .min_concurrency = options.min_retry_concurrency};

  withdrawals_.raise(before.slot, before.passed);
  deposits_.carry(old.clock, clock, now);
  withdrawals_.carry(old.clock, clock, now);
  scale_spent(old, terms, now);
  terms_.store(terms);
  const std::uint32_t carried = withdrawals_.count(clock.slot(now));
  Packed after;
  do {
    after = unpack(word);
    const std::int64_t refunded = std::int64_t{before.passed} - after.passed;
    after.slot = clock.slot(now);
    after.closed = false;
    after.reserve = old.reserve == 0 ? 0
                                     : after.reserve * static_cast<std::uint32_t>(options.reserve) /
                                           static_cast<std::uint32_t>(old.reserve);
    after.passed = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(carried - refunded, 0, std::int64_t{kMostPassed}));
  } while (!packed_.compare_exchange_weak(word, pack(after), std::memory_order_acq_rel,
                                          std::memory_order_acquire));
  withdrawals_.clear(after.slot);  // packed_ counts them now.

  past_.store({});
  clock_.store(clock);
  reserve_most_.store(static_cast<std::uint32_t>(options.reserve), std::memory_order_relaxed);
  deposit_on_.store(options.deposit_on, std::memory_order_relaxed);
  has_concurrency_bound_.store(options.min_retry_concurrency >= 0, std::memory_order_relaxed);
}

template class BasicRetryBudget<Footprint::large>;
template class BasicRetryBudget<Footprint::small>;

}  // namespace damper::admit
