#pragma once

#include <string>
#include <vector>

#include "damper/proxy/import/envoy_import.h"
#include "damper/proxy/import/import_filters.h"

namespace damper::proxy {

// A route configuration, and what is around it.
struct RouteTable {
  const config::Tree* route_config = nullptr;
  const FilterTerms* filters = nullptr;
  std::vector<std::string> server_names;  // of its filter chain; empty: all
};

// Adds the routes of all virtual hosts of a listener in the order in which Envoy selects them.
//
// Model: Envoy selects a virtual host by its most specific domain, then a route of that host alone.
// Here one list is matched in order. So the hosts are sorted: exact domains, *.domains by falling
// length, then all others. A host that does not take all of its requests, with another one after it
// that could, is followed by a route that answers 404.
void read_virtual_hosts(const std::vector<RouteTable>& tables, EnvoyImport& file);

}  // namespace damper::proxy
