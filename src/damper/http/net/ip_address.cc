#include "damper/http/net/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

namespace damper::http {

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  (void)inet_ntop(v6_ ? AF_INET6 : AF_INET, bytes_.data(), text.data(), text.size());
  return text.data();
}

std::string Network::text() const {
  return length == base.bits() ? base.text() : base.text() + '/' + std::to_string(length);
}

}  // namespace damper::http
