#ifndef DAMPER_HTTP_SERVER_SERVER_H_
#define DAMPER_HTTP_SERVER_SERVER_H_

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "damper/admit/places.h"
#include "damper/base/instant.h"
#include "damper/http/codec/connection.h"
#include "damper/http/net/loop.h"
#include "damper/http/net/tls_settings.h"
#include "damper/http/net/transport.h"
#include "damper/http/server/server_metrics.h"

namespace damper::http {

struct ServerOptions {
  std::string address = "127.0.0.1";     // an IP address; who wants the world says "0.0.0.0"
  std::uint16_t port = 0;                // 0: any; see Server::port()
  int adopt_fd = -1;                     // a listening socket to take over instead; ours to close
  bool reuse_port = false;               // one server a loop, all on one port: the kernel spreads
  int backlog = 1024;                    // 1 to 65535
  std::size_t max_connections = 10'000;  // 1 to 1,000,000; one more is closed at once
  // Instead of max_connections: places that servers of other loops take from, too.
  std::shared_ptr<admit::Places> places{};
  std::optional<TlsSettings> tls{};  // without: plain TCP
  ConnectionLimits limits{};
};

[[nodiscard]] std::optional<std::string> find_error(const ServerOptions& options);

// A Server accepts connections on one loop and hands the requests on them to a sink.
//
//   HandlerService service(loop, handler);
//   Server server(loop, options, service);
//   if (const auto error = server.listen()) ...
//   loop.run();
//
// Model: a new connection is greeted first (TLS, then which protocol its first bytes are; ALPN
// says it where there is TLS), within limits.head_timeout. Then a SocketConnection serves it.
// Invariants:
//   (1) At most max_connections at once, those being greeted included; with `places` all servers
//       that share them together have at most so many.
//   (2) Every connection that was accepted is counted, and counted again with a CloseReason when it
//       ends: a failed handshake, a stranger's protocol, one too many.
//   (3) Without file descriptors it waits a little, rather than ask again and again.
// Lifetime: the loop, the sink and the metrics outlive it. When it goes, connections are closed and
// streams hear `cancelled`.
// Thread safety: none; all on the loop's thread.
class Server final : private Loop::Registration {
 public:
  // REQUIRES: !find_error(options).
  Server(Loop& loop, ServerOptions options, RequestSink& sink, ServerMetrics* metrics = nullptr);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() override;

  // Starts to accept. One sentence says why not.
  [[nodiscard]] std::optional<std::string> listen();
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  // The limits, max_connections and tls of connections that come from now on; what concerns the
  // socket stays as it is, and so do `places`, which their owner reloads. REQUIRES:
  // !find_error(options).
  void use(const ServerOptions& options);
  [[nodiscard]] std::size_t connections() const noexcept {
    return pending_.size() + served_.size();
  }

  // Accepts what waits in the socket's queue, then no more, and ends the connections: idle ones
  // now, the others when their requests under way are answered, those that have said nothing yet
  // after a second, all of them `within` so long. `done` is called once, when there are none. The
  // socket is closed: whoever else has a descriptor of it (dup, another process) goes on with it.
  void drain(Duration within, std::function<void()> done = {});

 private:
  class PendingConnection;
  class ServerConnection;
  class WaitTimer;
  // Hook of a connection in the list of its kind.
  struct Hook : boost::intrusive::list_base_hook<> {};
  using Connections = boost::intrusive::list<Hook>;

  [[nodiscard]] std::optional<std::string> open();
  [[nodiscard]] std::optional<std::string> open_failed();
  void on_events(std::uint32_t events) override;
  void accept_some();
  void accept(int fd);
  void serve(std::unique_ptr<Transport> transport, Protocol protocol, std::string_view first);
  void on_removed(CloseReason reason) noexcept;
  void on_wait_over();
  void end_drain();
  void drain_all();
  template <class Function>
  void for_each_served(Function function);
  void close_listener() noexcept;

  Loop& loop_;
  ServerOptions options_;
  RequestSink& sink_;
  ServerMetrics* const metrics_;
  const bool shares_places_;
  const std::shared_ptr<admit::Places> places_;  // of connections
  int fd_ = -1;                                  // the listening socket
  std::uint16_t port_ = 0;
  Connections pending_;
  Connections served_;
  bool draining_ = false;
  Instant drained_by_ = kNever;
  std::function<void()> drained_;
  std::unique_ptr<WaitTimer> wait_;  // until the next accept, or the next step of a drain
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_SERVER_SERVER_H_
