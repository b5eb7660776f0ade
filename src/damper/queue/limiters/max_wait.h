#ifndef DAMPER_QUEUE_LIMITERS_MAX_WAIT_H_
#define DAMPER_QUEUE_LIMITERS_MAX_WAIT_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/base/random.h"
#include "damper/queue/limiters/rate_limiter.h"
#include "damper/queue/work_queue/waits.h"
#include "damper/schedule/backoff.h"

namespace damper::queue {

// A MaxWait shortens the waits of another limiter that are over a bound.
//
// Why: a key that somebody waits for should be tried once in a while, however often it failed.
// Model: what the other one lets a key wait beyond the server's word is at most `longest`. A wait
// that is over it is drawn anew, from longest/2 to longest: if it were longest itself, as with
// client-go, all keys that failed together would come back at one instant, the jitter of the other
// one lost (trap J1). Jitter::none does just that; full draws from 0. The server's word is that of
// this failure: what the other one remembers of earlier ones is bounded too.
// Invariants: (1) and (2) of RateLimiter; (1) even if the other one breaks it;
//   (3) Without a word of the server, the wait is at most longest; with it, at most longest more.
//   (4) A wait within the bound is left alone.
// Thread safety: none.
template <class Key>
class MaxWait final : public RateLimiter<Key> {
 public:
  // REQUIRES: a limiter; 0 < longest <= 30 days; the jitter is not decorrelated.
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
    const Duration said = std::max(why.retry_after, Duration{0});
    const Duration delay = std::max(*wait - said, Duration{0});
    if (delay <= longest_) return after(said, delay);
    // The draw is one of those that gave a long wait: another one, or the short ones never come.
    return after(said, spread(longest_, jitter_, another_draw(draw)));
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

#endif  // DAMPER_QUEUE_LIMITERS_MAX_WAIT_H_
