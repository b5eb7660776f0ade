#pragma once

#include <optional>

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
  std::vector<RouteDraft> health_pages{};  // routes of their own, before all others
};

// Reads http_filters.
void read_http_filters(std::span<const config::Tree> filters, FilterTerms& terms,
                       EnvoyImport& file);

// Reads the typed_per_filter_config of a virtual host or a route, if it has one.
void read_filter_overrides(policy::Fields& owner, FilterTerms& terms, EnvoyImport& file);

}  // namespace damper::proxy
