// The results of claims, written to the store.
#include <memory>
#include <utility>
#include <vector>

#include "damper/run/clock.h"
#include "damper/webhooks/dispatch/dispatcher.h"

namespace damper::webhooks {

namespace {

using Kind = DeliveryEvent::Kind;

}  // namespace

// Nothing was sent: it is due again after `delay`. A store with one owner knows nothing of the
// claim, so a short delay is not written.
void Dispatcher::put_back(Delivery delivery, Duration delay) {
  const UnixTime due = run::wall_time() + std::chrono::ceil<std::chrono::milliseconds>(delay);
  EndpointWorker* const worker = find(delivery.endpoint);
  if (worker != nullptr && delivery.claim == 0 && delay <= kAskAgain) {
    worker->on_settled(delivery.message->id);
    if (worker->firsts_from && delivery.attempts == 0) {
      worker->firsts_from = std::min(*worker->firsts_from, delivery.due);
    }
    worker->on_due(due);
    return;
  }
  Settlement settlement;
  settlement.delivery = std::move(delivery);
  settlement.log_attempt = false;
  settlement.fate = Fate::again;
  settlement.due = due;
  settlement.attempts = settlement.delivery.attempts;
  settlement.previous_delay = settlement.delivery.previous_delay;
  settle(std::move(settlement));
}

void Dispatcher::settle(Settlement settlement) {
  ++unsettled_;
  auto kept = std::make_shared<const Settlement>(std::move(settlement));
  store_.settle(*kept, on_loop<bool>([this, kept](Expected<bool, StoreError> result) {
    --unsettled_;
    on_settled(*kept, std::move(result));
  }));
}

void Dispatcher::on_settled(const Settlement& settlement, Expected<bool, StoreError> result) {
  const Delivery& delivery = settlement.delivery;
  if (!result) {
    log_({.kind = Kind::store_error,
          .endpoint = delivery.endpoint,
          .message = delivery.message->id,
          .text = result.error().sentence});
    unwritten_.push_back(settlement);
    if (rewrite_.due() == kNever) rewrite_.arm(add(loop_.now(), kStorePause));
    return;
  }
  if (settlement.fate == Fate::dead && !settlement.log_attempt) {
    on_expired(settlement, *result);
  } else if (!*result) {
    log_({.kind = Kind::lost, .endpoint = delivery.endpoint, .message = delivery.message->id});
  }
  if (EndpointWorker* const worker = find(delivery.endpoint)) {
    worker->on_settled(delivery.message->id);
    if (*result && settlement.fate == Fate::again) worker->on_due(settlement.due);
    // The next one of its key; or this one, if a crash of the database has forgotten its claim.
    if (worker->is_ordered() || !*result) worker->on_due(run::wall_time());
    pump(*worker);
  }
  check_drained();
}

void Dispatcher::on_rewrite(Instant /*now*/) {
  std::vector<Settlement> again = std::move(unwritten_);
  unwritten_.clear();
  for (Settlement& settlement : again) settle(std::move(settlement));
}

}  // namespace damper::webhooks
