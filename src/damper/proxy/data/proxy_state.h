#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "damper/admit/circuit_breaker.h"
#include "damper/admit/switches.h"
#include "damper/base/instant.h"
#include "damper/engine/tally.h"
#include "damper/proxy/data/switch_scope.h"

namespace damper::proxy {

// A snapshot of a proxy as plain data.
struct BudgetState {
  double balance = 0;  // retries that it would grant now
  double fill = 1;     // 0 to 1
};
struct ScopeState {
  SwitchScope scope{};
  admit::PerSwitch<admit::SwitchStatus> switches{};
};
// A breaker that an operator holds open or closed: of a route, or of a replica of a cluster.
struct ForcedBreaker {
  SwitchScope scope{};
  std::string replica{};  // of a cluster; empty: the route's own
  admit::BreakerForceStatus status{};
  bool has_own = false;  // status.own is known; not of a replica, which has a breaker on each loop
};
struct RouteState {
  std::string name, cluster;  // ROUTE, or ROUTE@CLUSTER of one with weighted_clusters
  bool has_weight = false;
  std::uint32_t weight = 0;
  engine::Tally tally{};
  BudgetState budget{};
  bool has_breaker = false;
  admit::BreakerState breaker{};
  bool has_limit = false;
  std::int32_t limit = 0, in_flight = 0;
  double throttle = 0;  // probability that it refuses a call
  bool has_gate = false;
  std::int32_t gate_limit = 0;                 // slots, of all loops together
  std::int64_t queued = 0, running = 0;        // requests that wait for a slot, that hold one
  std::uint64_t tunnels = 0, max_tunnels = 0;  // of all loops together
  std::uint64_t refused_tunnels = 0;
  bool has_client_rates = false;
  std::uint64_t clients = 0, max_clients = 0;              // that client_rate_limit tracks, at most
  std::uint64_t client_refused = 0, client_untracked = 0;  // requests
  Duration p50{0}, p99{0};
};
struct ReplicaState {
  std::string endpoint;  // the numbers are sums over all loops
  std::uint32_t outstanding = 0;
  std::uint32_t ejected_on = 0;  // number of loops on which it is ejected
  Duration latency{0};           // mean of the loops
  std::size_t connections = 0, idle = 0, waiting = 0;
  // Of active checks: unknown, healthy, unhealthy, and why the last failed probe did. Empty: the
  // cluster has none.
  std::string health{}, health_reason{};
  std::string zone{};  // empty: the file has none
};
struct ClusterState {
  std::string name;
  BudgetState budget{};
  std::vector<ReplicaState> replicas;
  bool has_checks = false, checks_ignored = false;  // see ReplicaOptions::panic_threshold
  std::size_t left_out = 0;  // addresses ignored because of the bound on replicas
  bool has_zones = false;    // one is preferred
  std::uint64_t own_zone_picks = 0, other_zone_picks = 0;  // attempts, see Replicas::ZonePicks
};
// A name of clusters' endpoints, and what it stands for.
struct NameState {
  std::string name;            // as service_key() has it, or a host
  std::string addresses{};     // in use: the first ones, with commas; or empty
  std::size_t count = 0;       // of all of them
  Duration age{0};             // of the last good answer; without one, since the name is used
  std::uint32_t failures = 0;  // lookups without a good answer since then, and why the last one
  std::string reason{};
};
// Adds a replica's numbers to those of the same endpoint.
void add_replica(ClusterState& sum, const ReplicaState& one);
struct ListenerState {
  std::string name, address;
  std::uint16_t port = 0;
  bool tls = false;
  std::size_t connections = 0, max_connections = 0;  // of all loops together
  std::size_t clients = 0, max_per_client = 0;       // with connections; 0, 0: no limit by client
};
struct ProxyState {
  std::uint64_t version = 0;
  std::uint32_t loops = 0;
  std::uint32_t answered = 0;  // loops included in the sums; a stuck loop is not
  Duration up{0};
  bool draining = false;
  std::size_t requests_under_way = 0;
  std::size_t kept_bytes = 0, max_kept_bytes = 0;  // see KeptBytes
  std::uint64_t kept_bytes_refused = 0;
  std::uint64_t access_log_lines = 0, access_log_dropped = 0, access_log_suppressed = 0;
  BudgetState budget{};  // of the process
  std::vector<ListenerState> listeners;
  std::vector<ClusterState> clusters;
  std::vector<RouteState> routes;
  std::vector<NameState> names;
  std::vector<ScopeState> scopes;
  std::vector<ForcedBreaker> forced;
};

}  // namespace damper::proxy
