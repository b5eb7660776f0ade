#include "damper/admit/attempt_rate.h"

namespace damper::admit {

std::optional<std::string> find_error(const AttemptRateOptions& options) {
  return BoundsCheck()
      .field("attempts_per_second", options.bucket.rate_per_second,
             TokenBucketOptions::kRatePerSecond)
      .field("burst", options.bucket.burst, TokenBucketOptions::kBurst)
      .field("max_wait", options.max_wait, options.kMaxWait)
      .error();
}

std::int64_t AttemptRate::longest_unused(const TokenBucketOptions& options) noexcept {
  constexpr double kLess = 1 - 1e-12;
  const double exact = (options.burst - 1) * 1e9 / options.rate_per_second;
  return std::max<std::int64_t>(static_cast<std::int64_t>(exact * kLess) - 1, 0);
}

}  // namespace damper::admit
