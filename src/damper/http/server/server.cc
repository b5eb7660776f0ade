#include "damper/http/server/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/net/socket_connection.h"
#include "damper/http/net/tcp_transport.h"
#include "damper/http/net/tls_transport.h"

namespace damper::http {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr int kMostAccepts = 64;  // of a turn
constexpr Duration kPause = std::chrono::milliseconds(100);
constexpr int kMostLastAccepts = 4096;  // of a socket's queue, before it is closed
// Who has connected and said nothing when a drain begins may have a request on its way.
constexpr Duration kGrace = std::chrono::seconds(1);
constexpr std::size_t kPreface = 24;  // of HTTP/2

std::string out_of_bounds(std::string_view field, std::string_view bounds, std::size_t value) {
  return std::string(field) + " must be " + std::string(bounds) + ", not " + std::to_string(value);
}

using ReusePort = boost::asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

}  // namespace

std::optional<std::string> find_error(const ServerOptions& options) {
  if (options.max_connections < 1 || options.max_connections > 1'000'000) {
    return out_of_bounds("max_connections", "1 to 1000000", options.max_connections);
  }
  if (options.backlog < 1 || options.backlog > 65535) {
    return "backlog must be 1 to 65535, not " + std::to_string(options.backlog);
  }
  error_code failed;
  boost::asio::ip::make_address(options.address, failed);
  if (options.adopt_fd < 0 && failed) {
    return "address must be an IP address, not \"" + options.address + "\"";
  }
  return find_error(options.limits);
}

// A connection that has said nothing yet, or not enough to know what it speaks.
class Server::Greeting final : public Place, private Transport::Waiter, private Loop::Timer {
 public:
  Greeting(Server& server, std::unique_ptr<Transport> transport)
      : Loop::Timer(server.loop_), server_(server), transport_(std::move(transport)) {}

  void start() {
    const ConnectionLimits& limits = server_.options_.limits;
    arm(damper::add(loop().now(),
                    server_.options_.tls ? limits.head_timeout : limits.idle_timeout));
    go_on();
  }
  void end(CloseReason reason) {
    transport_->close(false);
    Server& server = server_;
    server.remove(*this, reason);
    delete this;
    server.end_drain();
  }

 private:
  void on_readable() override { go_on(); }
  void on_writable() override {}
  void on_timer(Instant) override {
    if (!has_shaken_) return end(CloseReason::handshake_failed);
    end(size_ == 0 ? CloseReason::idle_timeout : CloseReason::head_timeout);
  }

  void go_on() {
    if (!has_shaken_) {
      const Transport::Status status = transport_->try_handshake();
      if (status == Transport::Status::again) return transport_->wait_readable(*this);
      if (status != Transport::Status::ok) return end(CloseReason::handshake_failed);
      has_shaken_ = true;
      if (transport_->protocol() != Protocol::unknown) return become(transport_->protocol(), {});
      return transport_->wait_readable(*this);
    }
    const std::span<char> scratch = loop().scratch();
    std::memcpy(scratch.data(), first_.data(), size_);
    const Transport::Moved moved = transport_->recv(scratch.subspan(size_));
    switch (moved.status) {
      case Transport::Status::ok:
        return look({scratch.data(), size_ + moved.bytes});
      case Transport::Status::again:
        return transport_->wait_readable(*this);
      case Transport::Status::end:
        return end(size_ == 0 ? CloseReason::finished : CloseReason::reset);
      case Transport::Status::failed:
        return end(CloseReason::reset);
    }
  }
  void look(std::string_view bytes) {
    const Protocol protocol = sniff(bytes);
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
    before->after = after;
    after->before = before;
    delete this;
    server.serve(std::move(transport), protocol, bytes);
  }

  Server& server_;
  std::unique_ptr<Transport> transport_;
  std::array<char, kPreface> first_{};  // the first `size_` bytes that came
  std::size_t size_ = 0;
  bool has_shaken_ = false;
};

// A connection that is known.
class Server::Served final : public Place, private SocketConnection::Owner {
 public:
  Served(Server& server, std::unique_ptr<Transport> transport)
      : server_(server),
        connection_(server.loop_, std::move(transport), *this, SocketConnection::Side::server) {}

  [[nodiscard]] SocketConnection& connection() noexcept { return connection_; }

 private:
  void on_closed(SocketConnection&, CloseReason reason) override {
    Server& server = server_;
    server.remove(*this, reason);
    delete this;
    server.end_drain();
  }

  Server& server_;
  SocketConnection connection_;
};

class Server::Patience final : public Loop::Timer {
 public:
  explicit Patience(Server& server) : Loop::Timer(server.loop_), server_(server) {}

 private:
  void on_timer(Instant) override { server_.on_patience_over(); }
  Server& server_;
};

Server::Server(Loop& loop, ServerOptions options, RequestSink& sink, ServerMetrics* metrics)
    : loop_(loop),
      options_(std::move(options)),
      sink_(sink),
      metrics_(metrics),
      shares_places_(options_.places != nullptr),
      places_(shares_places_ ? options_.places
                             : std::make_shared<admit::Places>(options_.max_connections)),
      acceptor_(loop.context()),
      patience_(std::make_unique<Patience>(*this)),
      alive_(std::make_shared<const bool>(true)) {
  DAMPER_CHECK(!find_error(options_));
}

Server::~Server() {
  drained_ = {};
  // Each takes itself out of its list, which the analyzer does not see.
  // NOLINTBEGIN(clang-analyzer-cplusplus.NewDelete)
  while (greetings_.after != &greetings_) {
    static_cast<Greeting*>(greetings_.after)->end(CloseReason::cancelled);
  }
  while (served_.after != &served_) {
    auto* const served = static_cast<Served*>(served_.after);
    remove(*served, CloseReason::cancelled);
    delete served;
  }
  // NOLINTEND(clang-analyzer-cplusplus.NewDelete)
}

std::optional<std::string> Server::listen() {
  if (std::optional<std::string> error = open()) return error;
  wait();
  return std::nullopt;
}

std::optional<std::string> Server::open() {
  error_code failed;
  if (options_.adopt_fd >= 0) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    if (::getsockname(options_.adopt_fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      const std::string why = std::strerror(errno);
      ::close(options_.adopt_fd);
      return "adopt_fd is no socket: " + why;
    }
    acceptor_.assign(address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), options_.adopt_fd,
                     failed);
    if (failed) ::close(options_.adopt_fd);
  } else {
    const tcp::endpoint where(boost::asio::ip::make_address(options_.address), options_.port);
    acceptor_.open(where.protocol(), failed);
    if (!failed) acceptor_.set_option(Acceptor::reuse_address(true), failed);
    if (!failed && options_.reuse_port) acceptor_.set_option(ReusePort(true), failed);
    if (!failed) acceptor_.bind(where, failed);
    if (!failed) acceptor_.listen(options_.backlog, failed);
  }
  if (!failed) acceptor_.non_blocking(true, failed);
  if (!failed) port_ = acceptor_.local_endpoint(failed).port();
  if (!failed) return std::nullopt;
  return "cannot listen on " + options_.address + ":" + std::to_string(options_.port) + ": " +
         failed.message();
}

void Server::use(const ServerOptions& options) {
  DAMPER_CHECK(!find_error(options));
  options_.limits = options.limits;
  if (!shares_places_) places_->reload(options.max_connections);
  options_.tls = options.tls;
}

void Server::wait() {
  acceptor_.async_wait(Acceptor::wait_read,
                       [this, alive = std::weak_ptr(alive_)](const error_code& failed) {
                         if (!alive.expired() && !failed && !draining_) accept_some();
                       });
}

void Server::accept_some() {
  for (int i = 0; i < kMostAccepts; ++i) {
    const int fd =
        ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      greet(fd);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return patience_->arm(damper::add(loop_.now(), kPause));
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    // The others are the connection's: it is gone already.
  }
  wait();
}

void Server::greet(int fd) {
  if (metrics_ != nullptr) metrics_->on_accepted();
  if (places_->try_take() == 0) {
    ::close(fd);
    if (metrics_ != nullptr) metrics_->on_closed(CloseReason::too_many);
    return;
  }
  Socket socket(loop_.context());
  error_code failed;
  socket.assign(acceptor_.local_endpoint(failed).protocol(), fd, failed);
  if (failed) {
    ::close(fd);
    places_->give_back();
    if (metrics_ != nullptr) metrics_->on_closed(CloseReason::reset);
    return;
  }
  std::unique_ptr<Transport> transport;
  if (options_.tls) {
    transport = std::make_unique<TlsTransport>(std::move(socket), *options_.tls);
  } else {
    transport = std::make_unique<TcpTransport>(std::move(socket));
  }
  auto* const greeting = new Greeting(*this, std::move(transport));
  add(greetings_, *greeting);
  ++connections_;
  greeting->start();
}

void Server::serve(std::unique_ptr<Transport> transport, Protocol protocol,
                   std::string_view first) {
  auto* const served = new Served(*this, std::move(transport));
  add(served_, *served);
  SocketConnection& connection = served->connection();
  const Instant now = loop_.now();
  auto codec = protocol == Protocol::h2 ? make_h2_server(options_.limits, connection, sink_, now)
                                        : make_h1_server(options_.limits, connection, sink_, now);
  if (!draining_ || first.empty()) return connection.start(std::move(codec), first);
  // One request, then it is over, and its answer says so: the drain comes after the first byte,
  // without which there would be nothing to wait for, and before the rest. Without any byte it
  // comes at the end of the grace.
  connection.start(std::move(codec), first.substr(0, 1));
  connection.drain();
  connection.codec().receive(first.substr(1), now);
}

void Server::add(Place& list, Place& place) noexcept {
  place.before = list.before;
  place.after = &list;
  list.before->after = &place;
  list.before = &place;
}

void Server::remove(Place& place, CloseReason reason) noexcept {
  place.before->after = place.after;
  place.after->before = place.before;
  --connections_;
  places_->give_back();
  if (metrics_ != nullptr) metrics_->on_closed(reason);
}

void Server::drain(Duration within, std::function<void()> done) {
  if (draining_) return;
  draining_ = true;
  drained_ = std::move(done);
  // Whose connection the kernel has accepted already is not sent away.
  for (int i = 0; acceptor_.is_open() && i < kMostLastAccepts; ++i) {
    const int fd =
        ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) break;
    greet(fd);
  }
  error_code ignored;
  acceptor_.close(ignored);
  drained_by_ = damper::add(loop_.now(), within);
  patience_->arm(std::min(drained_by_, damper::add(loop_.now(), kGrace)));
  for (Place* place = served_.after; place != &served_; place = place->after) {
    static_cast<Served*>(place)->connection().drain();
  }
  end_drain();
}

// The grace is over.
void Server::drain_all() {
  while (greetings_.after != &greetings_) {  // As in the destructor.
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete)
    static_cast<Greeting*>(greetings_.after)->end(CloseReason::draining);
  }
  for (Place* place = served_.after; place != &served_; place = place->after) {
    static_cast<Served*>(place)->connection().drain();
  }
}

void Server::on_patience_over() {
  if (!draining_) return accept_some();
  drain_all();
  if (connections_ == 0) return;
  if (loop_.now() < drained_by_) return patience_->arm(drained_by_);
  for (Place* place = served_.after; place != &served_; place = place->after) {
    static_cast<Served*>(place)->connection().abort(CloseReason::draining);
  }
}

void Server::end_drain() {
  if (!draining_ || connections_ > 0) return;
  patience_->cancel();
  // Not from here: the one who waits may destroy the server.
  if (drained_) boost::asio::post(loop_.context(), std::exchange(drained_, {}));
}

}  // namespace damper::http
