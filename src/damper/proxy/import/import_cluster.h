#pragma once

#include "damper/proxy/import/envoy_import.h"

namespace damper::proxy {

// Reads a cluster of an Envoy file: its part of the result, and its terms for the routes to it.
//
// Model: retries in flight bound all routes of the cluster together, as in Envoy: they are the
// cluster's retry_budget. Requests in flight are bounded by each route. A cluster whose endpoints
// are not in the file is left out; its routes answer with 503.
void read_cluster(const config::Tree& tree, EnvoyImport& file);

// Its health_checks and outlier_detection.
void read_health_checks(policy::Fields& cluster, PartDraft& draft, policy::ImportNotes& notes);
void read_outlier_detection(policy::Fields& cluster, PartDraft& draft, policy::ImportNotes& notes);

}  // namespace damper::proxy
