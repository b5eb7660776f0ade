#include "damper/queue/limiters/per_key_limiter.h"

namespace damper::queue {

std::optional<std::string> find_error(const PerKeyOptions& options) {
  if (auto error = schedule::find_error({options.jitter, options.base, options.cap})) return error;
  if (auto error = find_error(options.remembered)) return error;
  if (options.remembered.forget_after < options.cap) {
    return "forget_after must be at least the cap, or a key is forgotten while it waits";
  }
  return std::nullopt;
}

}  // namespace damper::queue
