#ifndef DAMPER_QUEUE_LIMITERS_FAST_SLOW_H_
#define DAMPER_QUEUE_LIMITERS_FAST_SLOW_H_

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/queue/limiters/failure_table.h"
#include "damper/queue/limiters/rate_limiter.h"
#include "damper/queue/work_queue/waits.h"
#include "damper/schedule/backoff.h"

namespace damper::queue {

struct FastSlowOptions {
  Duration fast = std::chrono::milliseconds(5);      // over 0, at most 30 days
  Duration slow = std::chrono::seconds(10);          // fast to 30 days
  std::uint32_t fast_failures = 5;                   // 0: slow from the first
  schedule::Jitter jitter = schedule::Jitter::full;  // not decorrelated
  FailureTableOptions remembered{};                  // forget_after is at least `slow`
};

[[nodiscard]] std::optional<std::string> find_error(const FastSlowOptions& options);

// A FastSlow lets a key run again soon a few times, and then seldom.
//
// Why: for keys that fail because something else is not there yet, which comes soon or not at all.
// Where the cause is load, a delay that grows (per_key_limiter.h) is better.
// Model: the first `fast_failures` in a row wait `fast`, the others `slow`, each spread by the
// jitter. The wait counts from now or from the latest time that the server named for this key.
// Invariants: (1) and (2) of RateLimiter.
// Thread safety: none.
// Cost: one probe of a table. Memory: FailureTable's.
template <class Key>
class FastSlow final : public RateLimiter<Key> {
 public:
  // REQUIRES: !find_error(options).
  explicit FastSlow(const FastSlowOptions& options = {})
      : options_(options), table_(options.remembered) {
    DAMPER_CHECK(!find_error(options));
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

#endif  // DAMPER_QUEUE_LIMITERS_FAST_SLOW_H_
