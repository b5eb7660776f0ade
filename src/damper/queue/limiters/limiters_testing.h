#pragma once

#include <cstdint>
#include <optional>

#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/queue/limiters/rate_limiter.h"

namespace damper::queue {

using schedule::Jitter;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr Instant kStart{std::chrono::hours(24)};

// A failure without a Retry-After, and one with it.
inline constexpr decide::Report kFailed{.outcome = decide::Outcome::transient};
constexpr decide::Report told(Duration retry_after) {
  return {.outcome = decide::Outcome::overload, .retry_after = retry_after};
}

// A limiter with a fixed delay that counts its calls.
class Fixed final : public RateLimiter<int> {
 public:
  explicit Fixed(std::optional<Duration> answer, std::uint32_t failures = 0)
      : answer_(answer), failures_(failures) {}

  [[nodiscard]] std::optional<Duration> when(KeyView<int> /*key*/, const decide::Report& /*why*/,
                                             Instant /*now*/, double /*draw*/) override {
    ++asked;
    return answer_;
  }
  void forget(KeyView<int> key) noexcept override { forgotten = key; }
  [[nodiscard]] std::uint32_t failures(KeyView<int> /*key*/) const override { return failures_; }
  [[nodiscard]] LimiterStats stats() const noexcept override { return stats_of_its_own; }

  int asked = 0;
  int forgotten = 0;
  LimiterStats stats_of_its_own;

 private:
  const std::optional<Duration> answer_;
  const std::uint32_t failures_;
};

}  // namespace damper::queue
