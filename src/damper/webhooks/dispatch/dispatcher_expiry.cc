// The end of deliveries by their age: also of those that are not sent because their endpoint is
// disabled, its breaker open or its retry time in the future.
#include <algorithm>
#include <utility>

#include "damper/run/clock.h"
#include "damper/webhooks/dispatch/dispatcher.h"

namespace damper::webhooks {
namespace {

constexpr std::size_t kPassRows = 200;
constexpr Duration kPassPause = std::chrono::milliseconds(50);
constexpr Duration kExpiryErrorPause = std::chrono::seconds(1);
// Between the end of a pass over all old deliveries and the next one: a tenth of max_age.
constexpr Duration kLeastExpiryPause = std::chrono::seconds(1);
constexpr Duration kLongestExpiryPause = std::chrono::seconds(30);

}  // namespace

Duration Dispatcher::age_of(const EndpointWorker& worker, const Delivery& delivery, Instant now,
                            UnixTime wall) const noexcept {
  Duration age = wall - delivery.since;
  const Instant held_until = holds_.last_end(worker.application(), worker.id(), now);
  if (held_until != Instant::min()) age = std::min(age, between(held_until, now));
  return std::max(age, Duration{0});
}

bool Dispatcher::is_expired(const EndpointWorker& worker, const Delivery& delivery, Instant now,
                            UnixTime wall) const noexcept {
  if (held_until(Hold::deliveries, worker, now)) return false;
  if (delivery.attempts > 0 && held_until(Hold::retries, worker, now)) return false;
  return age_of(worker, delivery, now, wall) > worker.gate().policy().max_age;
}

Duration Dispatcher::shortest_max_age() const noexcept {
  Duration shortest = options_.policy.max_age;
  for (const auto& [id, worker] : workers_) {
    shortest = std::min(shortest, worker->gate().policy().max_age);
  }
  return shortest;
}

void Dispatcher::expire(Delivery delivery) {
  Settlement settlement;
  settlement.attempt.message = delivery.message->id;
  settlement.attempt.endpoint = delivery.endpoint;
  settlement.attempt.time = run::wall_time();
  settlement.attempts = delivery.attempts;
  settlement.delivery = std::move(delivery);
  settlement.log_attempt = false;
  settlement.fate = Fate::dead;
  settlement.reason = std::string(name(Verdict::deadline_passed));
  ++expiring_;
  settle(std::move(settlement));
}

// Not written: another dispatcher has expired or claimed it.
void Dispatcher::on_expired(const Settlement& settlement, bool written) {
  --expiring_;
  if (!written) return;
  ++totals_.dead;
  log_({.kind = DeliveryEvent::Kind::dead,
        .endpoint = settlement.delivery.endpoint,
        .message = settlement.delivery.message->id,
        .attempt = settlement.delivery.attempts,
        .text = settlement.reason});
}

// The next deliveries in order of their messages. Those that are not expired, because their
// endpoint has a longer max_age or they were redriven, are passed by once in each pass over all.
void Dispatcher::on_expiry(Instant now) {
  if (draining_) return;
  if (expiring_ > 0) return expiry_.arm(add(now, kPassPause));
  if (expiry_place_.message == Id{}) expiry_age_ = shortest_max_age();
  const UnixTime before =
      run::wall_time() - std::chrono::floor<std::chrono::milliseconds>(expiry_age_);
  store_.find_old(expiry_place_, before, kPassRows,
                  on_loop<OldDeliveries>([this](Expected<OldDeliveries, StoreError> result) {
                    on_old(std::move(result));
                  }));
}

void Dispatcher::on_old(Expected<OldDeliveries, StoreError> result) {
  const Instant now = loop_.now();
  if (!result) {
    log_({.kind = DeliveryEvent::Kind::store_error, .text = result.error().sentence});
    return expiry_.arm(add(now, kExpiryErrorPause));
  }
  const UnixTime wall = run::wall_time();
  for (Delivery& delivery : result->deliveries) {
    EndpointWorker* const worker = find(delivery.endpoint);
    // A claim that is in progress may return it.
    if (worker == nullptr || worker->claiming || worker->is_in_flight(delivery.message->id)) {
      continue;
    }
    if (!is_expired(*worker, delivery, now, wall)) continue;
    worker->on_claimed(delivery.message->id);
    expire(std::move(delivery));
  }
  expiry_place_ = result->next.value_or(DeliveryPlace{});
  const Duration pause =
      result->next ? kPassPause
                   : std::clamp<Duration>(expiry_age_ / 10, kLeastExpiryPause, kLongestExpiryPause);
  expiry_.arm(add(now, pause));
}

}  // namespace damper::webhooks
