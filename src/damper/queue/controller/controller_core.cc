#include "damper/queue/controller/controller_core.h"

namespace damper::queue {

std::optional<std::string> find_error(const ControllerCoreOptions& options) {
  if (auto error = find_error(options.queue)) return "queue: " + *error;
  if (auto error = engine::find_error(options.retries)) return "retries: " + *error;
  return std::nullopt;
}

Instant wait_instead_of_parking(const schedule::BackoffOptions& backoff, Instant now,
                                double draw) noexcept {
  schedule::Backoff longest;
  return add(now, longest.next(
                      {.jitter = schedule::Jitter::equal, .base = backoff.cap, .cap = backoff.cap},
                      0, draw));
}

}  // namespace damper::queue
