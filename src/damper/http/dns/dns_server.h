#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/http/net/ip_address.h"

namespace damper::http {

// Where a DNS server listens.
struct DnsServer {
  static constexpr std::uint16_t kPort = 53;

  IpAddress address{IpAddress::V4{127, 0, 0, 1}};
  std::uint16_t port = kPort;

  [[nodiscard]] std::string text() const;  // "10.0.0.53:53", "[fd00::35]:53"
  friend bool operator==(const DnsServer&, const DnsServer&) = default;
};

inline constexpr std::string_view kDnsServerForms =
    "an address such as 10.0.0.53, 10.0.0.53:5353 or [fd00::35]:53";

// Or one sentence: what is wrong with the text.
[[nodiscard]] Expected<DnsServer> parse_dns_server(std::string_view text);

}  // namespace damper::http
