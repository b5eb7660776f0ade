#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "damper/policy/import/import_draft.h"

namespace damper::policy {

// Concepts that several systems share. Each function sets values of a draft, and notes where their
// meaning differs here. `who` is the system's name in notes.

// Envoy's default wait before a retry: 25 ms, doubled up to ten times that, over its whole
// interval.
void set_envoy_backoff(Draft& draft);

// Envoy's words, with commas between them; a number is a status, as Istio has it. `codes` are more
// statuses. A word that is not known here is noted.
void set_retry_on(Draft& draft, std::string_view words, config::SourceLocation place,
                  std::span<const config::Tree> codes, ImportNotes& notes);

// gRPC's codes, as names or numbers.
void set_grpc_codes(Draft& draft, std::span<const config::Tree> codes, config::SourceLocation place,
                    ImportNotes& notes);

// The whole call's time; nothing, or zero, is none: the longest that there is here. `where` is for
// the note.
void set_timeout(Draft& draft, const std::optional<Placed<Duration>>& timeout,
                 config::SourceLocation where, std::string_view who, ImportNotes& notes);

// No bound on retries but the attempts of each call: a budget that refuses nothing.
void set_no_budget(Draft& draft, config::SourceLocation where, std::string_view who,
                   ImportNotes& notes);

// A bound on the retries in flight, and no other: Envoy's max_retries.
void set_max_retries(Draft& draft, const Placed<std::int64_t>& most, config::SourceLocation where,
                     ImportNotes& notes);

// Envoy's retry_budget: a percentage of the requests in flight, and a minimum.
void set_retry_budget(Draft& draft, Fields& fields, std::string_view percent,
                      config::SourceLocation where, ImportNotes& notes);

// A fixed bound on the requests in flight.
void set_max_requests(Draft& draft, const Placed<std::int64_t>& most);

// A hedge at a fixed delay: as early as our quantile can be, but not before the delay.
void set_hedge(Draft& draft, std::int64_t hedges, const Placed<Duration>& delay);

// Outlier detection, as a circuit breaker. The defaults are Envoy's.
struct Ejection {
  Placed<std::int64_t> consecutive{.value = 5};  // 0: it does not count them
  Placed<Duration> interval{.value = std::chrono::seconds(10)};
  Placed<Duration> base{.value = std::chrono::seconds(30)};
  std::optional<Placed<Duration>> most{};                 // 300 s, or the base when that is longer
  std::optional<Placed<std::int64_t>> failure_percent{};  // when it ejects by them
  Placed<std::int64_t> failure_volume{.value = 50};
};
void set_ejection(Draft& draft, const Ejection& ejection, config::SourceLocation where,
                  ImportNotes& notes);

// That the other system retries requests that we do not: noted once for a file.
void note_idempotency(config::SourceLocation where, std::string_view who, ImportNotes& notes);

}  // namespace damper::policy
