#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "damper/admit/token_bucket.h"
#include "damper/base/bounds.h"
#include "damper/engine/delivery/redelivery.h"
#include "damper/http/client/client.h"
#include "damper/http/net/egress_guard.h"
#include "damper/http/net/egress_proxy.h"
#include "damper/http/net/loop.h"
#include "damper/observe/trace/tracer.h"
#include "damper/webhooks/dispatch/deliveries.h"
#include "damper/webhooks/dispatch/delivery_attempt.h"
#include "damper/webhooks/dispatch/directory.h"
#include "damper/webhooks/dispatch/endpoint_worker.h"
#include "damper/webhooks/dispatch/holds.h"
#include "damper/webhooks/dispatch/send_slots.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

struct DispatcherOptions {
  static constexpr Range<std::size_t> kMaxInFlight{2, 100'000};

  engine::DeliveryPolicy policy{};
  http::EgressGuard guard{};
  std::optional<http::EgressProxy> proxy{};
  http::TlsClientOptions tls{};
  Duration connect_timeout = std::chrono::seconds(5);
  std::size_t max_in_flight = 2000;  // attempts to all endpoints
  admit::TokenBucketOptions host_probes{.rate_per_second = 20, .burst = 5};
  admit::TokenBucketOptions all_probes{.rate_per_second = 100, .burst = 20};
  http::Resolver* resolver = nullptr;  // nullptr: the system's
  // Of the loop; it outlives the dispatcher. Each attempt has a span below the request that posted
  // its message: see add_span(). nullptr: none has.
  observe::Tracer* tracer = nullptr;
};

[[nodiscard]] std::optional<std::string> find_error(const DispatcherOptions& options);

// What a dispatcher reports, for a log.
struct DeliveryEvent {
  enum class Kind : std::uint8_t {
    first_attempt,
    retry_attempt,
    dead,
    endpoint_failing,    // the breaker has opened
    endpoint_recovered,  // and closed
    endpoint_disabled,
    switch_flipped,  // an operator holds or continues deliveries: `text` is what, and why
    lost,            // a result came after its lease: another dispatcher has the delivery
    store_error,
  };
  Kind kind{};
  std::optional<Id> endpoint{};
  std::optional<Id> message{};
  std::uint32_t attempt = 0;
  int status = 0;
  decide::Outcome outcome = decide::Outcome::success;
  std::string_view text{};  // an error, a reason
  std::optional<Duration> next{};
  Duration duration{0};            // of an attempt
  std::string_view traceparent{};  // that an attempt has sent; empty: none
};
inline constexpr EnumNames<DeliveryEvent::Kind::store_error> kDeliveryEventNames = {
    "first_attempt",     "retry_attempt",  "dead", "endpoint_failing", "endpoint_recovered",
    "endpoint_disabled", "switch_flipped", "lost", "store_error"};

// The state of all endpoints, for metrics.
struct DispatchSurvey {
  std::array<std::size_t, 3> breakers{};  // endpoints that are not disabled, by BreakerState
  std::size_t disabled = 0;
  // Endpoints that have due deliveries and may send none now, by the reason.
  std::array<std::size_t, kVerdictNames.size()> blocked{};
  Duration oldest_due{0};  // how long the first due delivery of an endpoint waits, the longest
};

// A Dispatcher sends the deliveries of a store to their endpoints.
//
//   Dispatcher dispatcher(loop, store, directory, options, log);
//   dispatcher.start([](std::optional<std::string> error) { ... });
//
// Why by endpoint: claims by row make a dead endpoint with 100,000 waiting deliveries everybody's
// problem (trap W3). Here an endpoint is asked for work only if its gate has room, so one that is
// blocked costs nothing.
// Model: an EndpointWorker for each endpoint. One that has a due delivery and room in its gate gets
// slots, claims as many deliveries, and sends them; a result is settled in the store before the
// delivery may be claimed again. The engine decides (engine/delivery): this is a driver.
//   At most max_in_flight attempts at once; see SendSlots.
// Invariants:
//   (1) A delivery leaves the store only after an answer that was a success, or as a dead letter.
//   (2) A delivery is not sent again by this dispatcher before its result is settled.
//   (3) A result that cannot be written is kept and written again, as often as needed.
//   (4) A jump of the wall clock by more than kClockJump is noticed within kClockCheck: what is due
//       by the new time is sent then.
//   (5) A delivery that is older than its max_age is not sent and becomes a dead letter, whether or
//       not its endpoint can be sent to; while a switch holds it, it does not. Each pass over old
//       deliveries reads a bounded number of them.
// Thread safety: none; all on the loop's thread. Store, directory, loop and log outlive it; so does
// whatever resolves names.
class Dispatcher final : public Deliveries, private EndpointWorkerOwner, private AttemptOwner {
 public:
  using Log = std::function<void(const DeliveryEvent& event)>;
  static constexpr Duration kClockJump = std::chrono::seconds(1);
  static constexpr Duration kClockCheck = std::chrono::seconds(1);

  // REQUIRES: !find_error(options).
  Dispatcher(http::Loop& loop, Store& store, Directory& directory, const DispatcherOptions& options,
             Log log);
  ~Dispatcher() override;

  // Sets what writes an endpoint that is to be disabled. An API that changes endpoints has to do it
  // in turn with its own changes, or one of the two is lost. Default: the dispatcher writes it.
  void set_write_disabled(std::function<void(const Endpoint& endpoint)> write) {
    write_disabled_ = std::move(write);
  }
  // Loads the directory, and delivers. `done` gets a sentence if it cannot, on the loop.
  void start(const std::function<void(std::optional<std::string>)>& done);
  // The policy from the next attempt on; endpoints keep their state and what they override.
  // REQUIRES: !find_error(policy).
  void reload(const engine::DeliveryPolicy& policy);
  // Starts no attempt any more; `done` is called when all results are settled.
  void drain(std::function<void()> done);

  void on_due(std::span<const Id> endpoints, UnixTime due) override;
  void on_changed(Id endpoint_id) override;
  [[nodiscard]] EndpointStatus status(Id endpoint) const override;
  [[nodiscard]] DeliveryTotals totals() const override;
  [[nodiscard]] bool hold(const HoldScope& scope, Hold which, const HoldOrder& order) override;
  [[nodiscard]] admit::SwitchStatus holding(const HoldScope& scope, Hold which) const override;
  [[nodiscard]] std::vector<HoldView> holds() const override;
  // Cost: linear in the number of endpoints.
  [[nodiscard]] DispatchSurvey survey() const;

 private:
  static constexpr Duration kStorePause = std::chrono::seconds(1);  // after an error of the store
  static constexpr Duration kAskAgain = std::chrono::milliseconds(50);

  // A function of the loop's thread that is not called after the dispatcher is destroyed.
  template <class T>
  [[nodiscard]] Store::Done<T> on_loop(std::function<void(Expected<T, StoreError>)> function);

  void on_loaded(Store::Everything everything);
  // Of other dispatchers that share the store.
  void on_changes(StoreChange change);
  void adopt(const EndpointState& state);
  void adopt(const Setting& setting);
  [[nodiscard]] static engine::EndpointGate::State gate_state(const EndpointState& state,
                                                              Instant now, UnixTime wall) noexcept;
  EndpointWorker& add_worker(const Endpoint& endpoint);
  [[nodiscard]] EndpointWorker* find(Id endpoint) const;
  [[nodiscard]] HostProbes probes_of(const Endpoint& endpoint);

  void on_wake(EndpointWorker& worker) override { pump(worker); }
  void pump(EndpointWorker& worker);
  void pump(const HoldScope& scope);
  void claim(EndpointWorker& worker, std::size_t most);
  // Until when no retry of the endpoint is claimed: while a switch holds them, and then until the
  // turn of the endpoint; nothing: they are.
  [[nodiscard]] std::optional<Instant> retries_wait(EndpointWorker& worker, Instant now) const;
  // Of several dispatchers, one probes an endpoint.
  [[nodiscard]] bool needs_probe(const EndpointWorker& worker, Instant now) const noexcept;
  void take_probe(EndpointWorker& worker);
  void on_probe(Id endpoint, Instant until, const Expected<ProbeGrant, StoreError>& result);
  // Nothing was sent with it, or its lease is too short for another attempt.
  void return_probe(EndpointWorker& worker);
  void on_claimed(Id endpoint, std::size_t reserved, bool healthy,
                  Expected<Claimed, StoreError> result);
  void send(EndpointWorker& worker, Delivery delivery);
  // Of a new attempt's span; none: it is part of no trace.
  [[nodiscard]] observe::SpanContext begin_span(const Message& message) const;
  void on_attempt(DeliveryAttempt& attempt, AttemptResult result) override;

  // dispatcher_settle.cc
  void put_back(Delivery delivery, Duration delay);
  void settle(Settlement settlement);
  void on_settled(const Settlement& settlement, Expected<bool, StoreError> result);
  void on_rewrite(Instant now);

  void disable(EndpointWorker& worker, const std::string& reason);
  void save_state(EndpointWorker& worker);
  void on_saved(const EndpointState& saved, const Expected<Store::Nothing, StoreError>& result);

  void watch_clock();
  void check_clock(Instant now);

  // dispatcher_expiry.cc
  [[nodiscard]] Duration age_of(const EndpointWorker& worker, const Delivery& delivery, Instant now,
                                UnixTime wall) const noexcept;
  [[nodiscard]] bool is_expired(const EndpointWorker& worker, const Delivery& delivery, Instant now,
                                UnixTime wall) const noexcept;
  [[nodiscard]] Duration shortest_max_age() const noexcept;
  void expire(Delivery delivery);
  void on_expired(const Settlement& settlement, bool written);
  void on_expiry(Instant now);
  void on_old(Expected<OldDeliveries, StoreError> result);

  void serve_line();
  [[nodiscard]] std::optional<Instant> held_until(Hold which, const EndpointWorker& worker,
                                                  Instant now) const noexcept;
  void check_drained();
  [[nodiscard]] static UnixTime wall_of(Instant instant, Instant now, UnixTime wall) noexcept;

  http::Loop& loop_;
  Store& store_;
  Directory& directory_;
  const DispatcherOptions options_;
  const Log log_;
  std::shared_ptr<const engine::DeliveryPolicy> policy_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  http::Client client_;
  admit::TokenBucket all_probes_;
  SendSlots slots_;
  std::unordered_map<std::string, std::weak_ptr<admit::TokenBucket>> host_probes_;
  std::unordered_map<Id, std::unique_ptr<EndpointWorker>> workers_;
  std::unordered_map<DeliveryAttempt*, std::unique_ptr<DeliveryAttempt>> attempts_;
  Holds holds_;
  std::size_t unsettled_ = 0;          // settlements that the store has
  std::vector<Settlement> unwritten_;  // that the store could not write: again, soon
  http::Loop::MemberTimer<Dispatcher> rewrite_;
  http::Loop::MemberTimer<Dispatcher> clock_check_;
  Duration wall_offset_{0};  // of the wall clock from the steady one, when it was last checked
  http::Loop::MemberTimer<Dispatcher> expiry_;
  DeliveryPlace expiry_place_{};  // of the pass over old deliveries
  Duration expiry_age_{0};        // of that pass: the shortest max_age
  std::size_t expiring_ = 0;      // settlements of expired deliveries
  std::function<void(const Endpoint& endpoint)> write_disabled_;
  std::function<void()> drained_;
  bool draining_ = false;
  DeliveryTotals totals_;
};

template <class T>
Store::Done<T> Dispatcher::on_loop(std::function<void(Expected<T, StoreError>)> function) {
  return [&loop = loop_, alive = alive_,
          function = std::move(function)](Expected<T, StoreError> result) {
    loop.post([alive, function, result = std::move(result)]() mutable {
      if (*alive) function(std::move(result));
    });
  };
}

}  // namespace damper::webhooks
