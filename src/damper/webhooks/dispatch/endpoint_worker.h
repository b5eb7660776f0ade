#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "damper/admit/token_bucket.h"
#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/engine/delivery/endpoint_gate.h"
#include "damper/http/client/url.h"
#include "damper/http/codec/message.h"
#include "damper/http/net/loop.h"
#include "damper/observe/trace/span_context.h"
#include "damper/webhooks/key.h"
#include "damper/webhooks/model/endpoint.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

class EndpointWorker;

class EndpointWorkerOwner {
 public:
  virtual ~EndpointWorkerOwner() = default;
  // It may have something to send now.
  virtual void on_wake(EndpointWorker& worker) = 0;
};

// The probes of the endpoints of one host share a rate.
using HostProbes = std::shared_ptr<admit::TokenBucket>;

// An EndpointWorker is the state of one endpoint's deliveries in this process: its gate, its keys,
// and which of its deliveries are in flight.
//
// Model: `next_due` is when its first waiting delivery is due, or earlier. Deliveries in flight are
// those that were claimed and are not settled in the store; a claim leaves them out.
// Thread safety: none; all on the loop's thread. The owner decides when to claim.
class EndpointWorker : public boost::intrusive::list_base_hook<
                           boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  // A claim waits while as many results are not settled.
  static constexpr std::size_t kMostUnsettled = 256;

  EndpointWorker(http::Loop& loop, EndpointWorkerOwner& owner, const Endpoint& endpoint,
                 const std::shared_ptr<const engine::DeliveryPolicy>& defaults, HostProbes host,
                 admit::TokenBucket& all);

  // The configuration has changed. The gate keeps its state, unless the endpoint has another URL or
  // was disabled.
  void reload(const Endpoint& endpoint,
              const std::shared_ptr<const engine::DeliveryPolicy>& defaults, Instant now);

  [[nodiscard]] Id id() const noexcept { return id_; }
  [[nodiscard]] const std::string& application() const noexcept { return application_; }
  [[nodiscard]] bool is_disabled() const noexcept { return disabled_; }
  [[nodiscard]] bool is_ordered() const noexcept { return ordered_; }
  // Whether an answer with this status ends its delivery.
  [[nodiscard]] bool ends_by(int status) const noexcept {
    return client_errors_end_ && is_client_error(status);
  }
  // What decides about the retries of a delivery of this message: with Ordering::by_key_skip, one
  // that has an ordering key has none.
  [[nodiscard]] const engine::DeliveryPolicy& policy_of_message(const Message& message) const;
  // The host of the URL; empty: the URL is not valid.
  [[nodiscard]] const http::Endpoint& host() const noexcept { return url_.endpoint; }
  [[nodiscard]] engine::EndpointGate& gate() noexcept { return gate_; }
  [[nodiscard]] const engine::EndpointGate& gate() const noexcept { return gate_; }

  // The request of an attempt at `now`, signed with the keys that have not expired. `span` is its
  // traceparent, if it is valid and the configured headers have none. The error is a sentence: the
  // URL or the keys cannot be used.
  [[nodiscard]] Expected<http::Request> make_request(const Delivery& delivery, UnixTime now,
                                                     const observe::SpanContext& span) const;

  // A delivery is due then. True: earlier than what was known.
  bool on_due(UnixTime due) noexcept;
  void set_next_due(std::optional<UnixTime> due) noexcept { next_due_ = due; }
  [[nodiscard]] std::optional<UnixTime> next_due() const noexcept { return next_due_; }

  void on_claimed(Id message) { in_flight_.insert(message); }
  void on_settled(Id message) { in_flight_.erase(message); }
  [[nodiscard]] bool is_in_flight(Id message) const { return in_flight_.contains(message); }
  [[nodiscard]] std::vector<Id> in_flight() const { return {in_flight_.begin(), in_flight_.end()}; }
  [[nodiscard]] bool may_claim() const noexcept {
    return !claiming && in_flight_.size() < kMostUnsettled;
  }
  // Failures of the egress proxy hold the endpoint's deliveries, and consume no attempt of them:
  // for a second, then for twice as long each time, up to kLongestProxyPause, less up to a half of
  // it by `draw`. Until an attempt gets through, one at a time is made. Each endpoint waits on its
  // own: that of which the proxy alone thinks badly does not hold the others.
  static constexpr Duration kLongestProxyPause = std::chrono::seconds(30);
  void on_proxy(bool has_failed, Instant now, double draw) noexcept;
  // When the next attempt may start; nothing: now.
  [[nodiscard]] std::optional<Instant> held_by_proxy(Instant now) const noexcept;
  [[nodiscard]] bool is_proxy_failing() const noexcept { return proxy_failures_ > 0; }

  // Asks the owner again then; kNever: not by time.
  void wake_at(Instant when) { clock_.arm(when); }

  bool claiming = false;  // a claim is in progress
  // While retries are held: first attempts that are not claimed are due then or later. Retries are
  // passed by, and each of them once.
  std::optional<UnixTime> firsts_from{};
  std::optional<Instant> retries_at{};   // the turn of its retries, after a hold
  std::int64_t epoch = 0;                // of the state in the store
  Instant probe_until = Instant::min();  // of the probe's lease, in a store of several dispatchers
  std::int64_t probe_lease = 0;          // its ProbeGrant::lease
  bool saving = false;                   // the state is being written
  bool unsaved = false;                  // it has changed since
  std::string last_error{};              // of its last failed attempt
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;  // attempts

 private:
  struct Key {
    SigningKey key;
    std::optional<UnixTime> expires;
  };
  void configure(const Endpoint& endpoint);
  void on_clock(Instant now);

  EndpointWorkerOwner& owner_;
  const Id id_;
  std::string application_;
  bool disabled_ = false;
  bool ordered_ = false;
  bool client_errors_end_ = false;
  http::Url url_;
  std::string url_error_;
  http::FieldList headers_;
  std::vector<Key> keys_;
  std::shared_ptr<const engine::DeliveryPolicy> policy_;
  std::shared_ptr<const engine::DeliveryPolicy> skip_policy_;  // nullptr: policy_
  HostProbes host_;
  engine::EndpointGate gate_;
  std::optional<UnixTime> next_due_;
  std::set<Id> in_flight_;
  std::uint32_t proxy_failures_ = 0;  // in a row
  Instant proxy_held_until_ = Instant::min();
  http::Loop::MemberTimer<EndpointWorker> clock_;
};

// The policy of an endpoint: the dispatcher's, and what the endpoint's configuration overrides.
[[nodiscard]] std::shared_ptr<const engine::DeliveryPolicy> policy_of(
    const EndpointConfig& config, const std::shared_ptr<const engine::DeliveryPolicy>& defaults);

}  // namespace damper::webhooks
