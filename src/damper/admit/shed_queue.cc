#include "damper/admit/shed_queue.h"

#include <algorithm>

namespace damper::admit {

std::optional<std::string> find_error(const ShedQueueOptions& options) {
  return BoundsCheck()
      .field("capacity", options.capacity, options.kCapacity)
      .field("interval", options.interval, options.kInterval)
      .field("target", options.target, Range<Duration>{Duration{1}, options.interval})
      .field("needed", options.needed, options.kNeeded)
      .field("longest_retry_after", options.longest_retry_after,
             Range<Duration>{options.interval, std::chrono::hours(24)})
      .error();
}

Duration retry_after(const ShedQueueOptions& options, std::size_t depth, Duration service,
                     double draw) noexcept {
  const Duration wait = std::clamp(times(service, static_cast<std::int64_t>(depth)),
                                   options.interval, options.longest_retry_after);
  return wait + Duration{static_cast<std::int64_t>(static_cast<double>(wait.count()) * draw)};
}

}  // namespace damper::admit
