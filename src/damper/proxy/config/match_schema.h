#pragma once

#include "damper/config/schema.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// The keys of `match`, of a route.
void add_match(config::Schema<RouteConfig>& schema);

}  // namespace damper::proxy
