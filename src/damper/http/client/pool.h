#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/http/client/client_metrics.h"
#include "damper/http/client/pool_user.h"
#include "damper/http/client/url.h"
#include "damper/http/codec/connection.h"
#include "damper/http/net/dialer.h"
#include "damper/http/net/loop.h"
#include "damper/http/net/tls_settings.h"

namespace damper::http {

struct PoolOptions {
  std::size_t max_connections = 64;  // 1 to 10,000: those that are being made included
  std::size_t max_waiting = 1024;    // 0 to 1,000,000: requests that wait for a connection
  Protocol plain = Protocol::h1;     // h1, or h2 without TLS, which the server must know
  ConnectionLimits limits{};         // of each connection: sizes, timeouts, idle and age

  friend bool operator==(const PoolOptions&, const PoolOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const PoolOptions& options);

// A Pool owns the connections to one endpoint and lends their streams.
//
// Model: a request gets a stream of the connection that became free last, since its server is least
// likely to have closed it; several HTTP/2 streams share one. When none is free a connection is
// dialed, up to max_connections, and the request waits in a queue for the first connection that has
// room. Beyond max_waiting it is refused at once: `too_many`. A failed dial fails the requests that
// it was meant for, oldest first. Until the protocol of a TLS server is known, one connection is
// dialed at a time.
// Invariants:
//   (1) At most max_connections connections and max_waiting queued requests.
//   (2) Queued requests are served in order of arrival.
//   (3) on_over() is called once for each user, unless it cancels.
//   (4) No idle connection is closed before its limits, and no stream of a closed one is lent.
// Thread safety: none; all on the loop's thread.
// Cost: no allocation for a request.
class Pool {
 public:
  // REQUIRES: !find_error(options). What is referred to outlives the pool. `tls`: for https.
  Pool(Dialer& dialer, const Endpoint& endpoint, const PoolOptions& options, const TlsSettings* tls,
       ClientMetrics& metrics);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // Cancels everything: on_over(cancelled) is called for users, which must not open again.
  ~Pool();

  // May call on_open() or on_over().
  void open(PoolUser& user);
  // No request follows: idle connections close now, the others when their streams are over. Queued
  // requests are still served.
  void retire();
  // Calls on_over(reason), for callers without a pool.
  static void refuse(PoolUser& user, CloseReason reason) { user.on_over(reason, true); }

  [[nodiscard]] const Endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] const std::string& authority() const noexcept { return authority_; }
  // The endpoint's protocol; unknown until the first TLS handshake.
  [[nodiscard]] Protocol protocol() const noexcept { return protocol_; }
  [[nodiscard]] Loop& loop() const noexcept { return dialer_.loop(); }
  [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }
  [[nodiscard]] std::size_t idle() const noexcept;  // of these, those without a stream
  [[nodiscard]] std::size_t dialing() const noexcept { return dials_.size(); }
  [[nodiscard]] std::size_t waiting() const noexcept { return queue_.size(); }
  // A ReplicaLease refers to it, or no longer does: see is_unused().
  void on_leased() noexcept { ++leases_; }
  void on_lease_settled() noexcept { --leases_; }
  // Whether no lease, stream, waiting request or call of it is left: it may be destroyed.
  [[nodiscard]] bool is_unused() const noexcept;
  [[nodiscard]] Instant last_used() const noexcept { return last_used_; }  // when it lent a stream

 private:
  friend class PoolUser;
  class Link;  // one connection
  struct Dial;
  using Queue = boost::intrusive::list<
      PoolUser, boost::intrusive::member_hook<PoolUser, boost::intrusive::list_member_hook<>,
                                              &PoolUser::hook_>>;

  void lend(Link& link, PoolUser& user);
  void make_free(Link& link);
  void on_stream_over(Link& link);
  void on_turned(Link& link);
  void on_link_over(Link& link, CloseReason reason);
  void on_dialed(Dial& dial, Dialer::Result result);
  void fail_waiting(std::size_t count, CloseReason reason);
  void serve();
  void dial_if_needed();
  [[nodiscard]] Link* find_free();
  void enqueue(PoolUser& user) noexcept;
  void unlink(PoolUser& user) noexcept;
  [[nodiscard]] std::size_t streams_a_dial() const noexcept;

  Dialer& dialer_;
  const Endpoint endpoint_;
  const std::string authority_;
  const PoolOptions options_;
  const TlsSettings* const tls_;
  ClientMetrics& metrics_;
  Protocol protocol_;
  bool closing_ = false;
  bool retired_ = false;
  bool reporting_ = false;  // users are being called about a dial
  Instant last_used_{};
  std::vector<std::unique_ptr<Link>> connections_;
  std::vector<Link*> free_;  // may have room for a stream; the last one is used first
  std::vector<std::unique_ptr<Dial>> dials_;
  Queue queue_;  // requests that wait for a connection
  std::uint32_t leases_ = 0;
};

}  // namespace damper::http
