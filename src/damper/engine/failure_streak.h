#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "damper/base/instant.h"
#include "damper/engine/event.h"

namespace damper::engine {

// A QuietPeriod detects the first event after a quiet time.
// Thread safety: of concurrent calls at the same instant exactly one returns true.
class QuietPeriod {
 public:
  static constexpr Duration kLength = std::chrono::seconds(10);

  [[nodiscard]] bool broken_by(Instant now) noexcept {
    const std::int64_t last =
        last_.exchange(now.time_since_epoch().count(), std::memory_order_relaxed);
    return between(Instant{Duration{last}}, now) > kLength;
  }

 private:
  std::atomic<std::int64_t> last_{Instant::min().time_since_epoch().count()};
};

// Whether the failure with this number in a row is an event: the 10th, 100th, 1000th. REQUIRES:
// count > 0.
[[nodiscard]] constexpr bool is_repeated_failure(std::int64_t count) noexcept {
  if (count < 10) return false;
  while (count % 10 == 0) count /= 10;
  return count == 1;
}

// A FailureStreak turns failures and successes into the few events that are worth a line: the first
// failure after a quiet time, the 10th, 100th, 1000th in a row, and the recovery from ten or more.
// It also measures a silence: the time since the first attempt that its caller cut short, while
// nothing is answered. A cut attempt is no failure, and is not counted as one.
// Thread safety: all methods may be called concurrently. Cost: a success is one load.
class FailureStreak {
 public:
  struct Change {
    EventKind kind;
    std::int64_t count;
  };

  [[nodiscard]] std::optional<Change> on_failure(Instant now) noexcept {
    const std::int64_t count = count_failure();
    const bool quiet = quiet_.broken_by(now);
    if (quiet && count == 1) return Change{EventKind::first_failure, count};
    if (is_repeated_failure(count)) return Change{EventKind::repeated_failure, count};
    return std::nullopt;
  }

  // An attempt that its caller cut short had no answer. Returns the length of the silence, which is
  // measured in ticks of 2^20 ns, and is 0 again after 2^31 of them (26 days).
  [[nodiscard]] Duration on_cut_short(Instant now) noexcept {
    const auto tick = std::max(1U, static_cast<std::uint32_t>(now.time_since_epoch() / kTick));
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (word >> 32 == 0) {
      const std::uint64_t silent = word | std::uint64_t{tick} << 32;
      if (word_.compare_exchange_weak(word, silent, std::memory_order_relaxed)) return Duration{0};
    }
    const auto ticks = static_cast<std::int32_t>(tick - static_cast<std::uint32_t>(word >> 32));
    return kTick * std::max(ticks, 0);
  }
  // An answer that is no success (permanent, conflict): it ends the silence, not the streak.
  void on_answer() noexcept {
    if (word_.load(std::memory_order_relaxed) >> 32 == 0) return;
    word_.fetch_and(kCount, std::memory_order_relaxed);
  }

  // Whether there were failures or a silence since the last success: if not, a success is no news.
  [[nodiscard]] bool is_running() const noexcept {
    return word_.load(std::memory_order_relaxed) != 0;
  }

  [[nodiscard]] std::optional<Change> on_success() noexcept {
    const auto count =
        static_cast<std::int64_t>(word_.exchange(0, std::memory_order_relaxed) & kCount);
    if (count < 10) return std::nullopt;
    return Change{EventKind::recovered, count};
  }

 private:
  static constexpr std::uint64_t kCount = 0xffff'ffff;
  static constexpr Duration kTick{1 << 20};

  // Stops at 2^31, far from the bits of the silence.
  std::int64_t count_failure() noexcept {
    const std::uint64_t count = word_.load(std::memory_order_relaxed) & kCount;
    if (count >> 31 != 0) return static_cast<std::int64_t>(count);
    return static_cast<std::int64_t>(word_.fetch_add(1, std::memory_order_relaxed) & kCount) + 1;
  }

  // Failures in a row, and above them the tick at which the silence began; 0: none. One word, since
  // a success reads it, and a small dependency has no room for two.
  std::atomic<std::uint64_t> word_{0};
  QuietPeriod quiet_;
};

}  // namespace damper::engine
