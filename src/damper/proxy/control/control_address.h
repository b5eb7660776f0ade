#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/http/client/url.h"
#include "damper/http/tls/tls_settings.h"

namespace damper::proxy {

// Where a fleet's policy is: "etcd://10.0.0.1:2379,10.0.0.2:2379/damper/prod". With etcds:// the
// members are spoken to with TLS: they have to be known to a CA that we trust, and may ask for a
// certificate of ours.
struct ControlAddress {
  static constexpr std::size_t kMostEndpoints = 9;
  static constexpr std::size_t kLongestPrefix = 200;

  std::vector<http::Endpoint> endpoints;  // of one etcd cluster; any of them
  std::string prefix;                     // "/damper/prod": what every key begins with
  http::TlsClientOptions tls{};           // of etcds://
};

// Reads it, or says in a sentence what is wrong; also when what `options` name cannot be used, or
// is not asked for. A member without a port has etcd's own, 2379.
[[nodiscard]] Expected<ControlAddress> parse_control_address(
    std::string_view text, const http::TlsClientOptions& options = {});

}  // namespace damper::proxy
