#include "damper/queue/limiters/bucket_limiter.h"

namespace damper::queue {

std::optional<std::string> find_error(const BucketOptions& options) {
  if (auto error = admit::find_error({options.rate_per_second, options.burst})) return error;
  if (options.most_ahead <= Duration{0} || options.most_ahead > kLongest) {
    return "most_ahead must be over 0 and at most 30 days";
  }
  return std::nullopt;
}

}  // namespace damper::queue
