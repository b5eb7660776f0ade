#include "damper/http/server/listen_address.h"

#include "damper/base/text/words.h"
#include "damper/http/net/ip_address.h"
#include "damper/http/net/unix_address.h"

namespace damper::http {

std::string ListenAddress::text() const {
  if (UnixAddress::is_unix(host)) return host;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

Expected<ListenAddress> parse_listen_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return unexpected(std::string("it has no port"));
  const std::string_view digits = text.substr(colon + 1);
  const auto port = text::find_number<std::uint16_t>(digits);
  if (!port || digits.size() > 5)
    return unexpected(std::string("a port is a number from 0 to 65535"));
  std::string_view host = text.substr(0, colon);
  if (host.empty() || host == "localhost") host = "127.0.0.1";
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto address = IpAddress::find(host);
  if (!address || bracketed != address->is_v6()) {
    return unexpected(
        std::string("the address is neither IPv4 nor IPv6 in brackets; a name is not accepted"));
  }
  return ListenAddress{address->text(), *port};
}

Expected<ListenAddress> parse_listener_address(std::string_view text) {
  if (!UnixAddress::is_unix(text)) return parse_listen_address(text);
  auto address = UnixAddress::parse(text);
  if (!address) return unexpected(std::move(address).take_error());
  return ListenAddress{address->text(), 0};
}

bool overlap(const ListenAddress& one, const ListenAddress& other) {
  const auto covers = [](const std::string& wide, const std::string& host) {
    return wide == host || wide == "::" ||
           (wide == "0.0.0.0" && host.find(':') == std::string::npos);
  };
  return one.port == other.port && (covers(one.host, other.host) || covers(other.host, one.host));
}

}  // namespace damper::http
