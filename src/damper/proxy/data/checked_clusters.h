#pragma once

#include <vector>

#include "damper/proxy/data/proxy_generation.h"
#include "damper/proxy/data/replica_endpoints.h"
#include "damper/proxy/health/health_checker.h"

namespace damper::proxy {

// The clusters of a configuration that have health_checks, with their replicas at these addresses,
// named as the loops name them. Of each at most kMostReplicas, as on the loops.
[[nodiscard]] std::vector<CheckedCluster> checked_clusters(const ProxyGeneration& generation,
                                                           const Addresses& addresses);

}  // namespace damper::proxy
