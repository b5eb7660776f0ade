#pragma once

#include <map>
#include <string>
#include <vector>

#include "damper/http/client/url.h"

namespace damper::proxy {

// The addresses of the names that clusters have for endpoints: see upstream_names.h. Those of a
// service_key() have ports: "10.0.0.7:8080".
using Addresses = std::map<std::string, std::vector<std::string>>;

// What Addresses call the SRV records of a service. No other name has a ':'.
[[nodiscard]] inline std::string service_key(const http::ServiceName& service) {
  return "srv:" + service.name;
}

// What loops, verdicts, forced states and metrics call a replica: "http://10.0.0.7:80", or
// "http://NAME:80 10.0.0.7" for an address of a name.
[[nodiscard]] std::string replica_name(const http::Endpoint& endpoint);

// The endpoints with names and services expanded to addresses, in their order, each once.
// REQUIRES: each text is an endpoint or a ServiceName.
[[nodiscard]] std::vector<http::Endpoint> expand_endpoints(const std::vector<std::string>& texts,
                                                           const Addresses& addresses);

}  // namespace damper::proxy
