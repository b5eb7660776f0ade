#include "damper/http/client/client_options.h"

#include "damper/http/client/url.h"

namespace damper::http {

std::optional<std::string> find_error(const ClientOptions& options) {
  if (auto error = find_error(options.pool)) return error;
  if (auto error = find_error(options.dialer)) return error;
  if (options.max_response_body > std::size_t{1} << 30) return "max_response_body is 0 to 1 GiB";
  if (options.max_endpoints < 1 || options.max_endpoints > 100'000) {
    return "max_endpoints is 1 to 100,000";
  }
  if (options.timeout < std::chrono::milliseconds(1) || options.timeout > std::chrono::hours(1)) {
    return "timeout is 1 ms to 1 h";
  }
  return std::nullopt;
}

std::optional<std::string> find_error(const GuardedClientOptions& options) {
  if (options.endpoints.empty() || options.endpoints.size() > kMostReplicas) {
    return "endpoints are 1 to " + std::to_string(kMostReplicas);
  }
  bool tls = false;
  for (const std::string& endpoint : options.endpoints) {
    const auto parsed = parse_endpoint(endpoint);
    if (!parsed) return "endpoint '" + endpoint + "': " + parsed.error();
    tls = tls || parsed->tls;
  }
  if (tls) {
    if (const auto settings = TlsSettings::for_client(options.client.tls); !settings) {
      return "tls: " + settings.error();
    }
  }
  if (!options.authority.empty() && !parse_endpoint("http://" + options.authority)) {
    return "authority is host or host:port";
  }
  if (auto error = find_error(options.replicas)) return error;
  return find_error(options.client);
}

}  // namespace damper::http
