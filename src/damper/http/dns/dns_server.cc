#include "damper/http/dns/dns_server.h"

#include "damper/base/text/words.h"

namespace damper::http {

std::string DnsServer::text() const {
  const std::string host = address.is_v6() ? '[' + address.text() + ']' : address.text();
  return host + ':' + std::to_string(port);
}

Expected<DnsServer> parse_dns_server(std::string_view text) {
  if (const auto alone = IpAddress::find(text)) return DnsServer{.address = *alone};
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto address = IpAddress::find(host);
  if (!address || bracketed != address->is_v6()) {
    return unexpected(
        std::string("the address is neither IPv4 nor IPv6 in brackets; a name is not accepted"));
  }
  const auto port = text::find_number<std::uint16_t>(text.substr(colon + 1));
  if (!port || *port == 0) return unexpected(std::string("a port is a number from 1 to 65535"));
  return DnsServer{.address = *address, .port = *port};
}

}  // namespace damper::http
