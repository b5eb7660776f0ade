#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "damper/http/net/ip_address.h"

namespace damper::http {

// A ProxyHeader is the header of the PROXY protocol, version 1 (text) or 2 (binary), by which a
// load balancer of connections says which client a connection is for. It precedes every other byte
// of the connection, TLS included.
//
// Source: "The PROXY protocol, versions 1 & 2" (haproxy.org).
// Model: `client` is the source address. There is none if the load balancer speaks for itself (a
// health check: LOCAL, UNKNOWN) or the client has no IP address (a Unix socket): the connection is
// the peer's own then. Destinations, ports and TLVs are read and dropped.
// Thread safety: a plain value. Cost: no allocation.
struct ProxyHeader {
  enum class Status : std::uint8_t { incomplete, complete, malformed };
  // Of version 1, and of version 2: the specification has no bound for TLVs.
  static constexpr std::size_t kMaxTextBytes = 107;
  static constexpr std::size_t kMaxBytes = 4096;

  Status status = Status::incomplete;
  // How many of the bytes are the header's; `incomplete`: all of them.
  std::size_t size = 0;
  std::optional<IpAddress> client{};

  // From the first bytes of a connection.
  [[nodiscard]] static ProxyHeader read(std::string_view bytes) noexcept;
};

}  // namespace damper::http
