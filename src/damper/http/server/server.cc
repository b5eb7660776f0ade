#include "damper/http/server/server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/net/descriptor_limit.h"
#include "damper/http/net/socket_connection.h"
#include "damper/http/net/tcp_transport.h"
#include "damper/http/peer/peer_address.h"
#include "damper/http/peer/proxy_header.h"
#include "damper/http/tls/tls_transport.h"

namespace damper::http {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr int kMostAccepts = 64;  // in a turn
constexpr Duration kPause = std::chrono::milliseconds(100);
constexpr int kMostLastAccepts = 4096;  // from the accept queue, by a drain
// A new connection may have a request in flight when a drain begins.
constexpr Duration kGrace = std::chrono::seconds(1);
constexpr std::size_t kPreface = 24;  // of HTTP/2

}  // namespace

std::optional<std::string> find_error(const ServerOptions& options) {
  error_code failed;
  boost::asio::ip::make_address(options.address, failed);
  auto error = BoundsCheck()
                   .field("max_connections", options.max_connections, options.kMaxConnections)
                   .field("backlog", options.backlog, options.kBacklog)
                   .require(options.adopt_fd >= 0 || !failed,
                            "address is \"" + options.address + "\"; it must be an IP address")
                   .error();
  return error ? error : find_error(options.limits);
}

// A connection before its protocol is known: during its ProxyHeader, the TLS handshake and its
// first bytes.
class Server::PendingConnection final : public Hook,
                                        private Transport::Waiter,
                                        private Loop::Timer {
 public:
  PendingConnection(Server& server, std::unique_ptr<Transport> transport,
                    const std::optional<IpAddress>& peer, ClientSlot slot)
      : Loop::Timer(server.loop_),
        server_(server),
        transport_(std::move(transport)),
        peer_(peer),
        slot_(std::move(slot)) {}
  // One that begins with a ProxyHeader.
  PendingConnection(Server& server, std::unique_ptr<TcpTransport> transport,
                    const std::optional<IpAddress>& peer)
      : Loop::Timer(server.loop_),
        server_(server),
        before_header_(transport.get()),
        transport_(std::move(transport)),
        peer_(peer) {}

  void start() {
    if (began_ == kNever) began_ = loop().now();
    const ConnectionLimits& limits = server_.options_.limits;
    const bool begins = before_header_ != nullptr || server_.options_.tls;
    arm(damper::add(loop().now(), begins ? limits.head_timeout : limits.idle_timeout));
    on_readable();
  }
  void end(CloseReason reason) {
    if (is_refusal(reason)) report(reason);
    transport_->close(false);
    Server& server = server_;
    server.pending_.erase(server.pending_.iterator_to(*this));
    delete this;
    server.on_removed(reason);
  }

 private:
  // Whether the client is to blame, so that the sink gets it: see Server.
  static bool is_refusal(CloseReason reason) noexcept {
    return reason == CloseReason::handshake_failed || reason == CloseReason::no_proxy_header ||
           reason == CloseReason::head_timeout;
  }
  void report(CloseReason reason) {
    std::string address = client_;
    if (address.empty()) address = peer_ ? peer_->text() : peer_address(*transport_);
    server_.sink_.on_refused({.peer = {.address = address, .secure = transport_->is_secure()},
                              .reason = reason,
                              .began = began_,
                              .now = loop().now()});
  }
  void on_readable() override { before_header_ != nullptr ? read_header() : go_on(); }
  void on_writable() override {}
  void on_timer(Instant) override {
    if (before_header_ != nullptr) return end(CloseReason::head_timeout);
    if (!handshake_done_) return end(CloseReason::handshake_failed);
    end(size_ == 0 ? CloseReason::idle_timeout : CloseReason::head_timeout);
  }

  // What follows the header stays in the socket: TLS reads it from there.
  void read_header() {
    const std::span<char> scratch = loop().scratch().first(ProxyHeader::kMaxBytes);
    std::copy(header_.begin(), header_.end(), scratch.begin());
    const Transport::IoResult seen = before_header_->peek(scratch.subspan(header_.size()));
    if (seen.status == Transport::Status::again) return transport_->wait_readable(*this);
    if (seen.status != Transport::Status::ok) {
      return end(header_.empty() ? CloseReason::finished : CloseReason::no_proxy_header);
    }
    const ProxyHeader header = ProxyHeader::read({scratch.data(), header_.size() + seen.bytes});
    if (header.status == ProxyHeader::Status::malformed) return end(CloseReason::no_proxy_header);
    const std::span<char> next = scratch.subspan(header_.size(), header.size - header_.size());
    if (transport_->recv(next).bytes != next.size()) return end(CloseReason::reset);
    header_.append(next.data(), next.size());
    if (header.status == ProxyHeader::Status::incomplete) return transport_->wait_readable(*this);
    on_header(header.client);
  }
  void on_header(const std::optional<IpAddress>& client) {
    if (client) client_ = client->text();
    const std::optional<IpAddress> counted = client ? client : peer_;
    if (server_.options_.clients != nullptr && counted) {
      slot_ = ClientConnections::try_take(server_.options_.clients, *counted);
      if (!slot_) return end(CloseReason::too_many_of_client);
    }
    TcpTransport& plain = *std::exchange(before_header_, nullptr);
    std::string().swap(header_);
    if (server_.options_.tls) transport_ = server_.make_transport(plain.release());
    start();
  }
  void go_on() {
    if (!handshake_done_) {
      const Transport::Status status = transport_->try_handshake();
      if (status == Transport::Status::again) return transport_->wait_readable(*this);
      if (status == Transport::Status::end) return end(CloseReason::finished);  // Not a byte.
      if (status != Transport::Status::ok) return end(CloseReason::handshake_failed);
      handshake_done_ = true;
      if (transport_->protocol() != Protocol::unknown) return become(transport_->protocol(), {});
      return transport_->wait_readable(*this);
    }
    const std::span<char> scratch = loop().scratch();
    std::memcpy(scratch.data(), first_.data(), size_);
    const Transport::IoResult result = transport_->recv(scratch.subspan(size_));
    switch (result.status) {
      case Transport::Status::ok: return detect({scratch.data(), size_ + result.bytes});
      case Transport::Status::again: return transport_->wait_readable(*this);
      case Transport::Status::end:
        return end(size_ == 0 ? CloseReason::finished : CloseReason::reset);
      case Transport::Status::failed: return end(CloseReason::reset);
    }
  }
  void detect(std::string_view bytes) {
    const Protocol only = server_.options_.protocol;
    const Protocol protocol = only != Protocol::unknown ? only : sniff(bytes);
    if (protocol != Protocol::unknown) return become(protocol, bytes);
    DAMPER_CHECK(bytes.size() <= first_.size());
    if (size_ == 0) arm(damper::add(loop().now(), server_.options_.limits.head_timeout));
    std::memcpy(first_.data(), bytes.data(), bytes.size());
    size_ = bytes.size();
    transport_->wait_readable(*this);
  }
  void become(Protocol protocol, std::string_view bytes) {
    Server& server = server_;
    std::unique_ptr<Transport> transport = std::move(transport_);
    ClientSlot slot = std::move(slot_);
    std::string client = std::move(client_);
    server.pending_.erase(server.pending_.iterator_to(*this));
    delete this;
    server.serve(std::move(transport), std::move(slot), std::move(client), protocol, bytes);
  }

  Server& server_;
  TcpTransport* before_header_ = nullptr;  // transport_, until the ProxyHeader is complete
  std::unique_ptr<Transport> transport_;
  std::optional<IpAddress> peer_;  // with a ProxyHeader: the load balancer; see next_connection()
  Instant began_ = kNever;
  std::string header_;  // the part of the ProxyHeader that was received
  std::string client_;  // its address by the ProxyHeader; empty: the peer's
  ClientSlot slot_;
  std::array<char, kPreface> first_{};  // the first `size_` bytes received
  std::size_t size_ = 0;
  bool handshake_done_ = false;
};

// A connection whose protocol is known.
class Server::ServerConnection final : public Hook, private SocketConnection::Owner {
 public:
  ServerConnection(Server& server, std::unique_ptr<Transport> transport, ClientSlot slot,
                   std::string client)
      : server_(server),
        slot_(std::move(slot)),
        connection_(server.loop_, std::move(transport), *this, SocketConnection::Side::server) {
    connection_.set_peer(std::move(client));
  }

  [[nodiscard]] SocketConnection& connection() noexcept { return connection_; }

 private:
  void on_closed(SocketConnection&, CloseReason reason) override {
    Server& server = server_;
    server.served_.erase(server.served_.iterator_to(*this));
    delete this;
    server.on_removed(reason);
  }

  Server& server_;
  ClientSlot slot_;
  SocketConnection connection_;
};

Server::Server(Loop& loop, ServerOptions options, RequestSink& sink, ServerMetrics* metrics)
    : loop_(loop),
      options_(std::move(options)),
      sink_(sink),
      metrics_(metrics),
      shares_quota_(options_.quota != nullptr),
      quota_(shares_quota_ ? options_.quota
                           : std::make_shared<admit::Quota>(options_.max_connections)),
      wait_(loop, *this, &Server::on_wait_over) {
  DAMPER_CHECK_VALID(find_error(options_));
}

Server::~Server() {
  drained_ = {};
  close_listener();
  while (!pending_.empty()) {
    static_cast<PendingConnection&>(pending_.front()).end(CloseReason::cancelled);
  }
  while (!served_.empty()) {
    auto* const served = static_cast<ServerConnection*>(&served_.front());
    served_.pop_front();
    delete served;
    on_removed(CloseReason::cancelled);
  }
}

std::optional<std::string> Server::listen() {
  if (std::optional<std::string> error = open()) return error;
  if (!loop_.try_add(fd_, *this)) return open_failed();
  loop_.hold();
  return std::nullopt;
}

std::optional<std::string> Server::open() {
  if (options_.adopt_fd >= 0) {
    fd_ = options_.adopt_fd;
  } else {
    const tcp::endpoint where(boost::asio::ip::make_address(options_.address), options_.port);
    fd_ = ::socket(where.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    const bool is_listening =
        fd_ >= 0 && ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        (!options_.reuse_port ||
         ::setsockopt(fd_, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)) == 0) &&
        ::bind(fd_, where.data(), static_cast<socklen_t>(where.size())) == 0 &&
        ::listen(fd_, options_.backlog) == 0;
    if (!is_listening) return open_failed();
  }
  tcp::endpoint bound;
  auto size = static_cast<socklen_t>(bound.capacity());
  if (::getsockname(fd_, bound.data(), &size) != 0 || ::fcntl(fd_, F_SETFL, O_NONBLOCK) != 0) {
    return open_failed();
  }
  const int family = bound.data()->sa_family;
  port_ = family == AF_INET || family == AF_INET6 ? bound.port() : std::uint16_t{0};
  return std::nullopt;
}

// The sentence for errno; closes the socket.
std::optional<std::string> Server::open_failed() {
  const std::string why = std::strerror(errno);
  if (fd_ >= 0) (void)::close(std::exchange(fd_, -1));
  if (options_.adopt_fd >= 0) return "adopt_fd is not a listening socket: " + why;
  return "cannot listen on " + options_.address + ":" + std::to_string(options_.port) + ": " + why;
}

void Server::close_listener() noexcept {
  if (fd_ < 0) return;
  loop_.remove(fd_, *this);
  loop_.release();
  (void)::close(std::exchange(fd_, -1));
}

void Server::use(const ServerOptions& options) {
  ServerOptions checked = options;
  checked.address = options_.address;
  checked.adopt_fd = options_.adopt_fd;  // Of a Unix socket: its address is not an IP address.
  DAMPER_CHECK_VALID(find_error(checked));
  options_.limits = options.limits;
  if (!shares_quota_) quota_->reload(options.max_connections);
  options_.clients = options.clients;
  options_.proxy_protocol = options.proxy_protocol;
  options_.protocol = options.protocol;
  options_.tls = options.tls;
}

void Server::on_events(std::uint32_t /*events*/) {
  if (!draining_) accept_some();
}

// Accepts one; -1 and errno: there is none. Its address is not always needed. A failed handshake is
// reported with it, when the socket may not have it any more.
int Server::next_connection(std::optional<IpAddress>& peer) const noexcept {
  if (options_.clients == nullptr && options_.proxy_protocol.is_empty() && !options_.tls) {
    return ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  }
  ::sockaddr_storage address{};
  socklen_t size = sizeof(address);
  auto* const plain = reinterpret_cast<::sockaddr*>(&address);
  const int fd = ::accept4(fd_, plain, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) peer = find_address(*plain, size);
  return fd;
}

void Server::accept_some() {
  for (int i = 0; i < kMostAccepts; ++i) {
    std::optional<IpAddress> peer;
    const int fd = next_connection(peer);
    if (fd >= 0) {
      accept(fd, peer);
      continue;
    }
    if (is_out_of_descriptors(fd) || errno == ENOBUFS || errno == ENOMEM) {
      return wait_.arm(damper::add(loop_.now(), kPause));
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    // Other errors concern a connection that the peer has closed already.
  }
  wait_.arm(loop_.now());  // Edge-triggered: no event follows for the rest of the queue.
}

void Server::accept(int fd, const std::optional<IpAddress>& peer) {
  if (metrics_ != nullptr) metrics_->on_accepted();
  const auto refuse = [&](CloseReason reason) {
    ::close(fd);
    if (metrics_ != nullptr) metrics_->on_closed(reason);
  };
  if (is_out_of_descriptors(fd, options_.uses_reserve)) {
    return refuse(CloseReason::out_of_descriptors);
  }
  if (quota_->try_take() == 0) return refuse(CloseReason::too_many);
  if (options_.proxy_protocol.contains(peer)) {
    return start(*new PendingConnection(*this, std::make_unique<TcpTransport>(loop_, fd), peer));
  }
  ClientSlot slot;
  if (options_.clients != nullptr && peer) {
    slot = ClientConnections::try_take(options_.clients, *peer);
    if (!slot) {
      quota_->give_back();
      return refuse(CloseReason::too_many_of_client);
    }
  }
  start(*new PendingConnection(*this, make_transport(fd), peer, std::move(slot)));
}

void Server::start(PendingConnection& pending) {
  pending_.push_back(pending);
  pending.start();
}

std::unique_ptr<Transport> Server::make_transport(int fd) {
  if (options_.tls) return std::make_unique<TlsTransport>(loop_, fd, *options_.tls);
  return std::make_unique<TcpTransport>(loop_, fd);
}

void Server::serve(std::unique_ptr<Transport> transport, ClientSlot slot, std::string client,
                   Protocol protocol, std::string_view first) {
  auto* const served =
      new ServerConnection(*this, std::move(transport), std::move(slot), std::move(client));
  served_.push_back(*served);
  SocketConnection& connection = served->connection();
  const Instant now = loop_.now();
  auto codec = protocol == Protocol::h2 ? make_h2_server(options_.limits, connection, sink_, now)
                                        : make_h1_server(options_.limits, connection, sink_, now);
  if (!draining_ || first.empty()) return connection.start(std::move(codec), first);
  // During a drain: one request, whose answer has Connection: close. drain() follows the first
  // byte, without which the connection would count as idle, and precedes the rest. A connection
  // without a byte is drained after kGrace.
  connection.start(std::move(codec), first.substr(0, 1));
  connection.drain();
  connection.codec().receive(first.substr(1), now);
}

void Server::on_removed(CloseReason reason) noexcept {
  quota_->give_back();
  if (metrics_ != nullptr) metrics_->on_closed(reason);
  end_drain();
}

void Server::drain(Duration within, std::function<void()> done) {
  if (draining_) return;
  draining_ = true;
  drained_ = std::move(done);
  // Drain the accept queue first: the kernel has already completed these handshakes.
  for (int i = 0; fd_ >= 0 && i < kMostLastAccepts; ++i) {
    std::optional<IpAddress> peer;
    const int fd = next_connection(peer);
    if (fd < 0) break;
    accept(fd, peer);
  }
  close_listener();
  drained_by_ = damper::add(loop_.now(), within);
  wait_.arm(std::min(drained_by_, damper::add(loop_.now(), kGrace)));
  for_each_served([](SocketConnection& connection) { connection.drain(); });
  end_drain();
}

template <class Function>
void Server::for_each_served(Function function) {
  for (Hook& hook : served_) function(static_cast<ServerConnection&>(hook).connection());
}

// kGrace is over.
void Server::drain_all() {
  while (!pending_.empty()) {
    static_cast<PendingConnection&>(pending_.front()).end(CloseReason::draining);
  }
  for_each_served([](SocketConnection& connection) { connection.drain(); });
}

void Server::on_wait_over(Instant /*now*/) {
  if (!draining_) return accept_some();
  drain_all();
  if (connections() == 0) return;
  if (loop_.now() < drained_by_) return wait_.arm(drained_by_);
  for_each_served([](SocketConnection& connection) { connection.abort(CloseReason::draining); });
}

void Server::end_drain() {
  if (!draining_ || connections() > 0) return;
  wait_.cancel();
  // Posted: `done` may destroy the server.
  if (drained_) loop_.post(std::exchange(drained_, {}));
}

}  // namespace damper::http
