#ifndef DAMPER_POLICY_IMPORT_IMPORT_LINKERD_H_
#define DAMPER_POLICY_IMPORT_IMPORT_LINKERD_H_

#include <span>

#include "damper/policy/import/import_draft.h"

namespace damper::policy {

// Linkerd's ServiceProfiles, as Kubernetes has them.
//
// Model: each route of a profile is a route, named SERVICE:ROUTE. Linkerd retries the failures of a
// route that isRetryable, at once and as often as the service's retryBudget allows; it has no bound
// on the attempts of one request, so num_retries is the most that there is. Without a retryBudget
// Linkerd's holds: 20 %, and 10 a second for each proxy whatever happens, which is trap B8.
void import_linkerd(std::span<const config::Tree> documents, Drafts& drafts, ImportNotes& notes);

}  // namespace damper::policy

#endif  // DAMPER_POLICY_IMPORT_IMPORT_LINKERD_H_
