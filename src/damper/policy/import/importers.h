#pragma once

#include <span>

#include "damper/policy/import/import_draft.h"

namespace damper::policy {

// One importer for each system. It adds a draft for each route of the documents, and a note for
// each field without an equivalent.

// Envoy's configuration, v3: a bootstrap file, a file of resources as xDS reads it from disk, or
// one listener, route configuration, virtual host or cluster alone.
//
// Model: each route to a cluster is a route, named by its own name or else by its virtual host and
// path. Its values are those of its route action, else of its virtual host, and those of its
// cluster for retries, requests in flight and outliers. A cluster without a route is a route too.
// Envoy's defaults are set: no retries without a retry_policy, one with it, 25 to 250 ms between,
// 15 s for the whole request, three retries and 1024 requests in flight for a cluster.
void import_envoy(std::span<const config::Tree> documents, Drafts& drafts, ImportNotes& notes);

// A gRPC service config: JSON with methodConfig and retryThrottling, alone or in the list of
// choices of a DNS TXT record.
//
// Model: each name of a methodConfig is a route: service/method, service, or default. gRPC retries
// only with a retryPolicy, has no deadline without a timeout, and no budget without a
// retryThrottling. The latter holds tokens: a failure takes one, a success adds tokenRatio, and
// there are no retries while it is less than half full. Here it is a budget of tokenRatio of the
// successes with a reserve of half the tokens.
void import_grpc(std::span<const config::Tree> documents, Drafts& drafts, ImportNotes& notes);

// Istio's VirtualServices and DestinationRules, as Kubernetes has them, in any order and number.
//
// Model: each HTTP route of a VirtualService to a destination is a route, named by its own name or
// else by its service and path. It has its timeout and retries, and the connection pool and outlier
// detection of the DestinationRule for its destination's host and subset. A DestinationRule without
// a route is a route too. Istio's defaults are set: two retries, Envoy's 25 to 250 ms between, no
// timeout, and no bound on the retries in flight.
void import_istio(std::span<const config::Tree> documents, Drafts& drafts, ImportNotes& notes);

// Linkerd's ServiceProfiles, as Kubernetes has them.
//
// Model: each route of a profile is a route, named SERVICE:ROUTE. Linkerd retries the failures of a
// route that isRetryable at once and as often as the service's retryBudget allows. It has no bound
// on the attempts of one request, so that num_retries is the largest value. The default of the
// retryBudget is 20 % and 10 per second for each proxy, which is trap B8.
void import_linkerd(std::span<const config::Tree> documents, Drafts& drafts, ImportNotes& notes);

}  // namespace damper::policy
