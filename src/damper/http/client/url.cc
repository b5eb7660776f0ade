#include "damper/http/client/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <optional>

#include "damper/http/codec/chars.h"

namespace damper::http {
namespace {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool is_hex(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
// A decimal number of at most five digits, without leading zeros.
std::optional<std::uint32_t> find_number(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5 || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  std::uint32_t number = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number;
}

bool is_ipv4(std::string_view text) noexcept {
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = part < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return false;
    const auto number = find_number(text.substr(0, dot));
    if (!number || *number > 255) return false;
    text.remove_prefix(std::min(text.size(), dot + 1));
  }
  return text.empty();
}

bool is_ipv6(std::string_view text) {
  if (text.size() > INET6_ADDRSTRLEN || !std::all_of(text.begin(), text.end(), [](char c) {
        return is_hex(c) || c == ':' || c == '.';
      })) {
    return false;
  }
  in6_addr address{};
  return inet_pton(AF_INET6, std::string(text).c_str(), &address) == 1;
}

// A DNS name: labels of 1 to 63 letters, digits, '-' and '_', 253 bytes in all.
bool is_name(std::string_view host) noexcept {
  if (host.empty() || host.size() > 253) return false;
  std::size_t label = 0;
  bool numeric = true;  // the last label so far
  for (const char c : host) {
    if (c == '.') {
      if (label == 0) return false;
      label = 0;
      numeric = true;
      continue;
    }
    if (!is_letter(c) && !is_digit(c) && c != '-' && c != '_') return false;
    numeric = numeric && is_digit(c);
    if (++label > 63) return false;
  }
  return label > 0 && !numeric;  // A last label of digits is what other readers take for IPv4.
}

// "0x7f.1": a hexadecimal last label is an address to some readers.
bool looks_hexadecimal(std::string_view host) noexcept {
  const std::string_view last = host.substr(host.rfind('.') + 1);  // npos + 1 is 0
  return last.size() >= 2 && last[0] == '0' && (last[1] == 'x' || last[1] == 'X') &&
         std::all_of(last.begin() + 2, last.end(), is_hex);
}

constexpr std::string_view kPlainService = "http+srv://";
constexpr std::string_view kTlsService = "https+srv://";

constexpr std::string_view kTargetMarks = "-._~!$&'()*+,;=:@/?";

std::optional<std::string_view> cut_scheme(std::string_view& text, bool& tls) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string scheme = lowered(text.substr(0, colon));
  if (scheme != "http" && scheme != "https") return std::nullopt;
  tls = scheme == "https";
  text.remove_prefix(colon + 3);
  const std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  text.remove_prefix(authority.size());
  return authority;
}

Expected<Endpoint> parse_authority(std::string_view authority, bool tls) {
  Endpoint endpoint;
  endpoint.tls = tls;
  endpoint.port = tls ? 443 : 80;
  if (authority.find('@') != std::string_view::npos) {
    return unexpected(std::string("a URL has no user name"));
  }
  std::string_view host;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos || !is_ipv6(authority.substr(1, end - 1))) {
      return unexpected(std::string("between [ and ] stands an IPv6 address"));
    }
    host = authority.substr(1, end - 1);
    authority.remove_prefix(end + 1);
  } else {
    host = authority.substr(0, authority.find(':'));
    if (!is_ipv4(host) && (!is_name(host) || looks_hexadecimal(host))) {
      return unexpected(std::string("the host is neither a name nor an address"));
    }
    authority.remove_prefix(host.size());
  }
  endpoint.host = lowered(host);
  if (!authority.empty()) {
    const auto port = authority[0] == ':' ? find_number(authority.substr(1)) : std::nullopt;
    if (!port || *port == 0 || *port > 65535) {
      return unexpected(std::string("a port is a number from 1 to 65535"));
    }
    endpoint.port = static_cast<std::uint16_t>(*port);
  }
  return endpoint;
}

}  // namespace

std::string Endpoint::authority() const {
  const bool bracketed = host.find(':') != std::string::npos;
  std::string out = bracketed ? "[" + host + "]" : host;
  if (port != (tls ? 443 : 80)) out += ":" + std::to_string(port);
  return out;
}

std::string Endpoint::text() const {
  if (is_unix()) return address;
  return std::string(scheme()) + "://" + authority();
}

bool valid_target(std::string_view target) noexcept {
  if (!target.starts_with('/') || target.size() > kMostUrlBytes) return false;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const char c = target[i];
    if (is_letter(c) || is_digit(c) || kTargetMarks.find(c) != std::string_view::npos) continue;
    if (c != '%' || i + 2 >= target.size() || !is_hex(target[i + 1]) || !is_hex(target[i + 2])) {
      return false;
    }
    i += 2;
  }
  return true;
}

bool is_address(std::string_view host) noexcept { return is_ipv4(host) || is_ipv6(host); }

Expected<Url> parse_url(std::string_view text) {
  if (text.size() > kMostUrlBytes) {
    return unexpected("a URL has at most " + std::to_string(kMostUrlBytes) + " bytes");
  }
  bool tls = false;
  const auto authority = cut_scheme(text, tls);
  if (!authority) return unexpected(std::string("a URL begins with http:// or https://"));
  Expected<Endpoint> endpoint = parse_authority(*authority, tls);
  if (!endpoint) return unexpected(std::move(endpoint).take_error());
  Url url{.endpoint = *std::move(endpoint), .target = std::string(text)};
  if (!text.starts_with('/')) url.target.insert(0, "/");
  if (!valid_target(url.target)) {
    return unexpected(std::string("the path or query has a character that must be escaped"));
  }
  return url;
}

Expected<Url> parse_url(std::string_view text, const EgressGuard& guard) {
  Expected<Url> url = parse_url(text);
  if (!url) return url;
  const Endpoint& endpoint = url->endpoint;
  if (auto refusal = guard.find_refusal(endpoint.tls, endpoint.port)) {
    return unexpected(*std::move(refusal));
  }
  if (const auto address = IpAddress::find(endpoint.host)) {
    if (auto refusal = guard.find_refusal(*address)) return unexpected(*std::move(refusal));
  }
  return url;
}

Expected<Endpoint> parse_endpoint(std::string_view text) {
  Expected<Url> url = parse_url(text);
  if (!url) return unexpected(std::move(url).take_error());
  if (url->target != "/") return unexpected(std::string("an endpoint has neither path nor query"));
  return std::move(url->endpoint);
}

Expected<Endpoint> parse_upstream(std::string_view text) {
  if (!UnixAddress::is_unix(text)) return parse_endpoint(text);
  auto address = UnixAddress::parse(text);
  if (!address) return unexpected(std::move(address).take_error());
  return Endpoint{.tls = false, .host = "localhost", .port = 80, .address = address->text()};
}

std::string ServiceName::host() const {
  std::string_view rest = name;
  while (rest.starts_with('_')) {
    const std::size_t dot = rest.find('.');
    rest.remove_prefix(dot == std::string_view::npos ? rest.size() : dot + 1);
  }
  return std::string(rest);
}

std::string ServiceName::text() const {
  return std::string(tls ? kTlsService : kPlainService) + name;
}

bool ServiceName::is_service(std::string_view text) {
  const std::string start = lowered(text.substr(0, kTlsService.size()));
  return start.starts_with(kPlainService) || start.starts_with(kTlsService);
}

Expected<ServiceName> parse_service_name(std::string_view text) {
  if (!ServiceName::is_service(text)) {
    return unexpected(std::string("it begins with neither http+srv:// nor https+srv://"));
  }
  ServiceName service;
  service.tls = lowered(text.substr(0, kTlsService.size())) == kTlsService;
  text.remove_prefix(service.tls ? kTlsService.size() : kPlainService.size());
  if (text.ends_with('/')) text.remove_suffix(1);
  if (!is_name(text) || looks_hexadecimal(text)) {
    return unexpected(std::string("after +srv:// stands the name of SRV records, without a port"));
  }
  service.name = lowered(text);
  if (service.host().empty()) {
    return unexpected(std::string("a name of SRV records has a domain, without _, at its end"));
  }
  return service;
}

}  // namespace damper::http
