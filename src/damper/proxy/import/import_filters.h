#pragma once

#include <span>
#include <string>
#include <vector>

#include "damper/proxy/import/envoy_import.h"

namespace damper::proxy {

// What the HTTP filters of a connection manager, or of a virtual host or route, mean for a route.
//
// Model: a filter is one row of a table: its type and the function that reads it. A filter without
// a row is noted. Values of a route's typed_per_filter_config come before those of the filter.
struct FilterTerms {
  explicit FilterTerms(policy::ImportNotes& notes);

  PartDraft keys;       // of route_schema(): rate_limit, request_buffering, admission_control ...
  policy::Draft calls;  // client_throttle
  std::vector<std::string> upgrades{};      // that the connection manager allows
  config::SourceLocation upgrades_place{};  // line 0: it allows none
  std::vector<RouteDraft> health_pages{};   // routes of their own, before all others
};

// Reads http_filters.
void read_http_filters(std::span<const config::Tree> filters, FilterTerms& terms,
                       EnvoyImport& file);

// Reads the typed_per_filter_config of a virtual host or a route, if it has one.
void read_filter_overrides(policy::Fields& owner, FilterTerms& terms, EnvoyImport& file);

// Reads upgrade_configs: adds the types that it enables, and removes those that it disables.
void read_upgrade_configs(std::span<const config::Tree> configs, std::vector<std::string>& upgrades,
                          policy::ImportNotes& notes);

}  // namespace damper::proxy
