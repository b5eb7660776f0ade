// What dispatchers that share a store know of each other: changes of the configuration, the state
// of an endpoint's breaker, and who probes it.
#include <algorithm>
#include <utility>

#include "damper/run/clock.h"
#include "damper/webhooks/dispatch/dispatcher.h"

namespace damper::webhooks {
namespace {

constexpr Duration kLeastPause = std::chrono::milliseconds(50);
constexpr Duration kLeastSlack = std::chrono::seconds(5);

}  // namespace

engine::EndpointGate::State Dispatcher::gate_state(const EndpointState& state, Instant now,
                                                   UnixTime wall) noexcept {
  const auto instant = [&](UnixTime time) { return add(now, Duration(time - wall)); };
  engine::EndpointGate::State saved;
  saved.breaker.trips = static_cast<std::uint8_t>(std::min<std::uint32_t>(state.trips, 62));
  if (state.open_until != UnixTime{}) saved.breaker.open_until = instant(state.open_until);
  saved.blocked_until = instant(state.blocked_until);
  if (state.failing_since) saved.failing_since = instant(*state.failing_since);
  return saved;
}

void Dispatcher::on_changes(StoreChange change) {
  for (std::string& name : change.applications) directory_.put_application(std::move(name));
  for (Endpoint& endpoint : change.endpoints) {
    const Id id = endpoint.id;
    directory_.put(std::move(endpoint));
    on_changed(id);
  }
  for (const Id id : change.removed_endpoints) {
    directory_.remove(id);
    on_changed(id);
  }
  for (const std::string& name : change.removed_applications) directory_.remove_application(name);
  directory_.set_version(change.configuration);
  for (const Setting& setting : change.settings) adopt(setting);
  for (const EndpointState& state : change.states) adopt(state);
  for (const EndpointDue& one : change.due) on_due({&one.endpoint, 1}, one.due);
}

// The state of an older epoch is one that this dispatcher has changed since.
void Dispatcher::adopt(const EndpointState& state) {
  EndpointWorker* const worker = find(state.endpoint);
  if (worker == nullptr || state.epoch <= worker->epoch) return;
  worker->epoch = state.epoch;
  worker->gate().adopt(gate_state(state, loop_.now(), run::wall_time()), loop_.now());
  pump(*worker);
}

void Dispatcher::adopt(const Setting& setting) {
  const auto& [name, text] = setting;
  if (const auto stored = find_stored_hold(name, text, run::wall_time())) {
    const bool ended = stored->order.length && *stored->order.length <= Duration{0};
    const admit::SwitchStatus known = holding(stored->scope, stored->which);
    if (!ended && !(known.off && known.reason == stored->order.reason)) {
      (void)hold(stored->scope, stored->which, stored->order);
    } else if (ended && known.off) {
      (void)hold(stored->scope, stored->which, {});
    } else {
      (void)holds_.set(stored->scope, stored->which, stored->order, loop_.now());  // Its end.
      pump(stored->scope);
    }
    return;
  }
  for (const HoldView& view : holds()) {
    if (hold_setting(view.scope, view.which) == name) (void)hold(view.scope, view.which, {});
  }
}

// A lease that does not outlast the attempt would let another dispatcher probe beside it.
bool Dispatcher::needs_probe(const EndpointWorker& worker, Instant now) const noexcept {
  return store_.is_shared() && add(now, worker.gate().policy().timeout) > worker.probe_until &&
         worker.gate().breaker_state(now) == admit::BreakerState::half_open;
}

void Dispatcher::take_probe(EndpointWorker& worker) {
  if (worker.saving) return;  // The epoch is not known yet; on_saved() asks again.
  const auto rate = [](const admit::TokenBucketOptions& options) {
    return ProbeRequest::Rate{options.rate_per_second, static_cast<std::int32_t>(options.burst)};
  };
  const Id id = worker.id();
  return_probe(worker);  // What is left of its lease is too short.
  const Duration timeout = worker.gate().policy().timeout;
  const Duration lease = timeout + std::max(timeout / 2, kLeastSlack);
  const Instant until = add(loop_.now(), lease);  // The database counts from later on.
  worker.claiming = true;
  store_.take_probe(
      {.endpoint = id,
       .epoch = worker.epoch,
       .lease = lease,
       .host = worker.host().host,
       .of_host = rate(options_.host_probes),
       .of_all = rate(options_.all_probes)},
      on_loop<ProbeGrant>([this, id, until](const Expected<ProbeGrant, StoreError>& result) {
        on_probe(id, until, result);
      }));
}

void Dispatcher::on_probe(Id endpoint, Instant until,
                          const Expected<ProbeGrant, StoreError>& result) {
  EndpointWorker* const worker = find(endpoint);
  if (worker == nullptr) return;
  worker->claiming = false;
  const Instant now = loop_.now();
  if (!result) {
    log_({.kind = DeliveryEvent::Kind::store_error,
          .endpoint = endpoint,
          .text = result.error().sentence});
    return worker->wake_at(add(now, kStorePause));
  }
  if (!result->granted) {
    const Duration wait = result->retry - run::wall_time();
    return worker->wake_at(add(now, std::max(wait, kLeastPause)));
  }
  worker->probe_until = until;
  worker->probe_lease = result->lease;
  pump(*worker);
}

void Dispatcher::return_probe(EndpointWorker& worker) {
  const Instant now = loop_.now();
  if (!store_.is_shared() || now >= worker.probe_until) return;
  if (worker.gate().breaker_state(now) != admit::BreakerState::half_open) return;
  worker.probe_until = Instant::min();
  // If it fails, the lease ends by itself.
  store_.return_probe(worker.id(), worker.probe_lease,
                      [](const Expected<Store::Nothing, StoreError>& /*done*/) {});
}

UnixTime Dispatcher::wall_of(Instant instant, Instant now, UnixTime wall) noexcept {
  if (instant == Instant::min()) return UnixTime{};
  return wall + std::chrono::ceil<std::chrono::milliseconds>(
                    std::clamp(between(now, instant), -kLongest, kLongest));
}

// One write at a time: each has the epoch that the one before has made.
void Dispatcher::save_state(EndpointWorker& worker) {
  worker.unsaved = worker.saving;
  if (worker.saving) return;
  worker.saving = true;
  const Instant now = loop_.now();
  const UnixTime wall = run::wall_time();
  const auto state = worker.gate().state();
  EndpointState saved{.endpoint = worker.id(),
                      .blocked_until = wall_of(state.blocked_until, now, wall),
                      .open_until = wall_of(state.breaker.open_until, now, wall),
                      .trips = state.breaker.trips};
  if (state.failing_since) saved.failing_since = wall_of(*state.failing_since, now, wall);
  if (saved.open_until == UnixTime{} &&
      worker.gate().breaker_state(now) == admit::BreakerState::half_open) {
    saved.open_until = wall;  // It has ended: for the others, half-open and not closed.
  }
  saved.epoch = worker.epoch;
  store_.put_state(saved, on_loop<Store::Nothing>(
                              [this, saved](const Expected<Store::Nothing, StoreError>& result) {
                                on_saved(saved, result);
                              }));
}

// A conflict: another dispatcher was first, and its state will be adopted.
void Dispatcher::on_saved(const EndpointState& saved,
                          const Expected<Store::Nothing, StoreError>& result) {
  EndpointWorker* const worker = find(saved.endpoint);
  if (worker == nullptr) return;
  worker->saving = false;
  if (result) worker->epoch = std::max(worker->epoch, saved.epoch + 1);
  const bool lost = !result && result.error().kind == StoreError::Kind::conflict;
  if (worker->unsaved && !lost) return save_state(*worker);
  pump(*worker);
}

}  // namespace damper::webhooks
