#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "damper/base/instant.h"
#include "damper/engine/event.h"

namespace damper::engine {

// A Quiet detects the first event after a quiet time.
// Thread safety: of concurrent calls at the same instant exactly one returns true.
class Quiet {
 public:
  static constexpr Duration kWhile = std::chrono::seconds(10);

  [[nodiscard]] bool broken_by(Instant now) noexcept {
    const std::int64_t last =
        last_.exchange(now.time_since_epoch().count(), std::memory_order_relaxed);
    return between(Instant{Duration{last}}, now) > kWhile;
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
// Thread safety: all methods may be called concurrently. Cost: a success is one load.
class FailureStreak {
 public:
  struct Change {
    EventKind kind;
    std::int64_t count;
  };

  [[nodiscard]] std::optional<Change> on_failure(Instant now) noexcept {
    const std::int64_t count = in_a_row_.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool quiet = quiet_.broken_by(now);
    if (quiet && count == 1) return Change{EventKind::first_failure, count};
    if (is_repeated_failure(count)) return Change{EventKind::repeated_failure, count};
    return std::nullopt;
  }

  // Whether there were failures since the last success: if not, a success is no news.
  [[nodiscard]] bool is_running() const noexcept {
    return in_a_row_.load(std::memory_order_relaxed) != 0;
  }

  [[nodiscard]] std::optional<Change> on_success() noexcept {
    const std::int64_t count = in_a_row_.exchange(0, std::memory_order_relaxed);
    if (count < 10) return std::nullopt;
    return Change{EventKind::recovered, count};
  }

 private:
  std::atomic<std::int64_t> in_a_row_{0};
  Quiet quiet_;
};

}  // namespace damper::engine
