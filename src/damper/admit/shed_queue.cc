#include "damper/admit/shed_queue.h"

#include <algorithm>

namespace damper::admit {

std::optional<std::string> find_error(const ShedQueueOptions& options) {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  const auto within = [](auto value, auto low, auto high) { return low <= value && value <= high; };
  if (!within(options.capacity, 1, 1'000'000)) return "capacity must be from 1 to 1,000,000";
  if (!within(options.interval, milliseconds(1), hours(1))) {
    return "interval must be from 1 ms to 1 h";
  }
  if (!within(options.target, Duration{1}, options.interval)) {
    return "target must be over 0 and at most interval";
  }
  if (!within(options.needed, Duration{1}, kLongest)) {
    return "needed must be over 0 and at most 30 days";
  }
  if (!within(options.longest_retry_after, options.interval, Duration{hours(24)})) {
    return "longest_retry_after must be from interval to 24 h";
  }
  return std::nullopt;
}

Duration retry_after(const ShedQueueOptions& options, std::size_t depth, Duration service,
                     double draw) noexcept {
  const Duration wait = std::clamp(times(service, static_cast<std::int64_t>(depth)),
                                   options.interval, options.longest_retry_after);
  return wait + Duration{static_cast<std::int64_t>(static_cast<double>(wait.count()) * draw)};
}

}  // namespace damper::admit
