#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "damper/base/text/chart_text.h"
#include "damper/cli/ctl/ctl_snapshots.h"
#include "damper/proxy/data/proxy_state.h"

namespace damper::cli {

// What `damper ctl status` prints: one page for the person on duty.
//
// Model: first what is wrong, in a line; what is switched off, by its reason; then routes and
// replicas, the worst first. What is bad is judged by what happened between the two snapshots;
// totals since the start stand beside it. A final answer (404) is no failure of the route.
void print_status(std::ostream& out, const Snapshots& snapshots, text::ReportStyle style);
// `damper ctl breakers`: those of routes, and the replicas that are not asked.
void print_breakers(std::ostream& out, const proxy::ProxyState& state, text::ReportStyle style);

// "version 7, up 3h, ..." and the line that says what is wrong.
void print_summary(std::ostream& out, const proxy::ProxyState& state, text::ReportStyle style);
// A line for each that is off, by its scope: how long yet, and why. How many there were.
std::size_t print_switches(std::ostream& out, const std::vector<proxy::ScopeState>& scopes,
                           text::ReportStyle style);
// A line for each breaker that is held by hand: how long yet, and why.
void print_forced(std::ostream& out, const std::vector<proxy::ForcedBreaker>& forced,
                  text::ReportStyle style);
// At most `most` rows.
void print_replicas(std::ostream& out, const proxy::ProxyState& state, text::ReportStyle style,
                    std::size_t most = 1'000'000);

// How bad a route looks: 0 is well. What sorts the worst first.
[[nodiscard]] double badness(const RouteChange& change);
// The worst first; equals as they were.
[[nodiscard]] std::vector<RouteChange> worst_first(std::vector<RouteChange> routes);

// "route checkout", "the process".
[[nodiscard]] std::string scope_text(const proxy::SwitchScope& scope);
// "route checkout", "replica 10.0.0.7:80 of cluster payments".
[[nodiscard]] std::string breaker_text(const proxy::SwitchScope& scope, const std::string& replica);

}  // namespace damper::cli
