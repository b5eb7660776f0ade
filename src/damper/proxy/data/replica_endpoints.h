#pragma once

#include <map>
#include <string>
#include <vector>

#include "damper/http/client/url.h"

namespace damper::proxy {

// The addresses of the names that clusters have for endpoints: see upstream_names.h.
using Addresses = std::map<std::string, std::vector<std::string>>;

// What loops, verdicts, forced states and metrics call a replica: "http://10.0.0.7:80", or
// "http://NAME:80 10.0.0.7" for an address of a name.
[[nodiscard]] std::string replica_name(const http::Endpoint& endpoint);

// The endpoints with names expanded to addresses, in their order, each once. REQUIRES: each text is
// an endpoint.
[[nodiscard]] std::vector<http::Endpoint> expand_endpoints(const std::vector<std::string>& texts,
                                                           const Addresses& addresses);

}  // namespace damper::proxy
