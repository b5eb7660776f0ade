#pragma once

#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/base/unix_time.h"

namespace damper::webhooks {

// Wall time as the API has it: RFC 3339 in UTC, "2026-11-16T20:15:00.250Z".
//
// Invariants: (1) parse_time(time_text(t)) is t, for the years 1970 to 9999.

[[nodiscard]] std::string time_text(UnixTime time);
// With or without a fraction of 1 to 3 digits, and "Z"; else an error sentence.
[[nodiscard]] Expected<UnixTime> parse_time(std::string_view text);

}  // namespace damper::webhooks
