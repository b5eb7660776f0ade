#ifndef DAMPER_POLICY_IMPORT_IMPORT_ENVOY_H_
#define DAMPER_POLICY_IMPORT_IMPORT_ENVOY_H_

#include <span>

#include "damper/policy/import/import_draft.h"

namespace damper::policy {

// Envoy's configuration, v3: a bootstrap file, a file of resources as xDS reads it from disk, or
// one listener, route configuration, virtual host or cluster alone.
//
// Model: each route that leads to a cluster is a route, called by its own name or else by its
// virtual host and path. It has what its route action says, else its virtual host, and what its
// cluster says of retries, requests under way and outliers. A cluster to which no route leads is a
// route too. Envoy's defaults are said: no retries without a retry_policy, one with it, 25 to 250
// ms between, 15 s for the whole request, three retries and 1024 requests under way for a cluster.
void import_envoy(std::span<const config::Tree> documents, Drafts& drafts, ImportNotes& notes);

}  // namespace damper::policy

#endif  // DAMPER_POLICY_IMPORT_IMPORT_ENVOY_H_
