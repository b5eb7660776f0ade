#include "damper/proxy/data/replica_endpoints.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::proxy {

std::string replica_name(const http::Endpoint& endpoint) {
  return endpoint.address.empty() || endpoint.is_unix() ? endpoint.text()
                                                        : endpoint.text() + " " + endpoint.address;
}

std::vector<http::Endpoint> expand_endpoints(const std::vector<std::string>& texts,
                                             const Addresses& addresses) {
  std::vector<http::Endpoint> all;
  const auto add = [&](const http::Endpoint& endpoint) {
    if (std::find(all.begin(), all.end(), endpoint) == all.end()) all.push_back(endpoint);
  };
  for (const std::string& text : texts) {
    if (http::ServiceName::is_service(text)) {
      const auto service = http::parse_service_name(text);
      DAMPER_CHECK(bool(service));
      const auto found = addresses.find(service_key(*service));
      if (found == addresses.end()) continue;
      for (const std::string& place : found->second) {
        const auto where = http::parse_endpoint("http://" + place);
        DAMPER_CHECK(bool(where));
        add({.tls = service->tls,
             .host = service->host(),
             .port = where->port,
             .address = where->host});
      }
      continue;
    }
    const auto endpoint = http::parse_upstream(text);
    DAMPER_CHECK(bool(endpoint));
    if (http::is_address(endpoint->host) || endpoint->is_unix()) {
      add(*endpoint);
      continue;
    }
    const auto found = addresses.find(endpoint->host);
    if (found == addresses.end()) continue;
    for (const std::string& address : found->second) {
      http::Endpoint one = *endpoint;
      one.address = address;
      add(one);
    }
  }
  return all;
}

}  // namespace damper::proxy
