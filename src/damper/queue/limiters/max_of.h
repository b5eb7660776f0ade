#pragma once

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

// A MaxOf returns the longest delay of several limiters.
//
// Why: a delay for each key and a bucket for all keys bound different things; both should hold.
// Model: every limiter is called each time, so that all of them count the failure and take their
// tokens. If one refuses, MaxOf refuses. All get the same draw, so that the longest of the delays
// has the distribution of one of them.
// Invariants: (1) and (2) of RateLimiter, since its limiters have them;
//   (3) No limiter's result depends on the others.
// Thread safety: none.
template <class Key>
class MaxOf final : public RateLimiter<Key> {
 public:
  using Limiter = std::unique_ptr<RateLimiter<Key>>;

  // REQUIRES: at least one limiter, none is null.
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
  // The maximum over all limiters.
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
