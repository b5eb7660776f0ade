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

}  // namespace damper::admit
