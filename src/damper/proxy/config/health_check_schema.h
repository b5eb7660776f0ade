#pragma once

#include "damper/config/schema.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// The keys of `health_checks`, of a cluster.
void add_health_check(config::Schema<ClusterConfig>& schema);

}  // namespace damper::proxy
