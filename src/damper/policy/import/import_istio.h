#ifndef DAMPER_POLICY_IMPORT_IMPORT_ISTIO_H_
#define DAMPER_POLICY_IMPORT_IMPORT_ISTIO_H_

#include <span>

#include "damper/policy/import/import_draft.h"

namespace damper::policy {

// Istio's VirtualServices and DestinationRules, as Kubernetes has them, in any order and number.
//
// Model: each HTTP route of a VirtualService that leads to a destination is a route, called by its
// own name or else by its service and path. It has its timeout and retries, and what the
// DestinationRule for its destination's host and subset says of connections and outliers. A
// DestinationRule to whose host no route leads is a route too. Istio's defaults are said: two
// retries, Envoy's 25 to 250 ms between, no timeout, and no bound on the retries under way.
void import_istio(std::span<const config::Tree> documents, Drafts& drafts, ImportNotes& notes);

}  // namespace damper::policy

#endif  // DAMPER_POLICY_IMPORT_IMPORT_ISTIO_H_
