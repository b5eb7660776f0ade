#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/proxy/data/proxy_state.h"

namespace damper::proxy {

// A ProxyState as JSON: what GET /state answers, and what `damper ctl` reads.
//
// Model: names as in proxy_state.h. Lengths of time are numbers of seconds and say so in their
// name; one that has no end is null. What a route does not have (a breaker, a limit) is null.
// Verdicts and outcomes are by name, those that were never counted are left out. A switch that is
// on is {"off":false}.
// Invariants:
//   (1) What state_json() writes, parse_state() reads the same, but for fractions of nanoseconds.
//   (2) A reader leaves out what it does not know: an older ctl reads a newer proxy.
[[nodiscard]] std::string state_json(const ProxyState& state);
// {"switches":[{"scope":"","retries":{"off":true,"reason":"..","remaining_seconds":1800},..},..]}
[[nodiscard]] std::string switches_json(const std::vector<ScopeState>& scopes);
// {"forced_breakers":[{"scope":"route/a","force":"open","reason":"..","remaining_seconds":600,
// "own_state":"closed"},..]}
[[nodiscard]] std::string forced_json(const std::vector<ForcedBreaker>& forced);

// Or one sentence: this is no state of a proxy. Whatever the text is, its depth is bounded; its
// length must be bounded by the receiver.
[[nodiscard]] Expected<ProxyState, std::string> parse_state(std::string_view text);
// The same of what GET and PUT /switches answer.
[[nodiscard]] Expected<std::vector<ScopeState>, std::string> parse_switches(std::string_view text);

}  // namespace damper::proxy
