#include "damper/admit/concurrency_limit.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::admit {
namespace {

constexpr std::uint64_t kInFlight = 0xffff'ffff;  // The lower half of the gate.

constexpr std::int32_t in_flight_of(std::uint64_t gate) {
  return static_cast<std::int32_t>(gate & kInFlight);
}
constexpr std::int32_t limit_of(std::uint64_t gate) {
  return static_cast<std::int32_t>(gate >> 32);
}
constexpr std::uint64_t gate_of(std::int32_t limit, std::uint64_t in_flight) {
  return static_cast<std::uint64_t>(limit) << 32 | in_flight;
}

// The samples of a window in one word: 10 bits of drops, 10 of answers, 44 of latency in units of
// 16 ns. At most 1023 samples of at most a minute each fit without carrying over.
constexpr int kAnswersShift = 44;
constexpr int kDropsShift = 54;
constexpr std::uint64_t kTenBits = 0x3ff;
constexpr std::int64_t kUnit = 16;
constexpr Duration kLongestSample = std::chrono::minutes(1);
constexpr std::int32_t kMostWindow = 500;

constexpr std::int32_t drops_of(std::uint64_t samples) {
  return static_cast<std::int32_t>(samples >> kDropsShift);
}
constexpr std::int32_t answers_of(std::uint64_t samples) {
  return static_cast<std::int32_t>(samples >> kAnswersShift & kTenBits);
}
constexpr Duration latency_of(std::uint64_t samples) {
  const std::int32_t answers = answers_of(samples);
  if (answers == 0) return Duration{0};
  const std::uint64_t sum = samples & ((std::uint64_t{1} << kAnswersShift) - 1);
  return Duration{static_cast<std::int64_t>(sum) * kUnit / answers};
}

}  // namespace

ConcurrencyLimit::ConcurrencyLimit(const ConcurrencyLimitOptions& options)
    : gate_(gate_of(options.initial, 0)),
      window_samples_(options.kind == LimitKind::fixed ? 0 : options.window_samples),
      control_(options) {}

bool ConcurrencyLimit::try_acquire() noexcept {
  // Sequentially consistent, as is the release below: see invariant (6).
  std::uint64_t gate = gate_.load(std::memory_order_seq_cst);
  do {
    if (in_flight_of(gate) >= limit_of(gate)) return false;
  } while (!gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire,
                                        std::memory_order_relaxed));
  return true;
}

std::uint64_t ConcurrencyLimit::leave() noexcept {
  const std::uint64_t before = gate_.fetch_sub(1, std::memory_order_seq_cst);
  DAMPER_CHECK(in_flight_of(before) > 0);
  return before;
}

void ConcurrencyLimit::release_ignored() noexcept { static_cast<void>(leave()); }

void ConcurrencyLimit::release(Instant started, Instant now, bool dropped) noexcept {
  const std::uint64_t before = leave();
  if (window_samples_.load(std::memory_order_relaxed) == 0) return;
  const Instant opened = opened_.load(std::memory_order_relaxed);
  if (now < opened) opened_.store(now, std::memory_order_relaxed);  // Time went backwards.
  if (started < opened || (now < started && !dropped)) return;
  if (add_sample(between(started, now), dropped, in_flight_of(before))) close_window(now);
}

// Adds a sample; true if the window is full.
bool ConcurrencyLimit::add_sample(Duration latency, bool dropped, std::int32_t in_flight) noexcept {
  std::int32_t peak = peak_in_flight_.load(std::memory_order_relaxed);
  while (in_flight > peak &&
         !peak_in_flight_.compare_exchange_weak(peak, in_flight, std::memory_order_relaxed)) {
  }
  const std::int64_t units =
      std::clamp<std::int64_t>(latency.count() / kUnit, 1, kLongestSample.count() / kUnit);
  const std::uint64_t one =
      dropped ? std::uint64_t{1} << kDropsShift
              : (std::uint64_t{1} << kAnswersShift) + static_cast<std::uint64_t>(units);
  std::uint64_t samples = samples_.load(std::memory_order_relaxed);
  do {
    if (drops_of(samples) + answers_of(samples) == static_cast<std::int32_t>(kTenBits)) return true;
  } while (!samples_.compare_exchange_weak(samples, samples + one, std::memory_order_relaxed));
  return window_is_full(samples + one);
}

bool ConcurrencyLimit::window_is_full(std::uint64_t samples) const noexcept {
  const std::int32_t round_trip = std::max(window_samples_.load(std::memory_order_relaxed),
                                           peak_in_flight_.load(std::memory_order_relaxed));
  return drops_of(samples) + answers_of(samples) >= std::min(round_trip, kMostWindow);
}

void ConcurrencyLimit::close_window(Instant now) noexcept {
  if (turn_.exchange(true, std::memory_order_acquire)) return;  // Somebody else is at it.
  if (window_is_full(samples_.load(std::memory_order_relaxed))) {
    opened_.store(now, std::memory_order_relaxed);
    const std::uint64_t samples = samples_.exchange(0, std::memory_order_relaxed);
    const std::int32_t peak = peak_in_flight_.exchange(0, std::memory_order_relaxed);
    control_.on_window({.answers = answers_of(samples),
                        .drops = drops_of(samples),
                        .latency = latency_of(samples),
                        .peak_in_flight = peak});
    set_limit(control_.limit());
  }
  turn_.store(false, std::memory_order_release);
}

void ConcurrencyLimit::set_limit(std::int32_t limit) noexcept {
  std::uint64_t gate = gate_.load(std::memory_order_relaxed);
  while (!gate_.compare_exchange_weak(gate, gate_of(limit, gate & kInFlight),
                                      std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
}

std::int32_t ConcurrencyLimit::limit() const noexcept {
  return limit_of(gate_.load(std::memory_order_relaxed));
}

std::int32_t ConcurrencyLimit::in_flight() const noexcept {
  return in_flight_of(gate_.load(std::memory_order_relaxed));
}

void ConcurrencyLimit::reload(const ConcurrencyLimitOptions& options) noexcept {
  while (turn_.exchange(true, std::memory_order_acquire)) {
  }
  control_.reload(options);
  window_samples_.store(options.kind == LimitKind::fixed ? 0 : options.window_samples,
                        std::memory_order_relaxed);
  set_limit(control_.limit());
  turn_.store(false, std::memory_order_release);
}

}  // namespace damper::admit
