#pragma once

#include <string>

#include "damper/base/expected.h"
#include "damper/base/unix_time.h"
#include "damper/store/postgres/postgres.h"

namespace damper::webhooks {

// The tables of a PostgresStore and their versions. docs/design/0034 has the reasons.
//
// Columns: an Id is its number, a time is milliseconds since 1970, a duration nanoseconds. Empty
// text is '', never NULL. Times that decide something (due, since, blocked_until, open_until,
// probe_until, alive_until) are the database's; those that are only shown (created, time) are the
// writer's.

// Creates the tables, or brings them to this program's version. Several dispatchers may start at
// once: one migrates, the others wait. A sentence if the tables are of a newer version, or cannot
// be created.
[[nodiscard]] Expected<bool> prepare_database(const store::PostgresUrl& url,
                                              const std::string& schema);

// The name as SQL, in double quotes.
[[nodiscard]] std::string quoted(const std::string& name);

// A number of the text that is the same in every process and version.
[[nodiscard]] std::uint64_t stable_hash(std::string_view text,
                                        std::uint64_t seed = 0xcbf29ce484222325U) noexcept;

}  // namespace damper::webhooks
