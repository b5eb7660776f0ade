#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "damper/base/instant.h"
#include "damper/http/client/client_metrics.h"
#include "damper/observe/exposition.h"
#include "damper/proxy/data/proxy_generation.h"
#include "damper/proxy/data/proxy_state.h"

namespace damper::proxy {

// A ProxyView makes of a proxy's parts what people and programs look at: a ProxyState, and metrics.
// Families, beside those of DependencyMetrics (by route), of ClientMetrics (by cluster, all loops
// together) and of ServerMetrics (by listener):
//   damper_proxy_loops, damper_proxy_config_version, damper_proxy_draining       gauges
//   damper_proxy_reloads_total{result}           applied, refused
//   damper_proxy_requests_under_way              gauge
//   damper_proxy_access_log_lines_total, damper_proxy_access_log_dropped_total,
//   damper_proxy_access_log_suppressed_total
//   damper_proxy_gate_limit{route}, damper_proxy_gate_running{route},
//   damper_proxy_gate_queued{route}              gauges, of all loops together
//   damper_proxy_max_connections{server}         of a listener, on all loops together
//   damper_replica_ejected{cluster,replica}      on how many loops it is not asked
//   damper_replica_forced{cluster,replica,state} 1 while an operator holds it; else it is missing
//   damper_replica_healthy{cluster,replica}      0 if its checks fail; missing without checks
//   damper_health_checks_total{cluster,outcome}  probes: passed, failed, no_verdict
//   damper_health_checks_ignored{cluster}        1 while too few replicas pass their checks
//   damper_replica_outstanding{cluster,replica}  attempts under way
//   damper_replica_latency_seconds{cluster,replica}
//   damper_cluster_addresses_left_out{cluster}   over the bound of replicas
//   damper_zone_picks_total{cluster,zone}        own, other; missing without zones
//   damper_cluster_retry_budget_balance{cluster}, damper_cluster_retry_budget_fill_ratio{cluster}
//   damper_process_retry_budget_balance, damper_process_retry_budget_fill_ratio

// What all loops share of a configuration, and of the process's budget; what each loop knows is
// empty in it.
[[nodiscard]] ProxyState view_of(const ProxyGeneration& generation,
                                 const admit::RetryBudget& process, Instant now);
// The switches alone: no loop is asked, and nothing is read that a loop locks.
[[nodiscard]] std::vector<ScopeState> scopes_of(const ProxyGeneration& generation, Instant now);
// The breakers that an operator holds; the same holds for it.
[[nodiscard]] std::vector<ForcedBreaker> forced_of(const ProxyGeneration& generation, Instant now);
// Adds what one loop described. Those of another configuration (a reload is under way) are left
// out.
void add_loop(ProxyState& sum, const ProxyState& loop);

using LoopMetrics = std::map<std::string, std::shared_ptr<const http::ClientMetrics>>;
void write_metrics(const ProxyGeneration& generation, const ProxyState& state,
                   const std::vector<LoopMetrics>& loops, Instant now, observe::Exposition& out);

}  // namespace damper::proxy
