#pragma once

#include "damper/config/schema.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// The keys of a cluster that select a replica: by load or by key, and by zone.
void add_balance(config::Schema<ClusterConfig>& schema);

}  // namespace damper::proxy
