#include "damper/cli/check/check_proxy.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "damper/cli/check/tree_lens.h"
#include "damper/http/net/unix_address.h"
#include "damper/http/server/listen_address.h"
#include "damper/http/server/local_access.h"
#include "damper/proxy/config/trust.h"

namespace damper::cli {
namespace {

using config::Tree;
using policy::Rule;
using proxy::ListenerConfig;
using proxy::ProxyConfig;
using proxy::RouteConfig;

bool is_exposed(const ListenerConfig& listener) {
  return !http::UnixAddress::is_unix(listener.address) && !http::is_loopback(listener.address);
}

bool lists_all(const std::vector<std::string>& peers) {
  return std::ranges::find(peers, proxy::Trust::kAll) != peers.end();
}

std::string place_of(const ListenerConfig& listener) {
  return http::ListenAddress{listener.address, listener.port}.text();
}

void check_listener(const ListenerConfig& listener, TreeLens& lens) {
  const auto keys = [&](std::string_view key) -> TreeLens::Keys {
    return {"listeners", listener.name, key};
  };
  for (const bool load_balancers : {false, true}) {
    const auto& peers = load_balancers ? listener.proxy_protocol : listener.trust;
    if (!lists_all(peers)) continue;
    const std::string key = load_balancers ? "proxy_protocol" : "trust";
    lens.add(Rule::strangers_trusted, keys(key), "",
             "every client that reaches " + place_of(listener) +
                 (load_balancers ? " may name any address as its own"
                                 : " may set deadline, criticality, retry owner and origin"),
             key + ": [10.0.0.0/8]   # the networks of your own proxies");
  }
  if (listener.max_connections_per_client == 0 &&
      proxy::peers_of(listener.proxy_protocol).is_empty()) {
    lens.add(Rule::no_client_limit, keys("max_connections_per_client"), "",
             "one client may have all " + std::to_string(listener.max_connections) +
                 " connections of " + place_of(listener),
             "max_connections_per_client: " +
                 std::to_string(std::max<std::size_t>(1, listener.max_connections / 100)));
  }
}

// What bounds the requests of a route.
std::string_view limit_of(const RouteConfig& route) {
  if (route.client_rate_limit) return "client_rate_limit";
  if (route.rate_limit) return "rate_limit";
  return route.admission ? "admission_control" : "";
}

// A later route that takes other spellings of the path, and does not have the limit.
void check_paths(const ProxyConfig& config, TreeLens& lens) {
  const auto open = std::ranges::find_if(config.listeners, [](const ListenerConfig& listener) {
    return is_exposed(listener) && !listener.paths.normalize;
  });
  if (open == config.listeners.end()) return;
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    const RouteConfig& route = config.routes[i];
    const std::string& path = route.match.path.empty() ? route.match.prefix : route.match.path;
    if (path.empty() || path == "/" || limit_of(route).empty()) continue;
    const bool is_passed =
        std::any_of(config.routes.begin() + static_cast<std::ptrdiff_t>(i) + 1, config.routes.end(),
                    [&](const RouteConfig& later) {
                      return later.forwards() && later.match.path.empty() &&
                             (later.match.prefix.empty() || later.match.prefix == "/");
                    });
    if (!is_passed) continue;
    std::string sentence = "a client that writes " + path;
    sentence.append(" as /").append(path).append(" passes by the route's ").append(limit_of(route));
    sentence.append(", and a service may take the two for the same");
    lens.add(Rule::limit_bypassed, {"routes", route.name, "match"}, route.name, sentence,
             "normalize_path: true, at the listener " + open->name);
  }
}

}  // namespace

std::vector<policy::Finding> lint_proxy(const ProxyConfig& config, const Tree& tree) {
  TreeLens lens(tree);
  for (const ListenerConfig& listener : config.listeners) {
    if (is_exposed(listener)) check_listener(listener, lens);
  }
  check_paths(config, lens);
  return lens.take();
}

}  // namespace damper::cli
