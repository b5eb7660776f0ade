#pragma once

#include <cstddef>

#include "damper/config/schema.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// Every key of the proxy's file beyond those of a policy's block (policy::block_schema()).

inline constexpr std::size_t kMostListeners = 64;
inline constexpr std::size_t kMostClusters = 1000;
inline constexpr std::size_t kMostTexts = 256;     // in one list
inline constexpr std::size_t kLongestText = 1024;  // bytes

[[nodiscard]] const config::Schema<ProxyConfig>& proxy_schema();
[[nodiscard]] const config::Schema<ListenerConfig>& listener_schema();
[[nodiscard]] const config::Schema<ClusterConfig>& cluster_schema();
[[nodiscard]] const config::Schema<RouteConfig>& route_schema();

// Listeners, clusters and routes: the rest of the top of the file.
[[nodiscard]] const config::AnySchema& proxy_items_schema();

}  // namespace damper::proxy
