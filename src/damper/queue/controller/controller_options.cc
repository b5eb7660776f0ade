#include "damper/queue/controller/controller_options.h"

namespace damper {

std::optional<std::string> find_error(const ControllerOptions& options) {
  if (options.workers < 1 || options.workers > 1000) return "workers must be 1 to 1000";
  return queue::find_error(queue::core_options(options));
}

queue::ControllerCoreOptions queue::core_options(const ControllerOptions& options) {
  return {.queue = options.queue, .retries = options.retries, .most_parked = options.most_parked};
}

}  // namespace damper
