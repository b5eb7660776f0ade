#pragma once

#include "damper/config/schema.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// The keys of `outlier_detection`, of a cluster.
void add_outliers(config::Schema<ClusterConfig>& schema);

}  // namespace damper::proxy
