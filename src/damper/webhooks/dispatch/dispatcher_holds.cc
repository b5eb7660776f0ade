// Kill switches: what they hold, and what continues after them.
#include <utility>

#include "damper/run/clock.h"
#include "damper/webhooks/dispatch/dispatcher.h"

namespace damper::webhooks {
namespace {

constexpr Duration kRetrySpread = std::chrono::seconds(5);  // of retries after a hold, by endpoint

}  // namespace

std::optional<Instant> Dispatcher::retries_wait(EndpointWorker& worker, Instant now) const {
  if (const auto until = held_until(Hold::retries, worker, now)) {
    if (!worker.firsts_from) worker.firsts_from = UnixTime{};
    worker.retries_at.reset();
    return until;
  }
  if (!worker.firsts_from) return std::nullopt;
  if (!worker.retries_at) {
    worker.retries_at = add(now, std::chrono::duration_cast<Duration>(run::draw() * kRetrySpread));
  }
  if (now < *worker.retries_at) return worker.retries_at;
  worker.firsts_from.reset();
  worker.retries_at.reset();
  worker.on_due(run::wall_time());  // those that were passed by
  return std::nullopt;
}

std::optional<Instant> Dispatcher::held_until(Hold which, const EndpointWorker& worker,
                                              Instant now) const noexcept {
  return holds_.held_until(which, worker.application(), worker.id(), now);
}

bool Dispatcher::hold(const HoldScope& scope, Hold which, const HoldOrder& order) {
  if (!holds_.set(scope, which, order, loop_.now())) return false;
  std::string text = std::string(kHoldNames[which]) + (order.off ? " off" : " on");
  if (!scope.application.empty()) text.append(" for ").append(scope.application);
  if (order.off) text.append(": ").append(order.reason);
  log_({.kind = DeliveryEvent::Kind::switch_flipped, .endpoint = scope.endpoint, .text = text});
  pump(scope);
  return true;
}

// Also if it is off: what waits for the end of the hold before may wait for another one now.
void Dispatcher::pump(const HoldScope& scope) {
  for (const auto& [id, worker] : workers_) {
    const bool is_of_scope =
        scope.endpoint ? id == *scope.endpoint
                       : scope.application.empty() || worker->application() == scope.application;
    if (is_of_scope) pump(*worker);
  }
}

admit::SwitchStatus Dispatcher::holding(const HoldScope& scope, Hold which) const {
  return holds_.status(scope, which, loop_.now());
}

std::vector<HoldView> Dispatcher::holds() const { return holds_.list(loop_.now()); }

}  // namespace damper::webhooks
