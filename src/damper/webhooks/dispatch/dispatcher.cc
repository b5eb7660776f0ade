#include "damper/webhooks/dispatch/dispatcher.h"

#include <algorithm>
#include <utility>

#include "damper/base/check.h"
#include "damper/run/clock.h"
#include "damper/webhooks/dispatch/delivery_span.h"

namespace damper::webhooks {
namespace {

using admit::Transition;
using decide::Outcome;
using Kind = DeliveryEvent::Kind;

constexpr std::size_t kPoolConnections = 1000;  // to one host

[[nodiscard]] http::ClientOptions client_options(const DispatcherOptions& options) {
  http::ClientOptions client;
  client.pool.max_connections = kPoolConnections;
  client.dialer.connect_timeout = options.connect_timeout;
  client.dialer.guard = std::make_shared<const http::EgressGuard>(options.guard);
  if (options.proxy) {
    client.dialer.proxy = std::make_shared<const http::EgressProxy>(*options.proxy);
  }
  client.tls = options.tls;
  client.max_endpoints = 100'000;
  client.resolver = options.resolver;
  return client;
}

[[nodiscard]] std::chrono::milliseconds whole_ms(Duration duration) noexcept {
  return std::chrono::ceil<std::chrono::milliseconds>(duration);
}

}  // namespace

std::optional<std::string> find_error(const DispatcherOptions& options) {
  if (auto error = find_error(options.policy)) return error;
  if (auto error = find_error(options.guard)) return error;
  if (options.proxy) {
    if (auto error = find_error(*options.proxy)) return error;
  }
  if (auto error = find_error(options.host_probes)) return "host_probes." + *error;
  if (auto error = find_error(options.all_probes)) return "all_probes." + *error;
  return BoundsCheck()
      .field("max_in_flight", options.max_in_flight, options.kMaxInFlight)
      .field("connect_timeout", options.connect_timeout, http::DialerOptions::kConnectTimeout)
      .error();
}

Dispatcher::Dispatcher(http::Loop& loop, Store& store, Directory& directory,
                       const DispatcherOptions& options, Log log)
    : loop_(loop),
      store_(store),
      directory_(directory),
      options_(options),
      log_(std::move(log)),
      policy_(std::make_shared<const engine::DeliveryPolicy>(options.policy)),
      client_(loop, client_options(options)),
      all_probes_(options.all_probes),
      slots_(options.max_in_flight),
      rewrite_(loop, *this, &Dispatcher::on_rewrite),
      clock_check_(loop, *this, &Dispatcher::check_clock),
      expiry_(loop, *this, &Dispatcher::on_expiry) {
  DAMPER_CHECK_VALID(find_error(options));
  write_disabled_ = [this](const Endpoint& endpoint) {
    directory_.put(endpoint);
    store_.put_endpoint(
        endpoint, on_loop<Store::Nothing>([this, id = endpoint.id, version = endpoint.version](
                                              const Expected<Store::Nothing, StoreError>& done) {
          if (done) directory_.on_written(id, version);
        }));
  };
}

Dispatcher::~Dispatcher() {
  *alive_ = false;
  attempts_.clear();
}

void Dispatcher::start(const std::function<void(std::optional<std::string>)>& done) {
  store_.load(on_loop<Store::Everything>([this, done](Expected<Store::Everything, StoreError> all) {
    if (!all) return done(all.error().sentence);
    on_loaded(*std::move(all));
    store_.watch([this, &loop = loop_, alive = alive_](StoreChange change) {
      loop.post([this, alive, change = std::move(change)]() mutable {
        if (*alive) on_changes(std::move(change));
      });
    });
    using Due = std::vector<EndpointDue>;
    store_.find_due(on_loop<Due>([this, done](Expected<Due, StoreError> due) {
      if (!due) return done(due.error().sentence);
      for (const EndpointDue& one : *due) on_due({&one.endpoint, 1}, one.due);
      watch_clock();
      on_expiry(loop_.now());
      done(std::nullopt);
    }));
  }));
}

void Dispatcher::on_loaded(Store::Everything everything) {
  const std::vector<EndpointState> states = std::move(everything.states);
  for (const auto& [name, text] : everything.settings) {
    const auto hold = find_stored_hold(name, text, run::wall_time());
    if (!hold) continue;
    if (hold->order.length && *hold->order.length < -kLongest) {
      // No delivery is older than its end.
      store_.put_setting(name, {}, [](const Expected<Store::Nothing, StoreError>& /*done*/) {});
      continue;
    }
    (void)holds_.set(hold->scope, hold->which, hold->order, loop_.now());
  }
  directory_.load(std::move(everything));
  for (const std::string& application : directory_.applications()) {
    for (const Endpoint* const endpoint : directory_.endpoints_of(application)) {
      add_worker(*endpoint);
    }
  }
  const Instant now = loop_.now();
  const UnixTime wall = run::wall_time();
  for (const EndpointState& state : states) {
    EndpointWorker* const worker = find(state.endpoint);
    if (worker == nullptr) continue;
    worker->epoch = state.epoch;
    worker->gate().restore(gate_state(state, now, wall));
  }
}

HostProbes Dispatcher::probes_of(const Endpoint& endpoint) {
  const auto url = http::parse_url(endpoint.config.url);
  std::weak_ptr<admit::TokenBucket>& known = host_probes_[url ? url->endpoint.host : ""];
  HostProbes probes = known.lock();
  if (probes == nullptr) {
    probes = std::make_shared<admit::TokenBucket>(options_.host_probes);
    known = probes;
  }
  return probes;
}

EndpointWorker& Dispatcher::add_worker(const Endpoint& endpoint) {
  auto& worker = workers_[endpoint.id];
  worker = std::make_unique<EndpointWorker>(loop_, static_cast<EndpointWorkerOwner&>(*this),
                                            endpoint, policy_, probes_of(endpoint), all_probes_);
  return *worker;
}

EndpointWorker* Dispatcher::find(Id endpoint) const {
  const auto found = workers_.find(endpoint);
  return found == workers_.end() ? nullptr : found->second.get();
}

void Dispatcher::on_changed(Id endpoint_id) {
  const Endpoint* const endpoint = directory_.find(endpoint_id);
  EndpointWorker* const worker = find(endpoint_id);
  if (endpoint == nullptr) {
    workers_.erase(endpoint_id);  // Results of its attempts in flight are dropped by the store.
  } else if (worker == nullptr) {
    add_worker(*endpoint);
  } else {
    worker->reload(*endpoint, policy_, loop_.now());
    pump(*worker);
  }
}

void Dispatcher::on_due(std::span<const Id> endpoints, UnixTime due) {
  for (const Id id : endpoints) {
    EndpointWorker* const worker = find(id);
    if (worker != nullptr && worker->on_due(due)) pump(*worker);
  }
}

void Dispatcher::pump(EndpointWorker& worker) {
  if (draining_ || worker.is_disabled() || !worker.may_claim()) return;
  const Instant now = loop_.now();
  const Instant retries = retries_wait(worker, now).value_or(kNever);
  if (!worker.next_due()) {
    if (retries != kNever) worker.wake_at(retries);
    return;
  }
  const Duration wait = *worker.next_due() - run::wall_time();
  if (wait > Duration{0}) return worker.wake_at(std::min(add(now, wait), retries));
  if (const auto until = held_until(Hold::deliveries, worker, now)) return worker.wake_at(*until);
  if (const auto until = worker.held_by_proxy(now)) return worker.wake_at(*until);
  const auto room = worker.gate().room(now);
  if (room.attempts == 0) return worker.wake_at(room.until);
  const bool healthy = worker.gate().is_healthy();
  const std::size_t most =
      std::min(slots_.free(healthy),
               worker.is_proxy_failing() ? 1 : static_cast<std::size_t>(room.attempts));
  if (most == 0) {
    return slots_.wait(worker, healthy);
  }
  if (needs_probe(worker, now)) return take_probe(worker);
  claim(worker, most);
}

void Dispatcher::claim(EndpointWorker& worker, std::size_t most) {
  const bool healthy = worker.gate().is_healthy();
  const Id id = worker.id();
  worker.claiming = true;
  worker.set_next_due(std::nullopt);
  slots_.take(healthy, most);
  const UnixTime wall = run::wall_time();
  const auto from = worker.firsts_from;
  // on_due() lowers it. Not of an ordered endpoint: the next delivery of a key is older than now,
  // and its retries are at most one for each key.
  if (from && !worker.is_ordered()) worker.firsts_from = wall;
  store_.claim(
      id, wall, most, {.by_key = worker.is_ordered(), .firsts_from = from, .epoch = worker.epoch},
      worker.in_flight(),
      on_loop<Claimed>([this, id, most, healthy, from](Expected<Claimed, StoreError> result) {
        EndpointWorker* const claimer = find(id);
        if (claimer != nullptr && claimer->firsts_from && from) {
          // An error, or more than `most`: not all before now were claimed.
          UnixTime& next = *claimer->firsts_from;
          if (!result) {
            next = std::min(next, *from);
          } else if (result->deliveries.size() == most) {
            next = std::min(next, result->deliveries.back().due);
          }
        }
        on_claimed(id, most, healthy, std::move(result));
      }));
}

void Dispatcher::on_claimed(Id endpoint, std::size_t reserved, bool healthy,
                            Expected<Claimed, StoreError> result) {
  slots_.give_back(healthy, reserved);
  EndpointWorker* const worker = find(endpoint);
  if (worker != nullptr) {
    if (result && result->newer_state) adopt(*result->newer_state);  // It pumps only after a claim.
    worker->claiming = false;
    if (!result) {
      log_({.kind = Kind::store_error, .endpoint = endpoint, .text = result.error().sentence});
      worker->on_due(run::wall_time() + whole_ms(kStorePause));
    } else {
      // Those that are due and were not claimed wait for others of their ordering key.
      const bool blocked = result->deliveries.empty() && result->next_due;
      const UnixTime soon = run::wall_time() + whole_ms(blocked ? kAskAgain : Duration{0});
      if (result->next_due) worker->on_due(std::max(*result->next_due, soon));
      if (result->deliveries.empty()) return_probe(*worker);
      for (Delivery& delivery : result->deliveries) {
        worker->on_claimed(delivery.message->id);
        send(*worker, std::move(delivery));
      }
    }
    pump(*worker);
  }
  serve_line();
  check_drained();
}

observe::SpanContext Dispatcher::begin_span(const Message& message) const {
  observe::SpanContext context = parent_of(message);
  if (options_.tracer != nullptr) return options_.tracer->begin(context);
  // Without a tracer, too, the receiver's spans are of the message's trace.
  if (context) {
    const auto bits = [] { return static_cast<std::uint64_t>(run::draw() * 0x1p32); };
    context.span = std::max<std::uint64_t>(bits() << 32U | bits(), 1);
  }
  return context;
}

// The engine is asked again: the gate may have changed since the claim.
void Dispatcher::send(EndpointWorker& worker, Delivery delivery) {
  const Instant now = loop_.now();
  const bool is_retry = delivery.attempts > 0;
  if (draining_) return put_back(std::move(delivery), Duration{0});
  if (held_until(Hold::deliveries, worker, now)) return put_back(std::move(delivery), kAskAgain);
  if (is_retry && retries_wait(worker, now)) return put_back(std::move(delivery), kAskAgain);
  if (is_expired(worker, delivery, now, run::wall_time())) return expire(std::move(delivery));
  if (needs_probe(worker, now)) return put_back(std::move(delivery), kAskAgain);
  const auto ticket = worker.gate().try_start(now, run::draw());
  if (!ticket) return put_back(std::move(delivery), kAskAgain);
  const bool healthy = worker.gate().is_healthy();
  const observe::SpanContext span = begin_span(*delivery.message);
  auto request = worker.make_request(delivery, run::wall_time(), span);
  auto owned = std::make_unique<DeliveryAttempt>(loop_, static_cast<AttemptOwner&>(*this),
                                                 std::move(delivery), *ticket, healthy, span);
  DeliveryAttempt& attempt = *owned;
  attempts_.emplace(&attempt, std::move(owned));
  slots_.take(healthy, 1);
  ++totals_.attempts;
  if (ticket->half_opened) ++totals_.probes;
  if (!request) {
    worker.last_error = request.error();
    return attempt.refuse(http::CloseReason::malformed);
  }
  http::Pool* const pool = client_.find_pool(worker.host());
  if (pool == nullptr) return attempt.refuse(http::CloseReason::too_many);
  attempt.start(*pool, *std::move(request), add(now, worker.gate().policy().timeout));
}

void Dispatcher::on_attempt(DeliveryAttempt& attempt, AttemptResult result) {
  const auto found = attempts_.find(&attempt);
  const std::unique_ptr<DeliveryAttempt> owned = std::move(found->second);
  attempts_.erase(found);
  slots_.give_back(attempt.was_healthy(), 1);

  const Delivery& delivery = attempt.delivery();
  const Instant now = loop_.now();
  const UnixTime wall = run::wall_time();
  decide::Report& report = result.report.report;
  EndpointWorker* const worker = find(delivery.endpoint);
  DeliveryEnd& end = result.report.end;
  if (worker != nullptr && end == DeliveryEnd::none && worker->ends_by(result.status)) {
    end = DeliveryEnd::permanent;
    report.do_not_retry = true;
  }
  const Duration age = worker != nullptr ? age_of(*worker, delivery, now, wall) : Duration{0};
  engine::DeliveryRecord record{delivery.attempts, delivery.previous_delay};
  const engine::Redelivery next = decide_redelivery(
      worker != nullptr ? worker->policy_of_message(*delivery.message) : options_.policy, record,
      report, age, run::draw());

  Settlement settlement;
  settlement.delivery = delivery;
  settlement.fate = next.what == engine::Redelivery::What::delivered ? Fate::delivered
                    : next.what == engine::Redelivery::What::again   ? Fate::again
                                                                     : Fate::dead;
  settlement.due = wall + whole_ms(next.delay);
  settlement.attempts = record.attempts;
  settlement.previous_delay = record.previous_delay;
  settlement.reason =
      std::string(end == DeliveryEnd::none ? name(next.verdict) : kDeliveryEndNames[end]);
  settlement.log_attempt = report.outcome != Outcome::cancelled;
  settlement.attempt = {.message = delivery.message->id,
                        .endpoint = delivery.endpoint,
                        .attempt = delivery.attempts + 1,
                        .time = wall,
                        .duration = between(attempt.ticket().started, now),
                        .status = result.status,
                        .outcome = std::string(decide::name(report.outcome)),
                        .error = result.report.error,
                        .answer = std::move(result.answer)};
  const bool delivered = settlement.fate == Fate::delivered;
  ++(delivered ? totals_.delivered : totals_.failed);
  if (settlement.fate == Fate::dead) ++totals_.dead;
  log_({.kind = delivery.attempts == 0 ? Kind::first_attempt : Kind::retry_attempt,
        .endpoint = delivery.endpoint,
        .message = delivery.message->id,
        .attempt = delivery.attempts + 1,
        .status = result.status,
        .outcome = report.outcome,
        .text = result.report.error,
        .next = settlement.fate == Fate::again ? std::optional(next.delay) : std::nullopt,
        .duration = between(attempt.ticket().started, now),
        .traceparent = attempt.traceparent()});
  if (options_.tracer != nullptr) {
    const bool dead = settlement.fate == Fate::dead;
    add_span(*options_.tracer, attempt,
             {.outcome = report.outcome,
              .status = result.status,
              .error = result.report.error,
              .verdict = dead ? std::string_view(settlement.reason)
                              : name(delivered ? Verdict::success : Verdict::none),
              .delivered = delivered},
             now);
  }
  if (settlement.fate == Fate::dead) {
    log_({.kind = Kind::dead,
          .endpoint = delivery.endpoint,
          .message = delivery.message->id,
          .attempt = delivery.attempts + 1,
          .text = settlement.reason});
  }
  settle(std::move(settlement));

  if (worker != nullptr) {
    if (result.report.proxy_failed || report.outcome != Outcome::cancelled) {
      worker->on_proxy(result.report.proxy_failed, now, run::draw());
    }
    if (result.report.proxy_failed) ++totals_.proxy_failures;
    const auto effect = worker->gate().on_outcome(attempt.ticket(), report, now, run::draw());
    if (report.outcome == Outcome::cancelled || report.unknown) {
      return_probe(*worker);  // It says nothing about the endpoint.
    } else if (!delivered) {
      // A success may be one of several that close the breaker: the lease holds for the next.
      worker->probe_until = Instant::min();
    }
    ++(delivered ? worker->delivered : worker->failed);
    if (delivered) {
      worker->last_error.clear();
    } else if (result.status != 0) {
      worker->last_error = "status " + std::to_string(result.status);
    } else if (worker->last_error.empty() || report.outcome != Outcome::transient) {
      worker->last_error = result.report.error;
    }
    if (effect.transition == Transition::opened) {
      log_({.kind = Kind::endpoint_failing, .endpoint = worker->id(), .text = worker->last_error});
    } else if (effect.transition == Transition::closed) {
      log_({.kind = Kind::endpoint_recovered, .endpoint = worker->id()});
    }
    if (effect.state_changed) save_state(*worker);
    if (end == DeliveryEnd::gone || effect.disable) {
      disable(*worker, end == DeliveryEnd::gone ? "the endpoint answered that it is gone"
                                                : "every attempt has failed for too long");
    }
    pump(*worker);
  }
  serve_line();
}

void Dispatcher::disable(EndpointWorker& worker, const std::string& reason) {
  const Endpoint* const known = directory_.find(worker.id());
  if (known == nullptr || known->config.disabled) return;
  Endpoint endpoint = *known;
  endpoint.config.disabled = true;
  endpoint.config.disabled_reason = reason;
  log_({.kind = Kind::endpoint_disabled, .endpoint = endpoint.id, .text = reason});
  worker.reload(endpoint, policy_, loop_.now());  // No attempt starts until it is written.
  write_disabled_(endpoint);
}

void Dispatcher::serve_line() {
  while (EndpointWorker* const worker = slots_.next()) pump(*worker);
}

EndpointStatus Dispatcher::status(Id endpoint) const {
  EndpointStatus status;
  const EndpointWorker* const worker = find(endpoint);
  if (worker == nullptr) return status;
  const Instant now = loop_.now();
  const UnixTime wall = run::wall_time();
  status.breaker = worker->gate().breaker_state(now);
  status.in_flight = worker->gate().in_flight();
  status.next_due = worker->next_due();
  const Instant blocked = worker->gate().blocked_until(now);
  if (blocked > now) status.blocked_until = wall_of(blocked, now, wall);
  status.last_error = worker->last_error;
  status.delivered = worker->delivered;
  status.failed = worker->failed;
  for (const Hold which : {Hold::retries, Hold::deliveries}) {
    const auto scope = holds_.holding_scope(which, worker->application(), worker->id(), now);
    if (!scope) continue;
    status.held = kHoldNames[which];
    status.held_scope = name(*scope);
  }
  return status;
}

DeliveryTotals Dispatcher::totals() const {
  DeliveryTotals totals = totals_;
  totals.in_flight = attempts_.size();
  return totals;
}

void Dispatcher::drain(std::function<void()> done) {
  draining_ = true;
  drained_ = std::move(done);
  check_drained();
}

void Dispatcher::check_drained() {
  if (!draining_ || !drained_ || !attempts_.empty() || unsettled_ > 0 || !unwritten_.empty()) {
    return;
  }
  const std::function<void()> done = std::exchange(drained_, nullptr);
  done();
}

}  // namespace damper::webhooks
