#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "damper/base/expected.h"
#include "damper/http/net/transport.h"

namespace damper::http {

// An EgressProxy is an HTTP proxy through which a Dialer opens all of its connections, by CONNECT
// (RFC 9110, section 9.3.6). The egress guard does not apply to its own address.
struct EgressProxy {
  static constexpr std::size_t kMostCredentials = 1024;

  std::string host;  // a name, or an address without brackets
  std::uint16_t port = 3128;
  std::string credentials{};  // "user:password" for Proxy-Authorization; empty: none

  friend bool operator==(const EgressProxy&, const EgressProxy&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const EgressProxy& proxy);

// A ConnectTunnel asks a proxy for a tunnel, on a connection to it.
//
// Model: the request has the target's address, not its name: the address that the guard has
// checked is the one that the proxy connects to, and no second lookup can change it (trap W4). The
// proxy never sees a request in the tunnel, also not one of http.
// Invariants:
//   (1) At most kMostAnswer bytes of answers, interim ones included, are read. The caller bounds
//       the time.
//   (2) After `open`, no byte of the tunnel has been read. Bytes after the head of the answer are
//       `failed`: neither HTTP nor TLS lets the server send first.
// Thread safety: none.
class ConnectTunnel {
 public:
  static constexpr std::size_t kMostAnswer = std::size_t{8} * 1024;

  enum class Status : std::uint8_t {
    open,      // the transport leads to the target
    to_read,   // step() again when the transport is readable
    to_write,  // the same, writable
    refused,   // the proxy answered 403 or 5xx: it could not or would not connect to the target
    failed,    // another answer (407, 429, a redirect), none, or no HTTP
  };

  // `address`: of the target, as text, without a zone.
  ConnectTunnel(const EgressProxy& proxy, std::string_view address, std::uint16_t port);

  [[nodiscard]] Status step(Transport& transport);

 private:
  [[nodiscard]] Status read(Transport& transport);
  [[nodiscard]] std::optional<Status> find_result();

  std::string request_;
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
  std::string answer_;  // without interim answers
};

// A TunnelRecord decides whether a tunnel that was refused is a failure of the target or of the
// proxy.
//
// Why: a proxy answers 502, 503 or 504 for a target that is down, and for every target if its own
// network is. If all refusals counted against the targets, a broken proxy would open the breakers
// of all of them; if none did, a dead target would never be seen.
// Model: a refusal counts against its target if the proxy has opened a tunnel to another target
// since the previous refusal of this one. So the first one never does, and of an outage of the
// proxy at most one for each target.
// Thread safety: none. Cost: a table entry for each target that is refused, at most kMostTargets.
class TunnelRecord {
 public:
  static constexpr std::size_t kMostTargets = 10'000;

  void on_opened(const std::string& target) {
    ++opened_;
    refused_.erase(target);
  }
  // Whether it counts against the target.
  [[nodiscard]] bool on_refused(const std::string& target);

 private:
  std::uint64_t opened_ = 0;
  std::unordered_map<std::string, std::uint64_t> refused_;  // `opened_` at the last refusal
};

}  // namespace damper::http
