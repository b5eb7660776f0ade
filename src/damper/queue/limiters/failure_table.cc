#include "damper/queue/limiters/failure_table.h"

namespace damper::queue {

std::optional<std::string> find_error(const FailureTableOptions& options) {
  if (options.capacity < 1 || options.capacity > 10'000'000) {
    return "capacity must be 1 to 10,000,000 keys";
  }
  if (options.forget_after <= Duration{0} || options.forget_after > kLongest) {
    return "forget_after must be over 0 and at most 30 days";
  }
  return std::nullopt;
}

}  // namespace damper::queue
