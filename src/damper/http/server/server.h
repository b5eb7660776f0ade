#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "damper/admit/quota.h"
#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/http/codec/connection.h"
#include "damper/http/net/loop.h"
#include "damper/http/net/transport.h"
#include "damper/http/peer/client_connections.h"
#include "damper/http/peer/peer_set.h"
#include "damper/http/server/server_metrics.h"
#include "damper/http/tls/tls_settings.h"

namespace damper::http {

struct ServerOptions {
  static constexpr Range<int> kBacklog{1, 65535};
  static constexpr Range<std::size_t> kMaxConnections{1, 1'000'000};

  std::string address = "127.0.0.1";     // an IP address; 0.0.0.0 listens on all interfaces
  std::uint16_t port = 0;                // 0: a free one; see Server::port()
  int adopt_fd = -1;                     // a listening socket to own instead of a new one
  bool reuse_port = false;               // SO_REUSEPORT: one server a loop, all on one port
  int backlog = 1024;                    // of the accept queue
  std::size_t max_connections = 10'000;  // one more is closed at once
  // Instead of max_connections: a limit that servers of other loops share.
  std::shared_ptr<admit::Quota> quota{};
  // Limits the connections of each client; servers of other loops may share it. nullptr: no limit.
  std::shared_ptr<ClientConnections> clients{};
  // Peers whose connections begin with a ProxyHeader: load balancers. A connection of theirs
  // without one is closed; that of another peer with one is malformed.
  PeerSet proxy_protocol{};
  bool uses_reserve = false;         // of reserve_descriptors(), for a server that operators need
  std::optional<TlsSettings> tls{};  // unset: plain TCP
  // Of connections without ALPN; unknown: h2 if they begin with its preface. h2 takes a connection
  // without the preface for a connection error, h1 the preface for a malformed request.
  Protocol protocol = Protocol::unknown;
  ConnectionLimits limits{};
};

[[nodiscard]] std::optional<std::string> find_error(const ServerOptions& options);

// A Server accepts connections on one loop and passes their requests to a sink.
//
//   HandlerService service(loop, handler);
//   Server server(loop, options, service);
//   if (const auto error = server.listen()) ...
//   loop.run();
//
// Model: a new connection is pending until its protocol is known, within limits.head_timeout each:
// the ProxyHeader of a load balancer, TLS handshake and ALPN, or the first bytes of plain TCP. Then
// a SocketConnection serves it. The address in a ProxyHeader is the client's from then on.
// Invariants:
//   (1) At most max_connections at once, pending ones included; with `quota` that is the limit of
//       all servers that share it.
//   (2) Every accepted connection is counted, and counted again with a CloseReason when it ends,
//       also after a failed handshake, an unknown protocol or over the limit.
//   (3) Without free file descriptors accept is retried after a pause, not in a busy loop. If only
//       the reserve is left (see reserve_descriptors()), a connection is closed at once.
//   (4) The sink gets a refused request, without protocol and status, of a connection that ends
//       while it is pending by the client's doing: handshake_failed, no_proxy_header, head_timeout.
//       A connection that is closed without a byte is none of them.
//   (5) With `clients`, at most its limit from one client; a further connection is closed at once,
//       or after its ProxyHeader.
// Lifetime: the loop, the sink and the metrics outlive it. Its destructor closes all connections,
// and their streams with `cancelled`.
// Thread safety: none; all on the loop's thread.
class Server final : private Loop::Registration {
 public:
  // REQUIRES: !find_error(options).
  Server(Loop& loop, ServerOptions options, RequestSink& sink, ServerMetrics* metrics = nullptr);
  ~Server() override;

  // Starts to accept. Returns one sentence if it cannot.
  [[nodiscard]] std::optional<std::string> listen();
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  // Sets the limits, max_connections, clients, proxy_protocol, protocol and tls of future
  // connections. The socket and `quota` (which its owner reloads) are unchanged. REQUIRES:
  // !find_error(options), with this server's own address and adopt_fd.
  void use(const ServerOptions& options);
  // Sets the tls of future connections alone.
  void use_tls(const std::optional<TlsSettings>& tls) { options_.tls = tls; }
  [[nodiscard]] std::size_t connections() const noexcept {
    return pending_.size() + served_.size();
  }

  // Accepts the connections of the accept queue, then no more, and closes all: idle ones now, those
  // with requests in flight after their answers, those without a byte after a second, all of them
  // after `within`. `done` is called once, when there are none. Closes the listening socket; other
  // descriptors of it (dup, another process) stay open.
  void drain(Duration within, std::function<void()> done = {});

 private:
  class PendingConnection;
  class ServerConnection;
  // Hook of a connection in the list of its kind.
  struct Hook : boost::intrusive::list_base_hook<> {};
  using Connections = boost::intrusive::list<Hook>;

  [[nodiscard]] std::optional<std::string> open();
  [[nodiscard]] std::optional<std::string> open_failed();
  void on_events(std::uint32_t events) override;
  void accept_some();
  void accept(int fd, const std::optional<IpAddress>& peer);
  [[nodiscard]] int next_connection(std::optional<IpAddress>& peer) const noexcept;
  void start(PendingConnection& pending);
  [[nodiscard]] std::unique_ptr<Transport> make_transport(int fd);
  void serve(std::unique_ptr<Transport> transport, ClientSlot slot, std::string client,
             Protocol protocol, std::string_view first);
  void on_removed(CloseReason reason) noexcept;
  void on_wait_over(Instant now);
  void end_drain();
  void drain_all();
  template <class Function>
  void for_each_served(Function function);
  void close_listener() noexcept;

  Loop& loop_;
  ServerOptions options_;
  RequestSink& sink_;
  ServerMetrics* const metrics_;
  const bool shares_quota_;
  const std::shared_ptr<admit::Quota> quota_;  // of connections
  int fd_ = -1;                                // the listening socket
  std::uint16_t port_ = 0;
  Connections pending_;
  Connections served_;
  bool draining_ = false;
  Instant drained_by_ = kNever;
  std::function<void()> drained_;
  Loop::MemberTimer<Server> wait_;  // until the next accept, or the next step of a drain
};

}  // namespace damper::http
