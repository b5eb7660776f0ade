#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"
#include "damper/http/dns/dns_server.h"

namespace damper::http {

// A ResolvConf is what a resolv.conf(5) says: which servers to query, and how.
//
// Model: a line that is not understood is ignored, as by the C library; so is what exceeds a bound.
// The last of `domain` and `search` counts. A server whose address has a zone (fe80::1%eth0) is
// ignored.
struct ResolvConf {
  static constexpr std::size_t kMostBytes = std::size_t{64} * 1024;  // of the file
  static constexpr std::size_t kMostServers = 8;
  static constexpr std::size_t kMostSearch = 32;
  static constexpr unsigned kMostDots = 15;
  static constexpr unsigned kMostAttempts = 5;
  static constexpr unsigned kMostTimeoutSeconds = 30;

  std::vector<DnsServer> servers{DnsServer{}};  // 1 to kMostServers
  std::vector<std::string> search{};            // in lower case
  unsigned ndots = 1;     // a name with fewer dots is looked up in `search` first
  unsigned attempts = 2;  // rounds through the servers
  Duration timeout = std::chrono::seconds(5);  // of a query to a server

  [[nodiscard]] static ResolvConf parse(std::string_view text);
  // The names to look up for this one, in order.
  [[nodiscard]] std::vector<std::string> candidates(const std::string& name) const;

  friend bool operator==(const ResolvConf&, const ResolvConf&) = default;
};

}  // namespace damper::http
