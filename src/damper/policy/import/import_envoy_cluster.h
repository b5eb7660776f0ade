#ifndef DAMPER_POLICY_IMPORT_IMPORT_ENVOY_CLUSTER_H_
#define DAMPER_POLICY_IMPORT_IMPORT_ENVOY_CLUSTER_H_

#include <string>

#include "damper/policy/import/import_draft.h"

namespace damper::policy {

// An Envoy cluster: what it says of all calls to it, as a draft that its routes add to theirs.
struct EnvoyCluster {
  std::string name;
  Draft draft;
};

// Reads a cluster. What it does not say is Envoy's default.
[[nodiscard]] EnvoyCluster read_envoy_cluster(const config::Tree& tree, ImportNotes& notes);

// The cluster of which a file says nothing. `where` is who leads to it.
[[nodiscard]] Draft default_envoy_cluster(config::SourceLocation where, ImportNotes& notes);

}  // namespace damper::policy

#endif  // DAMPER_POLICY_IMPORT_IMPORT_ENVOY_CLUSTER_H_
