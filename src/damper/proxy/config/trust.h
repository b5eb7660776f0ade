#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/http/peer/peer_set.h"

namespace damper::proxy {

// A Trust says from which peers of a listener the fields about a request's origin, deadline,
// retries and criticality are believed: `trust` of the file.
//
// Why: a client that may send these fields decides about other requests (the most critical is shed
// last) and about what a service takes for true (the client's address, its certificate, TLS). A
// peer is known by its address, which a TCP connection cannot forge.
// Model: an http::PeerSet.
// Thread safety: immutable. Cost: no allocation but for the networks; trusts() parses the address
// if there are networks, and compares it with each.
class Trust {
 public:
  static constexpr std::string_view kAuto = "auto";  // all on a loopback address, else none
  static constexpr std::string_view kAll = "all";
  static constexpr std::string_view kNone = "none";

  // Trusts no peer.
  Trust() = default;
  // `words` as in the file. `loopback`: only this machine can reach the listener; for kAuto.
  // REQUIRES: !find_peers_error(words).
  [[nodiscard]] static Trust of(std::span<const std::string> words, bool loopback);
  [[nodiscard]] static Trust all() { return of(std::vector<std::string>{std::string(kAll)}, true); }

  // `address` without a port.
  [[nodiscard]] bool trusts(std::string_view address) const noexcept {
    return peers_.contains(address);
  }
  // Follows the chain of a request's proxies to its client: the last address that is not trusted,
  // or the first if all are. The chain is x-forwarded-for, which each proxy appends its peer to,
  // and then the peer: `client`, which becomes the last address that was followed to, without a
  // port, as a part of the argument. A part that is no address, and everything before it, was not
  // written by a trusted proxy. True: the chain continues in the previous line of the field.
  [[nodiscard]] bool follow(std::string_view forwarded_for,
                            std::string_view& client) const noexcept;

  friend bool operator==(const Trust&, const Trust&) = default;

 private:
  http::PeerSet peers_;
};

// Whether only a trusted peer may send this field: services and proxies take its value for true.
//
// Model: x-forwarded-*, forwarded, x-real-ip, x-request-id; x-envoy-*, damper-*;
// x-request-deadline, grpc-previous-rpc-attempts. '_' counts as '-': CGI and WSGI make the same
// variable of both.
[[nodiscard]] bool is_trusted_field(std::string_view name) noexcept;
// damper-*: of a response, only the proxy itself may send it.
[[nodiscard]] bool is_own_field(std::string_view name) noexcept;

// A word of `trust`: auto, all, none or a network, in its canonical form.
inline constexpr std::string_view kTrustForms =
    "auto, none, all, or a network such as 10.0.0.0/8 or ::1";
[[nodiscard]] Expected<std::string> read_trust(std::string_view text);
// A word of `proxy_protocol`: the same without auto.
inline constexpr std::string_view kPeersForms = "none, all, or a network such as 10.0.0.0/8 or ::1";
[[nodiscard]] Expected<std::string> read_peers(std::string_view text);
// Why the words cannot stand together: auto, all and none stand alone.
[[nodiscard]] std::optional<std::string> find_peers_error(std::span<const std::string> words);
// The peers of such words; `auto` is none. REQUIRES: !find_peers_error(words).
[[nodiscard]] http::PeerSet peers_of(std::span<const std::string> words);

}  // namespace damper::proxy
