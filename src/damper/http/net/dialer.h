#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/http/codec/close_reason.h"
#include "damper/http/net/egress_guard.h"
#include "damper/http/net/egress_proxy.h"
#include "damper/http/net/loop.h"
#include "damper/http/net/transport.h"
#include "damper/http/tls/tls_settings.h"

namespace damper::http {

// Looks up the addresses of a name. Replaced in tests, and to check addresses.
class Resolver {
 public:
  virtual ~Resolver() = default;
  // `done` gets the addresses as text, best first; none: the name does not exist. It is called
  // once, on the loop, possibly before resolve() returns. There is no cancellation.
  using Done = std::function<void(std::vector<std::string> addresses)>;
  virtual void resolve(const std::string& host, Done done) = 0;
};
// The system's resolver, on Asio's resolver thread; concurrent lookups of a name are one (see
// SharedResolver).
[[nodiscard]] std::unique_ptr<Resolver> make_system_resolver(Loop& loop);

struct DialerOptions {
  static constexpr Range<Duration> kConnectTimeout{std::chrono::milliseconds(1),
                                                   std::chrono::minutes(5)};
  static constexpr Range<Duration> kStagger{std::chrono::milliseconds(10), std::chrono::seconds(2)};
  static constexpr Range<std::size_t> kMaxAddresses{1, 64};

  // From the name lookup to the end of the TLS handshake. Short, and apart from the request's own
  // timeout, so that a request can be retried on another replica.
  Duration connect_timeout = std::chrono::seconds(3);
  // Time before the next address is tried in parallel (RFC 8305, section 5: 250 ms).
  Duration stagger = std::chrono::milliseconds(250);
  std::size_t max_addresses = 8;  // the others are not tried
  // What may be connected to; nullptr: everything. For URLs that strangers choose.
  std::shared_ptr<const EgressGuard> guard{};
  // Through which everything is connected to; nullptr: directly.
  std::shared_ptr<const EgressProxy> proxy{};

  friend bool operator==(const DialerOptions&, const DialerOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const DialerOptions& options);

// The order in which addresses are tried: families alternate, from the first one's on, and each
// keeps its order (RFC 8305, section 4). At most `most`.
[[nodiscard]] std::vector<std::string> interleave(const std::vector<std::string>& addresses,
                                                  std::size_t most);

// A Dialer opens connections: it resolves a name, connects to the first address that answers, and
// does the TLS handshake.
//
// Model: happy eyeballs (RFC 8305). The addresses are tried in order, the next one when the
// previous has failed or `stagger` has passed; the first to connect wins and the others are closed.
// An IP address as `host` is not resolved. With a guard, only the addresses that it allows are
// tried, and no name is resolved for a port or a scheme that it refuses. With a proxy, the
// addresses are those of the proxy, which is then asked for a tunnel to each of the target's
// addresses in order, until it opens one. Names are resolved here and not by the proxy: the guard
// applies to what the proxy connects to. A dial that fails, of which an attempt found no file
// descriptor, is `out_of_descriptors`, whatever became of the other addresses. A failure of the
// proxy is `proxy_failed`; see TunnelRecord for one that may be the target's.
// Invariants:
//   (1) Each dial ends once, with a transport or a reason, by connect_timeout. After its Dial is
//       destroyed, `done` is not called and no socket is open.
//   (2) A failed dial has sent no byte of a request.
//   (3) No socket is connected to an address that the guard refuses. The addresses of one lookup
//       are checked and connected to; there is no lookup in between (trap W4).
// Thread safety: none; all on the loop's thread.
class Dialer {
 public:
  struct Result {
    std::unique_ptr<Transport> transport;        // nullptr: it failed
    CloseReason reason = CloseReason::finished;  // of a failure
    std::string refusal{};                       // a sentence, if the reason is address_refused
  };
  using Done = std::function<void(Result)>;
  // A dial in progress. Cancelled when the last copy is destroyed.
  using Dial = std::shared_ptr<void>;

  // REQUIRES: !find_error(options). Loop and resolver outlive the dialer; nullptr: the system's
  // resolver.
  Dialer(Loop& loop, const DialerOptions& options, Resolver* resolver = nullptr);
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;
  ~Dialer();

  // `done` is called later, never from within dial(). `tls`: nullptr for plain TCP; it outlives the
  // dial. `address`: of the host, if known; then it is not resolved, and TLS still verifies the
  // host's name. It may be a UnixAddress, unless there is a guard.
  [[nodiscard]] Dial dial(const std::string& host, std::uint16_t port, const TlsSettings* tls,
                          Done done, const std::string& address = {});

  [[nodiscard]] Loop& loop() const noexcept { return loop_; }

 private:
  [[nodiscard]] Resolver& resolver();

  Loop& loop_;
  const DialerOptions options_;
  TunnelRecord tunnels_;
  std::unique_ptr<Resolver> own_resolver_;  // created with the first name
  Resolver* resolver_;
};

}  // namespace damper::http
