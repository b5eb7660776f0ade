#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "damper/policy/import/import_draft.h"

namespace damper::policy {

// Envoy's terms for calls, which its policies and its proxy's configuration have in common. Each
// function reads one block of an Envoy file into a draft, sets Envoy's defaults, and notes what has
// no equivalent.

void read_envoy_retry_policy(const config::Tree& tree, Draft& draft, ImportNotes& notes);

// Whether a hedge is sent at the per-try timeout, and the location of that field.
[[nodiscard]] std::optional<config::SourceLocation> read_envoy_hedge_policy(
    const config::Tree& tree, ImportNotes& notes);

// Envoy leaves the slow attempt running and sends another one beside it.
void hedge_at_timeout(Draft& draft, config::SourceLocation place, ImportNotes& notes);

// The thresholds of a cluster. Of those for one priority the first counts; here there is one
// priority. `transport` reads the fields about connections, which a policy does not have, from the
// thresholds in use.
void read_envoy_circuit_breakers(const config::Tree& tree, Draft& draft, ImportNotes& notes,
                                 const std::function<void(Fields&)>& transport = {});

// An enforcing_ field: a chance in percent, of which only none and all have an equivalent.
[[nodiscard]] bool enforces(Fields& fields, std::string_view field, std::int64_t otherwise,
                            ImportNotes& notes);

// A cluster that is not in the file. `where` is a route to it.
[[nodiscard]] Draft default_envoy_cluster(config::SourceLocation where, ImportNotes& notes);

}  // namespace damper::policy
