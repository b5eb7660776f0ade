#pragma once

#include "damper/config/schema.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// The keys of `tracing`, of a proxy.
void add_tracing(config::Schema<ProxyConfig>& schema);

}  // namespace damper::proxy
