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

// The defaults are those of client-go, except for the jitter.
struct PerKeyOptions {
  schedule::Jitter jitter = schedule::Jitter::full;
  Duration base = std::chrono::milliseconds(5);  // base and cap: see schedule::BackoffOptions
  Duration cap = std::chrono::seconds(1000);
  // forget_after >= cap: a failure after the longest delay still counts as consecutive.
  FailureTableOptions remembered{};
};

[[nodiscard]] inline std::optional<std::string> find_error(const PerKeyOptions& options) {
  if (auto error = schedule::find_error({options.jitter, options.base, options.cap})) return error;
  return BoundsCheck().part("remembered", find_error(options.remembered, options.cap)).error();
}

// A PerKeyLimiter is an exponential backoff for each key.
//
// Why: a permanently broken key should cost less and less, and should not delay other keys.
// client-go's has no jitter, so keys that failed together run together each time (trap Q7), and its
// memory is unbounded (trap Q6).
// Model: the delay of failure n (from 1) is that of retry n - 1 in schedule::Backoff: base *
// 2^(n-1) up to the cap, with jitter. It counts from now or from the key's latest Retry-After time.
// Invariants: (1) and (2) of RateLimiter;
//   (3) Without retry_after, the delay is at most the cap; with it, at most the cap longer.
// Thread safety: none.
// Cost: one table lookup. Memory: that of FailureTable.
template <class Key>
class PerKeyLimiter final : public RateLimiter<Key> {
 public:
  // REQUIRES: !find_error(options).
  explicit PerKeyLimiter(const PerKeyOptions& options = {})
      : backoff_{options.jitter, options.base, options.cap}, table_(options.remembered) {
    DAMPER_CHECK_VALID(find_error(options));
  }

  [[nodiscard]] std::optional<Duration> when(KeyView<Key> key, const decide::Report& why,
                                             Instant now, double draw) override {
    FailingKey& failing = table_.on_failure(key, why, now);
    return failing.wait(why, now, failing.backoff.next(backoff_, failing.failures - 1, draw));
  }
  void forget(KeyView<Key> key) noexcept override { table_.forget(key); }
  [[nodiscard]] std::uint32_t failures(KeyView<Key> key) const override {
    return table_.failures(key);
  }
  [[nodiscard]] LimiterStats stats() const noexcept override { return table_.stats(); }

 private:
  const schedule::BackoffOptions backoff_;
  FailureTable<Key> table_;
};

}  // namespace damper::queue
