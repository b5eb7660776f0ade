#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/base/random.h"
#include "damper/queue/limiters/rate_limiter.h"
#include "damper/schedule/backoff.h"

namespace damper::queue {

// A MaxWait bounds the delays of another limiter.
//
// Why: a key that a user waits for should be tried occasionally, however often it failed.
// Model: the inner limiter's delay beyond Report::retry_after is at most `longest`. A longer delay
// is replaced by a draw from longest/2 to longest: with the constant `longest`, as in client-go,
// all keys that failed together would run at the same instant (trap J1). Jitter::none returns that
// constant; full draws from 0. Only retry_after of this failure counts: a time that the inner
// limiter stored for an earlier one is bounded too.
// Invariants: (1) and (2) of RateLimiter; (1) even if the inner limiter violates it;
//   (3) Without retry_after, the delay is at most `longest`; with it, at most `longest` longer.
//   (4) A delay within the bound is not changed.
// Thread safety: none.
template <class Key>
class MaxWait final : public RateLimiter<Key> {
 public:
  // REQUIRES: limiter != nullptr; 0 < longest <= kLongest; can_spread(jitter).
  MaxWait(std::unique_ptr<RateLimiter<Key>> limiter, Duration longest,
          schedule::Jitter jitter = schedule::Jitter::equal)
      : limiter_(std::move(limiter)), longest_(longest), jitter_(jitter) {
    DAMPER_CHECK(limiter_ != nullptr);
    DAMPER_CHECK(longest > Duration{0} && longest <= kLongest);
    DAMPER_CHECK(can_spread(jitter));
  }

  [[nodiscard]] std::optional<Duration> when(KeyView<Key> key, const decide::Report& why,
                                             Instant now, double draw) override {
    const std::optional<Duration> wait = limiter_->when(key, why, now, draw);
    if (!wait) return std::nullopt;
    const Duration retry_after = std::max(why.retry_after, Duration{0});
    const Duration delay = std::max(*wait - retry_after, Duration{0});
    if (delay <= longest_) return wait_after(retry_after, delay);
    // A new draw: this one is large, since it gave a long delay.
    return wait_after(retry_after, spread(longest_, jitter_, another_draw(draw)));
  }
  void forget(KeyView<Key> key) noexcept override { limiter_->forget(key); }
  [[nodiscard]] std::uint32_t failures(KeyView<Key> key) const override {
    return limiter_->failures(key);
  }
  [[nodiscard]] LimiterStats stats() const noexcept override { return limiter_->stats(); }

 private:
  const std::unique_ptr<RateLimiter<Key>> limiter_;
  const Duration longest_;
  const schedule::Jitter jitter_;
};

}  // namespace damper::queue
