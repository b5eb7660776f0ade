#pragma once

#include <string>

#include "damper/policy/import/import_draft.h"

namespace damper::policy {

// An Envoy cluster: the values of all calls to it, as a draft that is added to those of its routes.
struct EnvoyCluster {
  std::string name;
  Draft draft;
};

// Reads a cluster. A field that is not set has Envoy's default.
[[nodiscard]] EnvoyCluster read_envoy_cluster(const config::Tree& tree, ImportNotes& notes);

// A cluster that is not in the file. `where` is a route to it.
[[nodiscard]] Draft default_envoy_cluster(config::SourceLocation where, ImportNotes& notes);

}  // namespace damper::policy
