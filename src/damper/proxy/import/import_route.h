#pragma once

#include "damper/proxy/import/envoy_import.h"
#include "damper/proxy/import/import_fields.h"
#include "damper/proxy/import/import_filters.h"

namespace damper::proxy {

// What a route has from its virtual host and from what is around it.
struct RouteSurroundings {
  std::string name;                               // of the virtual host
  std::vector<std::string> hosts;                 // empty: all
  config::SourceLocation place;                   // of the hosts
  const FilterTerms* filters = nullptr;           // of the connection manager
  const config::Tree* host = nullptr;             // the virtual host
  const config::Tree* route_config = nullptr;     // what it is in
  const policy::Draft* retries = nullptr;         // of the virtual host; null: it has none
  std::optional<config::SourceLocation> hedge{};  // of the virtual host
};

// Reads one route of a virtual host and adds it to the file. Whether it takes every request of its
// hosts.
bool read_route(const config::Tree& tree, const RouteSurroundings& around, EnvoyImport& file);

// Reads the redirect of a route into the draft.
void read_redirect(const config::Tree& tree, PartDraft& route, policy::ImportNotes& notes);

// Reads weighted_clusters and hash_policy.
void read_weighted_clusters(const config::Tree& tree, RouteDraft& route, EnvoyImport& file);
void read_hash_policy(std::span<const config::Tree> policies, PartDraft& route,
                      policy::ImportNotes& notes);

// Has the route call the cluster of that name in Envoy. One that is not there becomes a response
// with 503, as in Envoy.
void set_cluster(const std::string& name, config::SourceLocation place, RouteDraft& route,
                 EnvoyImport& file);

}  // namespace damper::proxy
