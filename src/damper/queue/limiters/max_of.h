#ifndef DAMPER_QUEUE_LIMITERS_MAX_OF_H_
#define DAMPER_QUEUE_LIMITERS_MAX_OF_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/queue/limiters/rate_limiter.h"

namespace damper::queue {

// A MaxOf asks several limiters, and the longest wait wins.
//
// Why: a delay for each key and a bucket for all bound different things; both are to hold.
// Model: every limiter is asked, each time, so that all of them count the failure and consume what
// they would alone. One that refuses refuses for all. All are given the same draw: the longest of
// their waits is spread as one of them is.
// Invariants: (1) and (2) of RateLimiter, for its limiters have them;
//   (3) No limiter's answer depends on which others are there.
// Thread safety: none.
template <class Key>
class MaxOf final : public RateLimiter<Key> {
 public:
  using Limiter = std::unique_ptr<RateLimiter<Key>>;

  // REQUIRES: there is one at least, and none is null.
  explicit MaxOf(std::vector<Limiter> limiters) : limiters_(std::move(limiters)) {
    DAMPER_CHECK(!limiters_.empty());
    for (const Limiter& limiter : limiters_) DAMPER_CHECK(limiter != nullptr);
  }

  [[nodiscard]] std::optional<Duration> when(KeyView<Key> key, const decide::Report& why,
                                             Instant now, double draw) override {
    std::optional<Duration> longest = Duration{0};
    for (const Limiter& limiter : limiters_) {
      const std::optional<Duration> wait = limiter->when(key, why, now, draw);
      longest = longest && wait ? std::max(longest, wait) : std::nullopt;
    }
    return longest;
  }
  void forget(KeyView<Key> key) noexcept override {
    for (const Limiter& limiter : limiters_) limiter->forget(key);
  }
  // The most that any of them knows of.
  [[nodiscard]] std::uint32_t failures(KeyView<Key> key) const override {
    std::uint32_t most = 0;
    for (const Limiter& limiter : limiters_) most = std::max(most, limiter->failures(key));
    return most;
  }
  [[nodiscard]] LimiterStats stats() const noexcept override {
    LimiterStats sum;
    for (const Limiter& limiter : limiters_) sum += limiter->stats();
    return sum;
  }

 private:
  const std::vector<Limiter> limiters_;
};

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_LIMITERS_MAX_OF_H_
