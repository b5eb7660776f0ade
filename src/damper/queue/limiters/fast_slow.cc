#include "damper/queue/limiters/fast_slow.h"

namespace damper::queue {

std::optional<std::string> find_error(const FastSlowOptions& options) {
  if (options.fast <= Duration{0} || options.fast > kLongest) {
    return "fast must be over 0 and at most 30 days";
  }
  if (options.slow < options.fast || options.slow > kLongest) {
    return "slow must be at least fast and at most 30 days";
  }
  if (!can_spread(options.jitter)) return "jitter must be none, full or equal";
  if (auto error = find_error(options.remembered)) return error;
  if (options.remembered.forget_after < options.slow) {
    return "forget_after must be at least slow, or a key is forgotten while it waits";
  }
  return std::nullopt;
}

}  // namespace damper::queue
