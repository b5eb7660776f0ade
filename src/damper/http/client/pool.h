#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/admit/quota.h"
#include "damper/http/client/client_metrics.h"
#include "damper/http/client/url.h"
#include "damper/http/codec/connection.h"
#include "damper/http/codec/stream.h"
#include "damper/http/net/dialer.h"
#include "damper/http/net/loop.h"
#include "damper/http/tls/tls_settings.h"

namespace damper::http {

class Pool;

// A PoolUser requests a stream of a pool, then uses it.
//
// Model: Pool::open(user), then on_open() when there is a stream, perhaps at once; then the calls
// of a StreamUser. If no stream can be opened, on_over() has the reason, without on_open().
// Lifetime: it outlives its stream and its wait: cancel() ends both, and so does the destructor.
// Thread safety: none; all on the loop's thread.
class PoolUser : private StreamUser {
 public:
  PoolUser() = default;
  PoolUser(const PoolUser&) = delete;
  PoolUser& operator=(const PoolUser&) = delete;
  virtual ~PoolUser() { cancel(); }

  // Ends the wait or resets the stream; the user is not called any more. Not from within on_over().
  void cancel();
  // The same, because its time is over: a connection on which nothing was received since the stream
  // began is not reused. Otherwise a black-holed path would be used for ever.
  void cancel_late();
  [[nodiscard]] bool is_under_way() const noexcept { return pool_ != nullptr; }
  // The stream has become a tunnel: an HTTP/1.1 connection of its own, which from now on counts no
  // more among the pool's max_connections. The caller bounds tunnels. No effect without a stream.
  void detach();
  // The exchange waits for somebody else than the server: a client that stalls its upload, or does
  // not read the response. Meanwhile an HTTP/1.1 connection does not count among max_connections,
  // but among max_held. No effect without a stream.
  void set_held(bool held);

 protected:
  // The stream is valid until on_over() or cancel().
  virtual void on_open(Stream& stream) = 0;
  void on_head(const Head& head, bool end) override = 0;
  void on_data(std::string_view bytes) override = 0;
  void on_end(std::span<const Field> trailers) override = 0;
  void on_interim(const Head& /*head*/) override {}
  void on_writable() override {}
  // The last call: the user may destroy itself. `unsent`: no byte of the request can have reached
  // the peer.
  virtual void on_over(CloseReason reason, bool unsent) = 0;

 private:
  friend class Pool;
  void on_close(CloseReason reason) final;

  Pool* pool_ = nullptr;                       // where it waits or has its stream
  Stream* stream_ = nullptr;                   // nullptr: it waits
  void* link_ = nullptr;                       // the stream's connection
  boost::intrusive::list_member_hook<> hook_;  // in the pool's queue
};

struct PoolOptions {
  static constexpr Range<std::size_t> kMaxConnections{1, 10'000};
  static constexpr Range<std::size_t> kMaxWaiting{0, 1'000'000};
  static constexpr Range<std::size_t> kMaxHeld{0, 1'000'000};

  std::size_t max_connections = 64;  // including those that are being made
  std::size_t max_held = 10'000;     // beside those; see PoolUser::set_held()
  std::size_t max_waiting = 1024;    // requests that wait for a connection
  // Beside max_held: a limit of held connections that pools of other loops share. nullptr: none.
  std::shared_ptr<admit::Quota> held{};
  Protocol plain = Protocol::h1;  // h1, or h2 without TLS, which the server must know
  ConnectionLimits limits{};      // of each connection: sizes, timeouts, idle and age

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
//   (1) At most max_connections connections, without tunnels and those that are held (up to
//       max_held and the quota `held`), and max_waiting queued requests. A held connection that
//       counts again may be over the bound; it is closed after its stream then.
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
  [[nodiscard]] std::size_t waiting() const noexcept { return queue_.size(); }
  // A ReplicaLease refers to it, or no longer does: see is_unused().
  void on_leased() noexcept { ++leases_; }
  void on_lease_settled() noexcept { --leases_; }
  // Whether no lease, stream, waiting request or call of it is left: it may be destroyed.
  [[nodiscard]] bool is_unused() const noexcept;
  [[nodiscard]] Instant last_used() const noexcept { return last_used_; }  // when it lent a stream
  // Why the dialer's guard refused the last address: a sentence. Empty: it did not.
  [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }

 private:
  friend class PoolUser;
  class Link;  // one connection
  using Dials = std::list<Dialer::Dial>;
  using Queue = boost::intrusive::list<
      PoolUser, boost::intrusive::member_hook<PoolUser, boost::intrusive::list_member_hook<>,
                                              &PoolUser::hook_>>;

  void lend(Link& link, PoolUser& user);
  void make_free(Link& link);
  void on_stream_over(Link& link);
  void on_turned(Link& link);
  void on_link_over(Link& link, CloseReason reason);
  void on_dialed(Dials::iterator dial, Dialer::Result result);
  void fail_waiting(std::size_t count, CloseReason reason);
  void serve();
  void dial_if_needed();
  [[nodiscard]] Link* find_free();
  void enqueue(PoolUser& user) noexcept;
  void unlink(PoolUser& user) noexcept;
  [[nodiscard]] std::size_t streams_a_dial() const noexcept;
  void detach(Link& link);
  void set_held(Link& link, bool held);
  [[nodiscard]] bool is_over_bound() const noexcept { return pooled() > options_.max_connections; }
  // Connections that count among max_connections.
  [[nodiscard]] std::size_t pooled() const noexcept {
    return connections_.size() - detached_ - held_;
  }

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
  std::string refusal_;
  std::vector<std::unique_ptr<Link>> connections_;
  std::vector<Link*> free_;  // may have room for a stream; the last one is used first
  Dials dials_;
  Queue queue_;               // requests that wait for a connection
  std::size_t detached_ = 0;  // of connections_: tunnels
  std::size_t held_ = 0;      // of connections_, detached ones not counted
  std::uint32_t leases_ = 0;
};

// A PoolRequest is one request on a stream of a pool, with the stream replaced if need be.
//
// Model: open() gets a stream, perhaps later; on_stream() writes the request. A stream that ended
// before a byte of the request was written (the server had closed an idle connection) is replaced,
// up to kReopenings times: no server can have seen it.
// Invariants:
//   (1) on_done() is called once for each open(), unless it is cancelled.
//   (2) A peer that closes before its response is complete is `reset`, never `finished`.
// Thread safety: none. Cost: no allocation.
class PoolRequest : public PoolUser {
 public:
  // Resets the stream, or leaves the pool's queue; on_done() is not called. Not from on_done().
  // `late`: its time was over, see PoolUser::cancel_late().
  void cancel(bool late = false) {
    late ? PoolUser::cancel_late() : PoolUser::cancel();
    stream_ = nullptr;
  }
  [[nodiscard]] bool has_stream() const noexcept { return stream_ != nullptr; }
  [[nodiscard]] bool is_answered() const noexcept { return response_ != Received::nothing; }
  [[nodiscard]] bool is_whole() const noexcept { return response_ == Received::whole; }

 protected:
  // REQUIRES: it is not under way. The pool outlives it. on_done() may be called from within.
  void open(Pool& pool) {
    pool_ = &pool;
    stream_ = nullptr;
    response_ = Received::nothing;
    reopenings_ = 0;
    pool.open(*this);
  }
  [[nodiscard]] Pool& pool() const noexcept { return *pool_; }
  // REQUIRES: has_stream().
  [[nodiscard]] Stream& stream() const noexcept { return *stream_; }
  void on_received(bool whole) noexcept { response_ = whole ? Received::whole : Received::head; }

  virtual void on_stream() = 0;  // writes the request from its start
  [[nodiscard]] virtual bool may_reopen() const noexcept { return true; }
  // The last call: it may destroy this, or open it again.
  virtual void on_done(CloseReason reason) = 0;

 private:
  enum class Received : std::uint8_t { nothing, head, whole };
  static constexpr std::uint8_t kReopenings = 3;

  void on_open(Stream& stream) final {
    stream_ = &stream;
    on_stream();
  }
  void on_over(CloseReason reason, bool unsent) final {
    const bool had_stream = std::exchange(stream_, nullptr) != nullptr;
    if (unsent && had_stream && reason == CloseReason::refused && reopenings_ < kReopenings &&
        may_reopen()) {
      ++reopenings_;
      return pool_->open(*this);
    }
    if (!is_whole() && reason == CloseReason::finished) reason = CloseReason::reset;
    on_done(reason);
  }

  Pool* pool_ = nullptr;
  Stream* stream_ = nullptr;
  Received response_ = Received::nothing;
  std::uint8_t reopenings_ = 0;
};

}  // namespace damper::http
