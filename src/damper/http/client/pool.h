#ifndef DAMPER_HTTP_CLIENT_POOL_H_
#define DAMPER_HTTP_CLIENT_POOL_H_

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

// A Pool has the connections to one endpoint and lends their streams.
//
// Model: a request gets a stream of the connection that was free last, since it is the one least
// likely to have been closed by its server; several HTTP/2 streams share one. When none is free a
// connection is made, up to the bound, and the request waits in line for whichever comes first.
// Over the line's bound it is refused at once: `too_many`. A connection that cannot be made fails
// the requests that it was made for, oldest first. Until a TLS server has said which protocol it
// speaks, one connection is made at a time.
// Invariants:
//   (1) Never more than max_connections, nor more than max_waiting in line.
//   (2) Waiting requests are served in the order in which they came.
//   (3) Each user hears on_over() once, unless it cancels.
//   (4) No connection is closed for being unused before its limits say so, and none that is over is
//       lent.
// Thread safety: none; all on the loop's thread.
// Cost: no allocation for a request.
class Pool {
 public:
  // REQUIRES: !find_error(options). What is referred to outlives the pool. `tls`: for https.
  Pool(Dialer& dialer, const Endpoint& endpoint, const PoolOptions& options, const TlsSettings* tls,
       ClientMetrics& metrics);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // Everything is given up: users hear on_over(cancelled), and may not open again.
  ~Pool();

  // on_open() or on_over() may come from within.
  void open(PoolUser& user);
  // Nobody opens any more: idle connections close now, the others when their streams are over. Who
  // waits already is still served.
  void retire();
  // For whoever has no pool to ask: on_over(reason).
  static void refuse(PoolUser& user, CloseReason reason) { user.on_over(reason, true); }

  [[nodiscard]] const Endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] const std::string& authority() const noexcept { return authority_; }
  // What the endpoint speaks; unknown until a first TLS connection has said so.
  [[nodiscard]] Protocol protocol() const noexcept { return protocol_; }
  [[nodiscard]] Loop& loop() const noexcept { return dialer_.loop(); }
  [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }
  [[nodiscard]] std::size_t idle() const noexcept;  // of these, those without a stream
  [[nodiscard]] std::size_t dialing() const noexcept { return dials_.size(); }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  // Whether nobody uses it, nor waits, and none of its calls is under way: it may be destroyed.
  [[nodiscard]] bool is_unused() const noexcept;
  [[nodiscard]] Instant last_used() const noexcept { return last_used_; }  // when it lent a stream

 private:
  friend class PoolUser;
  class Link;  // one connection
  struct Dial;

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
  void push(PoolUser& user) noexcept;
  void unlink(PoolUser& user) noexcept;
  [[nodiscard]] std::size_t streams_a_dial() const noexcept;

  Dialer& dialer_;
  const Endpoint endpoint_;
  const std::string authority_;
  const PoolOptions options_;
  const TlsSettings* const tls_;
  ClientMetrics& metrics_;
  Protocol protocol_;  // what the endpoint speaks, as far as it is known
  bool closing_ = false;
  bool retired_ = false;
  bool telling_ = false;  // Users hear of a dial.
  Instant last_used_{};
  std::vector<std::unique_ptr<Link>> connections_;
  std::vector<Link*> free_;  // that may have room for a stream; the last one is used first
  std::vector<std::unique_ptr<Dial>> dials_;
  PoolUser* first_ = nullptr;  // the line
  PoolUser* last_ = nullptr;
  std::size_t waiting_ = 0;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_CLIENT_POOL_H_
