#include "damper/proxy/data/checked_clusters.h"

#include "damper/balance/replica_set.h"

namespace damper::proxy {

std::vector<CheckedCluster> checked_clusters(const ProxyGeneration& generation,
                                             const Addresses& addresses) {
  std::vector<CheckedCluster> checked;
  for (std::size_t i = 0; i < generation.clusters.size(); ++i) {
    const ClusterConfig& config = generation.config->clusters[i];
    if (!config.health_check) continue;
    CheckedCluster& one = checked.emplace_back();
    one.name = config.name;
    one.options = *config.health_check;
    one.dialer = config.dialer;
    one.pool = config.pool;
    if (config.protocol == http::Protocol::h2) one.pool.plain = http::Protocol::h2;
    one.tls_options = config.tls;
    one.tls = generation.client_tls[i];
    one.panic_threshold = config.replicas.panic_threshold;
    one.health = generation.clusters[i]->health();
    for (const http::Endpoint& endpoint : expand_endpoints(config.endpoints, addresses)) {
      if (one.replicas.size() == balance::kMostReplicas) break;
      one.replicas.push_back({.endpoint = endpoint, .name = replica_name(endpoint)});
    }
  }
  return checked;
}

}  // namespace damper::proxy
