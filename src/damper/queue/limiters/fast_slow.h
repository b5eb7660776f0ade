#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/bounds.h"
#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/queue/limiters/failure_table.h"
#include "damper/queue/limiters/rate_limiter.h"
#include "damper/schedule/backoff.h"

namespace damper::queue {

struct FastSlowOptions {
  static constexpr Range<Duration> kFast{Duration{1}, kLongest};

  Duration fast = std::chrono::milliseconds(5);
  Duration slow = std::chrono::seconds(10);          // fast to kLongest
  std::uint32_t fast_failures = 5;                   // 0: `slow` from the first failure on
  schedule::Jitter jitter = schedule::Jitter::full;  // not decorrelated
  FailureTableOptions remembered{};                  // forget_after >= slow
};

[[nodiscard]] inline std::optional<std::string> find_error(const FastSlowOptions& options) {
  return BoundsCheck()
      .field("fast", options.fast, options.kFast)
      .field("slow", options.slow, {options.fast, kLongest})
      .require(can_spread(options.jitter), "jitter is decorrelated; it must be none, full or equal")
      .part("remembered", find_error(options.remembered, options.slow))
      .error();
}

// A FastSlow uses a short delay for the first failures of a key, and a long one afterwards.
//
// Why: for keys that fail because a prerequisite is missing, which appears soon or not at all. If
// the cause is load, a growing delay (per_key_limiter.h) is better.
// Model: the first `fast_failures` consecutive failures have the delay `fast`, the others `slow`,
// both with jitter. The delay counts from now or from the key's latest Retry-After time.
// Invariants: (1) and (2) of RateLimiter.
// Thread safety: none.
// Cost: one table lookup. Memory: that of FailureTable.
template <class Key>
class FastSlow final : public RateLimiter<Key> {
 public:
  // REQUIRES: !find_error(options).
  explicit FastSlow(const FastSlowOptions& options = {})
      : options_(options), table_(options.remembered) {
    DAMPER_CHECK_VALID(find_error(options));
  }

  [[nodiscard]] std::optional<Duration> when(KeyView<Key> key, const decide::Report& why,
                                             Instant now, double draw) override {
    const FailingKey& failing = table_.on_failure(key, why, now);
    const bool is_fast = failing.failures <= options_.fast_failures;
    const Duration top = is_fast ? options_.fast : options_.slow;
    return failing.wait(why, now, spread(top, options_.jitter, draw));
  }
  void forget(KeyView<Key> key) noexcept override { table_.forget(key); }
  [[nodiscard]] std::uint32_t failures(KeyView<Key> key) const override {
    return table_.failures(key);
  }
  [[nodiscard]] LimiterStats stats() const noexcept override { return table_.stats(); }

 private:
  const FastSlowOptions options_;
  FailureTable<Key> table_;
};

}  // namespace damper::queue
