#pragma once

#include <string>

#include "damper/http/idempotency/idempotency_store.h"
#include "damper/observe/registry.h"

namespace damper::http {

// Shows a store in the registry, with the label `store`, for as long as the Collection lives:
//   damper_idempotency_requests_total{result}   first, replayed, under_way, mismatch, full, broken
//   damper_idempotency_evictions_total          answers that went before their time
//   damper_idempotency_expirations_total        answers that went in time
//   damper_idempotency_recovered_total          keys whose first owner had died
//   damper_idempotency_lost_total               answers that came after the lease was over
//   damper_idempotency_unkept_total             answers without room: a 409 is replayed instead
//   damper_idempotency_errors_total             of the database
//   damper_idempotency_entries, _bytes
// REQUIRES: the store and the registry outlive the Collection. Cost: nothing but at a scrape.
[[nodiscard]] observe::Registry::Collection show(const IdempotencyStore& store, std::string name,
                                                 observe::Registry& registry);

}  // namespace damper::http
