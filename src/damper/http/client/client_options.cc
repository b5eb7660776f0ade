#include "damper/http/client/client_options.h"

#include "damper/http/client/url.h"

namespace damper::http {

std::optional<std::string> find_error(const ClientOptions& options) {
  return BoundsCheck()
      .part("pool", find_error(options.pool))
      .part("dialer", find_error(options.dialer))
      .field("max_response_body", options.max_response_body, options.kMaxResponseBody)
      .field("max_endpoints", options.max_endpoints, options.kMaxEndpoints)
      .field("timeout", options.timeout, options.kTimeout)
      .error();
}

std::optional<std::string> find_error(const GuardedClientOptions& options) {
  if (options.endpoints.empty() || options.endpoints.size() > balance::kMostReplicas) {
    return "endpoints has " + std::to_string(options.endpoints.size()) +
           " items; it must have from 1 to " + std::to_string(balance::kMostReplicas);
  }
  bool tls = false;
  for (const std::string& endpoint : options.endpoints) {
    const auto parsed = parse_upstream(endpoint);
    if (!parsed) return "endpoint '" + endpoint + "': " + parsed.error();
    tls = tls || parsed->tls;
  }
  if (tls) {
    if (const auto settings = TlsSettings::for_client(options.client.tls); !settings) {
      return "tls: " + settings.error();
    }
  }
  if (!options.authority.empty() && !parse_endpoint("http://" + options.authority)) {
    return "authority is '" + options.authority + "'; it must be host or host:port";
  }
  return BoundsCheck()
      .part("replicas", find_error(options.replicas))
      .part("client", find_error(options.client))
      .error();
}

}  // namespace damper::http
