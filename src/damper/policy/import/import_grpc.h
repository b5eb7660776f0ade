#ifndef DAMPER_POLICY_IMPORT_IMPORT_GRPC_H_
#define DAMPER_POLICY_IMPORT_IMPORT_GRPC_H_

#include <span>

#include "damper/policy/import/import_draft.h"

namespace damper::policy {

// A gRPC service config: JSON with methodConfig and retryThrottling, alone or in the list of
// choices that a DNS TXT record has.
//
// Model: each name of a methodConfig is a route: service/method, service, or default. gRPC retries
// only where a retryPolicy says so, waits without a deadline unless there is a timeout, and has no
// budget unless there is a retryThrottling. That one holds tokens: a failure takes one, a success
// gives tokenRatio back, and there are no retries while it is under half full. Here it is a budget
// of tokenRatio of the successes with a reserve of half the tokens.
void import_grpc(std::span<const config::Tree> documents, Drafts& drafts, ImportNotes& notes);

}  // namespace damper::policy

#endif  // DAMPER_POLICY_IMPORT_IMPORT_GRPC_H_
