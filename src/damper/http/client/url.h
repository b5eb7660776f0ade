#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/http/net/egress_guard.h"
#include "damper/http/net/unix_address.h"

namespace damper::http {

// An Endpoint is where a service listens: what connections are pooled by.
struct Endpoint {
  bool tls = false;         // https
  std::string host;         // in lower case; an IPv6 address without its brackets
  std::uint16_t port = 80;  // never 0
  // Where it is, if it is known already: an IP address, or a UnixAddress. TLS and Host still have
  // the host's name.
  std::string address{};

  [[nodiscard]] bool is_unix() const noexcept { return UnixAddress::is_unix(address); }
  [[nodiscard]] std::string_view scheme() const noexcept { return tls ? "https" : "http"; }
  // As Host and :authority carry it: without the scheme's own port, an IPv6 address in brackets.
  [[nodiscard]] std::string authority() const;
  [[nodiscard]] std::string text() const;  // "https://example.com:8443", "unix:/run/app.sock"

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// A Url is an http or https URL in its parts.
struct Url {
  Endpoint endpoint;
  std::string target = "/";  // path and query, as they are sent
};

inline constexpr std::size_t kMostUrlBytes = std::size_t{8} * 1024;

// Reads a URL (RFC 3986, RFC 9110 section 4.2), strictly; or says in a sentence what is wrong.
//
// Why strict: a URL that two readers take for two hosts is how a check in one place is passed by in
// another. So nothing is repaired: no user name (RFC 9110 4.2.4), no fragment (it is never sent),
// no space, no backslash, no control or non-ASCII character, no half percent escape, no zone of an
// IPv6 address, no number in the place of a host but an IPv4 address of four decimal parts without
// leading zeros (so neither 0x7f.1 nor 2130706433 is 127.0.0.1).
// Invariants:
//   (1) What is read and written again is read the same.
//   (2) Host, target and authority have no byte that ends a line or a field.
[[nodiscard]] Expected<Url> parse_url(std::string_view text);
// The same for a URL that a stranger chose: the guard allows its scheme and its port and, if the
// host is an address, that. A name is checked when it is resolved: give the guard to the client,
// too.
[[nodiscard]] Expected<Url> parse_url(std::string_view text, const EgressGuard& guard);
// The same without a target: "http://127.0.0.1:9000", with "/" after it or nothing.
[[nodiscard]] Expected<Endpoint> parse_endpoint(std::string_view text);

// The same, or a Unix socket: "unix:/run/app.sock", which has http and the Host "localhost".
[[nodiscard]] Expected<Endpoint> parse_upstream(std::string_view text);

// A ServiceName names the SRV records that say where a service listens (RFC 2782):
// "http+srv://_http._tcp.shop.example", with https+srv for TLS.
struct ServiceName {
  bool tls = false;
  std::string name;  // in lower case

  // What TLS and Host have: the name without the labels with '_' that it begins with. It is what
  // the configuration says; the records, which anybody on the way may have written, choose no name.
  [[nodiscard]] std::string host() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static bool is_service(std::string_view text);

  friend bool operator==(const ServiceName&, const ServiceName&) = default;
};
// Or in a sentence what is wrong: it has no port, path or address, and a label without '_'.
[[nodiscard]] Expected<ServiceName> parse_service_name(std::string_view text);

// Whether it can be sent as it is: a path from "/" on and perhaps a query.
[[nodiscard]] bool valid_target(std::string_view target) noexcept;
// Whether a host is an address, so that no name has to be resolved.
[[nodiscard]] bool is_address(std::string_view host) noexcept;

}  // namespace damper::http
