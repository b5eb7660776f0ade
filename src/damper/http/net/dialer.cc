#include "damper/http/net/dialer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/net/asio_context.h"
#include "damper/http/net/descriptor_limit.h"
#include "damper/http/net/shared_resolver.h"
#include "damper/http/net/tcp_transport.h"
#include "damper/http/net/unix_address.h"
#include "damper/http/tls/tls_transport.h"

namespace damper::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

bool is_v6(const std::string& address) { return address.find(':') != std::string::npos; }

IpAddress ip_address(const asio::ip::address& address) {
  return address.is_v4() ? IpAddress(address.to_v4().to_bytes())
                         : IpAddress(address.to_v6().to_bytes());
}

class SystemResolver final : public Resolver {
 public:
  explicit SystemResolver(Loop& loop) : resolver_(loop.context()) {}

  void resolve(const std::string& host, Done done) override {
    resolver_.async_resolve(
        host, "", tcp::resolver::flags(),
        [done = std::move(done)](const error_code& error, const tcp::resolver::results_type& all) {
          std::vector<std::string> addresses;
          if (!error) {
            for (const auto& entry : all) {
              addresses.push_back(entry.endpoint().address().to_string());
            }
          }
          done(std::move(addresses));
        });
  }

 private:
  tcp::resolver resolver_;
};

// A dial: connection attempts to the addresses of a name, then the winner's TLS handshake. over_:
// it has a result or was cancelled.
class Race final : public std::enable_shared_from_this<Race>, private Transport::Waiter {
 public:
  Race(Loop& loop, const DialerOptions& options, std::string host, std::uint16_t port,
       const TlsSettings* tls, TunnelRecord& tunnels, Dialer::Done done)
      : loop_(loop),
        options_(options),
        host_(std::move(host)),
        port_(port),
        tls_(tls),
        tunnels_(tunnels),
        done_(std::move(done)),
        timeout_(loop, *this, &Race::on_too_late),
        stagger_(loop, *this, &Race::on_stagger) {}

  // `address` is used without a resolver. `proxy_resolver`: nullptr if the proxy's host is an
  // address.
  void start(Resolver* resolver, const std::string& address, Resolver* proxy_resolver) {
    proxy_resolver_ = proxy_resolver;
    timeout_.arm(add(loop_.now(), options_.connect_timeout));
    if (options_.guard != nullptr) {
      if (auto refusal = options_.guard->find_refusal(tls_ != nullptr, port_)) {
        return refuse(*std::move(refusal));
      }
    }
    if (UnixAddress::is_unix(address)) return connect_to_unix(address);
    if (resolver == nullptr) return on_resolved({address});
    // A weak pointer: a cancelled dial is destroyed while the resolver is still busy.
    resolver->resolve(host_, [weak = weak_from_this()](const std::vector<std::string>& addresses) {
      if (const auto self = weak.lock()) self->on_resolved(addresses);
    });
  }

  void cancel() noexcept {
    over_ = true;
    timeout_.cancel();
    stagger_.cancel();
    for (const auto& attempt : attempts_) attempt->close();
    if (transport_ != nullptr) transport_->close();
    done_ = nullptr;
  }

 private:
  // A connection attempt to one address.
  class Attempt final : private Loop::Registration {
   public:
    explicit Attempt(Race& race) noexcept : race_(race) {}
    ~Attempt() override { close(); }

    [[nodiscard]] bool try_start(const sockaddr* to, std::size_t size) noexcept {
      fd_ = ::socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      const bool lacks_descriptor = is_out_of_descriptors(fd_);
      race_.lacks_descriptor_ = race_.lacks_descriptor_ || lacks_descriptor;
      if (fd_ < 0 || lacks_descriptor) return false;
      const int result = ::connect(fd_, to, static_cast<socklen_t>(size));
      return (result == 0 || errno == EINPROGRESS) && race_.loop_.try_add(fd_, *this);
    }
    [[nodiscard]] bool is_connected() const noexcept {
      int error = 0;
      socklen_t size = sizeof(error);
      return ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
    }
    [[nodiscard]] int release() noexcept {
      race_.loop_.remove(fd_, *this);
      return std::exchange(fd_, -1);
    }
    void close() noexcept {
      if (fd_ >= 0) (void)::close(release());
    }

   private:
    void on_events(std::uint32_t events) override {
      if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) race_.on_attempt(*this);
    }

    Race& race_;
    int fd_ = -1;
  };

  // Directly, and only without a guard: it is for URLs that strangers choose.
  void connect_to_unix(const std::string& text) {
    if (options_.guard != nullptr) return refuse("a Unix socket is not allowed");
    const auto address = UnixAddress::parse(text);
    addresses_ = {text};
    Attempt& attempt = *attempts_.emplace_back(std::make_unique<Attempt>(*this));
    ++in_flight_;
    is_unix_ = true;
    if (address && attempt.try_start(address->data(), address->size())) return;
    attempt.close();
    loop_.post([self = shared_from_this()] { self->on_failed(); });
  }

  // What it waits for.
  enum class Stage : std::uint8_t {
    target,  // the lookup of its name, a direct connection, the TLS handshake
    proxy,   // a connection to it
    tunnel,  // the proxy's answer
  };

  void on_resolved(const std::vector<std::string>& addresses) {
    if (over_) return;
    std::optional<std::string> refusal;
    addresses_ = interleave(options_.guard == nullptr ? addresses : allowed(addresses, refusal),
                            options_.max_addresses);
    if (addresses_.empty() && refusal) return refuse(*std::move(refusal));
    if (addresses_.empty()) {
      loop_.post([self = shared_from_this()] { self->fail(CloseReason::name_not_resolved); });
      return;
    }
    if (options_.proxy == nullptr) return try_next();
    targets_ = std::exchange(addresses_, {});
    stage_ = Stage::proxy;
    if (proxy_resolver_ == nullptr) return on_proxy_resolved({options_.proxy->host});
    proxy_resolver_->resolve(options_.proxy->host,
                             [weak = weak_from_this()](const std::vector<std::string>& found) {
                               if (const auto self = weak.lock()) self->on_proxy_resolved(found);
                             });
  }

  void on_proxy_resolved(const std::vector<std::string>& addresses) {
    if (over_) return;
    proxy_addresses_ = interleave(addresses, options_.max_addresses);
    if (proxy_addresses_.empty()) {
      loop_.post([self = shared_from_this()] { self->fail(CloseReason::proxy_failed); });
      return;
    }
    connect_to_proxy();
  }
  void connect_to_proxy() {
    stage_ = Stage::proxy;
    transport_.reset();
    attempts_.clear();
    in_flight_ = 0;
    addresses_ = proxy_addresses_;
    try_next();
  }

  // The addresses that the guard allows. `refusal`: of the first that it does not.
  [[nodiscard]] std::vector<std::string> allowed(const std::vector<std::string>& addresses,
                                                 std::optional<std::string>& refusal) const {
    std::vector<std::string> found;
    found.reserve(addresses.size());
    for (const std::string& text : addresses) {
      error_code error;  // The function that try_next() reads the text with: one meaning for both.
      const asio::ip::address address = asio::ip::make_address(text, error);
      auto refused = error ? text + " is no address"
                           : options_.guard->find_refusal(ip_address(address), host_);
      if (!refused) {
        found.push_back(text);
      } else if (!refusal) {
        refusal = std::move(refused);
      }
    }
    return found;
  }

  // Starts the next attempt, beside those that are in flight.
  void try_next() {
    if (over_ || attempts_.size() == addresses_.size()) return;
    error_code error;
    const asio::ip::address address = asio::ip::make_address(addresses_[attempts_.size()], error);
    Attempt& attempt = *attempts_.emplace_back(std::make_unique<Attempt>(*this));
    ++in_flight_;
    const EgressProxy* const proxy = options_.proxy.get();
    const tcp::endpoint to(address, proxy != nullptr ? proxy->port : port_);
    if (error || !attempt.try_start(to.data(), to.size())) {
      attempt.close();
      return loop_.post([self = shared_from_this()] { self->on_failed(); });
    }
    stagger_.arm(add(loop_.now(), options_.stagger));
  }

  void on_attempt(Attempt& attempt) {
    if (over_ || transport_ != nullptr) return;  // Another one of the same turn has won.
    const std::shared_ptr<Race> keep = shared_from_this();
    if (attempt.is_connected()) return on_connected(attempt);
    attempt.close();
    on_failed();
  }

  void on_failed() {
    if (over_) return;
    --in_flight_;
    if (attempts_.size() < addresses_.size()) return try_next();
    if (in_flight_ > 0) return;
    if (lacks_descriptor_) return fail(CloseReason::out_of_descriptors);
    const bool by_proxy = options_.proxy != nullptr && !is_unix_;
    fail(by_proxy ? CloseReason::proxy_failed : CloseReason::connect_refused);
  }

  void on_connected(Attempt& winner) {
    stagger_.cancel();
    const int fd = winner.release();
    for (const auto& attempt : attempts_) attempt->close();
    addresses_.resize(attempts_.size());  // No more of them.
    if (options_.proxy != nullptr && !is_unix_) return open_tunnel(fd);
    on_path(fd);
  }

  void open_tunnel(int fd) {
    stage_ = Stage::tunnel;
    error_code error;
    const asio::ip::address target = asio::ip::make_address(targets_[target_], error);
    tunnel_.emplace(*options_.proxy, ip_address(target).text(), port_);
    auto transport = std::make_unique<TcpTransport>(loop_, fd);
    proxy_transport_ = transport.get();
    transport_ = std::move(transport);
    step_tunnel();
  }

  void step_tunnel() {
    switch (tunnel_->step(*transport_)) {
      case ConnectTunnel::Status::to_read: return transport_->wait_readable(*this);
      case ConnectTunnel::Status::to_write: return transport_->wait_writable(*this);
      case ConnectTunnel::Status::refused: return on_tunnel_refused();
      case ConnectTunnel::Status::failed: return fail(CloseReason::proxy_failed);
      case ConnectTunnel::Status::open: break;
    }
    tunnels_.on_opened(target());
    on_path(proxy_transport_->release());
  }

  void on_tunnel_refused() {
    transport_->close();
    if (++target_ == targets_.size()) return fail(reason_of_refusal(CloseReason::connect_refused));
    // Later: this is called by what it destroys.
    loop_.post([self = shared_from_this()] {
      if (!self->over_) self->connect_to_proxy();
    });
  }
  [[nodiscard]] std::string target() const { return host_ + ':' + std::to_string(port_); }
  // `own`: if it is the target's fault.
  [[nodiscard]] CloseReason reason_of_refusal(CloseReason own) {
    return tunnels_.on_refused(target()) ? own : CloseReason::proxy_failed;
  }

  // `fd` leads to the target.
  void on_path(int fd) {
    stage_ = Stage::target;
    if (tls_ != nullptr) {
      transport_ = std::make_unique<TlsTransport>(loop_, fd, *tls_, host_);
    } else {
      transport_ = std::make_unique<TcpTransport>(loop_, fd);
    }
    shake_hands();
  }

  void shake_hands() {
    switch (transport_->try_handshake()) {
      case Transport::Status::ok: return finish({.transport = std::move(transport_)});
      case Transport::Status::again: return transport_->wait_readable(*this);
      case Transport::Status::end:
      case Transport::Status::failed: return fail(CloseReason::handshake_failed);
    }
  }
  void on_readable() override {
    const std::shared_ptr<Race> keep = shared_from_this();
    if (over_) return;
    stage_ == Stage::tunnel ? step_tunnel() : shake_hands();
  }
  void on_writable() override { on_readable(); }

  void on_too_late(Instant /*now*/) {
    const std::shared_ptr<Race> keep = shared_from_this();
    // A proxy that does not answer may be waiting for the target.
    fail(stage_ == Stage::proxy    ? CloseReason::proxy_failed
         : stage_ == Stage::tunnel ? reason_of_refusal(CloseReason::connect_timeout)
                                   : CloseReason::connect_timeout);
  }
  void on_stagger(Instant /*now*/) { try_next(); }
  // Later: a dial does not end within dial().
  void refuse(std::string refusal) {
    loop_.post([self = shared_from_this(), refusal = std::move(refusal)]() mutable {
      self->finish({.transport = nullptr,
                    .reason = CloseReason::address_refused,
                    .refusal = std::move(refusal)});
    });
  }
  void fail(CloseReason reason) { finish({.transport = nullptr, .reason = reason}); }
  void finish(Dialer::Result result) {
    if (over_) return;
    const Dialer::Done done = std::move(done_);
    cancel();
    done(std::move(result));
  }

  Loop& loop_;
  const DialerOptions options_;
  const std::string host_;
  const std::uint16_t port_;
  const TlsSettings* const tls_;
  TunnelRecord& tunnels_;
  Dialer::Done done_;
  Loop::MemberTimer<Race> timeout_;
  Loop::MemberTimer<Race> stagger_;
  Stage stage_ = Stage::target;
  Resolver* proxy_resolver_ = nullptr;
  std::vector<std::string> targets_;  // with a proxy: what it is asked for, in this order
  std::size_t target_ = 0;
  std::vector<std::string> proxy_addresses_;
  std::optional<ConnectTunnel> tunnel_;
  TcpTransport* proxy_transport_ = nullptr;         // transport_ in Stage::tunnel
  std::vector<std::string> addresses_;              // to connect to
  std::vector<std::unique_ptr<Attempt>> attempts_;  // one for each address so far
  std::size_t in_flight_ = 0;                       // attempts
  bool lacks_descriptor_ = false;                   // an attempt had none
  bool is_unix_ = false;                            // a Unix socket: never through the proxy
  std::unique_ptr<Transport> transport_;            // during its handshake
  bool over_ = false;
};

}  // namespace

std::unique_ptr<Resolver> make_system_resolver(Loop& loop) {
  return std::make_unique<SharedResolver>(loop, std::make_unique<SystemResolver>(loop));
}

std::optional<std::string> find_error(const DialerOptions& options) {
  return BoundsCheck()
      .field("connect_timeout", options.connect_timeout, DialerOptions::kConnectTimeout)
      .field("stagger", options.stagger, DialerOptions::kStagger)
      .field("max_addresses", options.max_addresses, DialerOptions::kMaxAddresses)
      .part("guard", options.guard == nullptr ? std::nullopt : find_error(*options.guard))
      .part("proxy", options.proxy == nullptr ? std::nullopt : find_error(*options.proxy))
      .error();
}

std::vector<std::string> interleave(const std::vector<std::string>& addresses, std::size_t most) {
  std::vector<std::string> ordered;
  if (addresses.empty()) return ordered;
  bool v6 = is_v6(addresses.front());
  std::size_t next[2] = {0, 0};  // of each family
  const auto find_next = [&](bool family) {
    std::size_t& at = next[family ? 1 : 0];
    while (at < addresses.size() && is_v6(addresses[at]) != family) ++at;
    return at;
  };
  while (ordered.size() < most) {
    if (find_next(v6) == addresses.size()) v6 = !v6;  // The other family alone is left.
    if (find_next(v6) == addresses.size()) break;
    ordered.push_back(addresses[next[v6 ? 1 : 0]++]);
    v6 = !v6;
  }
  return ordered;
}

Dialer::Dialer(Loop& loop, const DialerOptions& options, Resolver* resolver)
    : loop_(loop), options_(options), resolver_(resolver) {
  DAMPER_CHECK_VALID(find_error(options));
}

Dialer::~Dialer() = default;

Dialer::Dial Dialer::dial(const std::string& host, std::uint16_t port, const TlsSettings* tls,
                          Done done, const std::string& address) {
  auto race = std::make_shared<Race>(loop_, options_, host, port, tls, tunnels_, std::move(done));
  error_code error;
  if (address.empty()) (void)asio::ip::make_address(host, error);
  error_code proxy_error;
  if (options_.proxy != nullptr) (void)asio::ip::make_address(options_.proxy->host, proxy_error);
  race->start(error ? &resolver() : nullptr, address.empty() ? host : address,
              proxy_error ? &resolver() : nullptr);
  Race* const running = race.get();
  return Dial(running, [race = std::move(race)](void*) { race->cancel(); });
}

Resolver& Dialer::resolver() {
  if (resolver_ == nullptr) {
    own_resolver_ = make_system_resolver(loop_);
    resolver_ = own_resolver_.get();
  }
  return *resolver_;
}

}  // namespace damper::http
