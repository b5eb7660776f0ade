#ifndef DAMPER_QUEUE_LIMITERS_PER_KEY_LIMITER_H_
#define DAMPER_QUEUE_LIMITERS_PER_KEY_LIMITER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/queue/limiters/failure_table.h"
#include "damper/queue/limiters/rate_limiter.h"
#include "damper/schedule/backoff.h"

namespace damper::queue {

// The defaults are those of client-go, but for the jitter.
struct PerKeyOptions {
  schedule::Jitter jitter = schedule::Jitter::full;
  Duration base = std::chrono::milliseconds(5);  // over 0, at most 30 days
  Duration cap = std::chrono::seconds(1000);     // base to 30 days
  // forget_after is at least the cap: a key that waits that long and fails again fails in a row.
  FailureTableOptions remembered{};
};

[[nodiscard]] std::optional<std::string> find_error(const PerKeyOptions& options);

// A PerKeyLimiter lets a key wait for longer the more often it has failed in a row.
//
// Why: the key that is broken for good should cost less and less, and the others should not wait
// for it. client-go's has no jitter: keys that failed together come back together, each time (trap
// Q7); and its memory has no bound (trap Q6).
// Model: the delay of failure n (from 1) is that of retry n - 1 in schedule::Backoff: base *
// 2^(n-1) up to the cap, jittered. It counts from now or from the latest time that the server
// named for this key.
// Invariants: (1) and (2) of RateLimiter;
//   (3) Without a word of the server, the wait is at most the cap; with it, at most the cap more.
// Thread safety: none.
// Cost: one probe of a table. Memory: FailureTable's.
template <class Key>
class PerKeyLimiter final : public RateLimiter<Key> {
 public:
  // REQUIRES: !find_error(options).
  explicit PerKeyLimiter(const PerKeyOptions& options = {})
      : backoff_{options.jitter, options.base, options.cap}, table_(options.remembered) {
    DAMPER_CHECK(!find_error(options));
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

#endif  // DAMPER_QUEUE_LIMITERS_PER_KEY_LIMITER_H_
