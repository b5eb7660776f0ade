#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <optional>

#include "damper/http/net/ip_address.h"

namespace damper::http {

// The IP address of a socket's address, without the port. Nothing for other families.
[[nodiscard]] inline std::optional<IpAddress> find_address(const ::sockaddr& address,
                                                           socklen_t size) noexcept {
  if (size >= sizeof(::sockaddr_in) && address.sa_family == AF_INET) {
    IpAddress::V4 bytes{};
    const auto& v4 = reinterpret_cast<const ::sockaddr_in&>(address);
    std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
    return IpAddress(bytes);
  }
  if (size >= sizeof(::sockaddr_in6) && address.sa_family == AF_INET6) {
    IpAddress::V6 bytes{};
    const auto& v6 = reinterpret_cast<const ::sockaddr_in6&>(address);
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    return IpAddress(bytes);
  }
  return std::nullopt;
}

}  // namespace damper::http
