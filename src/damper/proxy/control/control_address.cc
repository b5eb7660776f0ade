#include "damper/proxy/control/control_address.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace damper::proxy {
namespace {

constexpr const char* kForm =
    "expected etcd://HOST:PORT/PREFIX, as in etcd://127.0.0.1:2379/damper";

bool is_prefix(std::string_view prefix) {
  return prefix.size() >= 2 && prefix.size() <= ControlAddress::kLongestPrefix &&
         !prefix.ends_with('/') && prefix.find("//") == std::string_view::npos &&
         std::all_of(prefix.begin(), prefix.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("/._-").find(c) != std::string_view::npos;
         });
}

// With the port, if it has none: an IPv6 address has its own colons, inside of brackets.
std::string with_port(std::string_view member) {
  const std::size_t after = member.find(']');
  const std::string_view rest = after == std::string_view::npos ? member : member.substr(after);
  return std::string(member) + (rest.find(':') == std::string_view::npos ? ":2379" : "");
}

std::optional<std::string> find_error(const http::TlsClientOptions& options, bool tls) {
  const http::TlsIdentity& own = options.identity;
  if (!tls && options != http::TlsClientOptions{}) {
    return "a CA, a certificate and a key are for etcds://, which speaks TLS";
  }
  if (own.certificate_file.empty() != own.key_file.empty()) {
    return "a certificate and its key go together";
  }
  if (!tls) return std::nullopt;
  const auto settings = http::TlsSettings::for_client(options);
  return settings ? std::nullopt : std::optional(settings.error());
}

}  // namespace

Expected<ControlAddress> parse_control_address(std::string_view text,
                                               const http::TlsClientOptions& options) {
  ControlAddress out;
  const bool tls = text.starts_with("etcds://");
  if (!tls && !text.starts_with("etcd://")) return unexpected(std::string(kForm));
  std::string_view rest = text.substr(tls ? 8 : 7);
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos || !is_prefix(rest.substr(slash))) {
    return unexpected(std::string(kForm) +
                      "; the prefix is letters, digits and ._-/ without / at its end");
  }
  out.prefix = rest.substr(slash);
  rest = rest.substr(0, slash);
  for (;;) {
    const std::size_t comma = rest.find(',');
    const auto endpoint =
        http::parse_endpoint((tls ? "https://" : "http://") + with_port(rest.substr(0, comma)));
    if (!endpoint) return unexpected(std::string(kForm) + "; " + endpoint.error());
    if (out.endpoints.size() == ControlAddress::kMostEndpoints) {
      return unexpected("more than " + std::to_string(ControlAddress::kMostEndpoints) +
                        " members of etcd");
    }
    out.endpoints.push_back(*endpoint);
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  if (auto why = find_error(options, tls)) return unexpected(*std::move(why));
  out.tls = options;
  return out;
}

}  // namespace damper::proxy
