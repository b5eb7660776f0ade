#include "damper/queue/work_queue/work_queue_options.h"

namespace damper::queue {

std::optional<std::string> find_error(const WorkQueueOptions& options) {
  if (options.capacity < 1 || options.capacity > 50'000'000) {
    return "capacity must be 1 to 50,000,000 keys";
  }
  if (options.group_capacity > options.capacity) {
    return "group_capacity must be at most the capacity, or 0 for none of its own";
  }
  if (options.ageing < Duration{0} || options.ageing > std::chrono::hours(24)) {
    return "ageing must be 0 to 1 day";
  }
  return std::nullopt;
}

}  // namespace damper::queue
