#pragma once

#include <memory>
#include <vector>

#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/config/route_matcher.h"
#include "damper/proxy/data/shared.h"
#include "damper/proxy/data/upstream.h"

namespace damper::proxy {

class RouteAdmission;  // see route_admission.h

// A route as one loop sees it.
struct LoopRoute {
  const RouteConfig* config = nullptr;
  std::shared_ptr<SharedRoute> shared;
  std::shared_ptr<Upstream> upstream;
  std::shared_ptr<RouteAdmission> admission;  // nullptr: every request is admitted
};

// A LoopTable is one generation of the routes on one loop. A reload makes a new one; the old one
// lives until the last request that began under it has ended (they hold it). Its upstreams and
// admissions live longer: a request ends inside a call of one of their connections, so they must
// not be destroyed with it. The Worker destroys them later.
struct LoopTable {
  std::shared_ptr<const ProxyConfig> config;
  RouteMatcher matcher;
  std::vector<LoopRoute> routes;  // as config->routes
};

}  // namespace damper::proxy
