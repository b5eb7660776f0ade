#include "damper/proxy/data/proxy_view.h"

#include <algorithm>
#include <chrono>

#include "damper/observe/dependency_metrics.h"
#include "damper/run/dependency.h"

namespace damper::proxy {
namespace {

BudgetState view_of(const admit::RetryBudget& budget, Instant now) {
  return {.balance = budget.balance(now), .fill = budget.fill(now)};
}

ScopeState view_of(SwitchScope scope, const admit::Switches& switches, Instant now) {
  ScopeState state{.scope = std::move(scope), .switches = {}};
  for (std::size_t i = 0; i < state.switches.size(); ++i) {
    state.switches[i] = switches.snapshot(static_cast<admit::Switch>(i), now);
  }
  return state;
}

RouteState view_of(SharedRoute& route, Instant now) {
  engine::Dependency& dependency = route.dependency();
  const engine::Terms terms = dependency.terms();
  RouteState state;
  state.name = dependency.name();
  state.cluster = route.cluster().name();
  state.tally = dependency.tally();
  state.budget = view_of(dependency.budget(), now);
  state.has_breaker = terms.has_breaker;
  state.breaker = dependency.breaker().state(now);
  state.has_limit = terms.has_limit;
  state.limit = dependency.limit().limit();
  state.in_flight = dependency.limit().in_flight();
  if (terms.has_throttle) state.throttle = dependency.throttle().reject_probability(now);
  state.tunnels = route.tunnels().taken();
  state.max_tunnels = route.tunnels().limit();
  state.refused_tunnels = route.refused_tunnels();
  state.p50 = dependency.latencies().quantile(Percent(50), now).value_or(Duration{0});
  state.p99 = dependency.latencies().quantile(Percent(99), now).value_or(Duration{0});
  return state;
}

void view_gate(SharedAdmission& gate, RouteState& state) {
  state.has_gate = true;
  state.gate_limit = gate.limit().limit();
  state.running = gate.limit().in_flight();
  state.queued = static_cast<std::int64_t>(gate.line().depth());
}

void add(http::ClientMetrics& sum, const http::ClientMetrics& one) {
  using http::ClientMetrics;
  const auto plus = [](ClientMetrics::Count& to, const ClientMetrics::Count& from) {
    ClientMetrics::add(to, from.load(std::memory_order_relaxed));
  };
  plus(sum.connections, one.connections);
  plus(sum.idle, one.idle);
  plus(sum.held, one.held);
  plus(sum.waiting, one.waiting);
  plus(sum.opened, one.opened);
  plus(sum.refused, one.refused);
  for (std::size_t i = 0; i < sum.closed.size(); ++i) {
    plus(sum.closed[i], one.closed[i]);
    plus(sum.failed_dials[i], one.failed_dials[i]);
  }
}

// Of the route, whichever of its clusters has them.
void write_client_rates(const RouteState& route, observe::Exposition& out) {
  const observe::Labels labels{{"route", route.name.substr(0, route.name.find(kSplitMark))}};
  out.gauge("damper_proxy_rated_clients", "Clients whose rate is tracked.", labels,
            static_cast<double>(route.clients));
  out.gauge("damper_proxy_max_rated_clients", "Clients whose rate is tracked at most.", labels,
            static_cast<double>(route.max_clients));
  out.counter("damper_proxy_client_rate_refused_total",
              "Requests that were refused because of their client's rate.", labels,
              route.client_refused);
  out.counter("damper_proxy_client_rate_untracked_total",
              "Requests that were admitted because no more clients could be tracked.", labels,
              route.client_untracked);
}

void write_checks(const SharedCluster& cluster, const ClusterConfig& config,
                  observe::Exposition& out) {
  if (!config.health_check) return;
  const ClusterHealth& health = *cluster.health();
  out.gauge("damper_health_checks_ignored",
            "1 while too few replicas pass their checks to use the verdicts.",
            {{"cluster", cluster.name()}}, health.is_ignored() ? 1 : 0);
  for (std::size_t i = 0; i < kProbeOutcomeNames.size(); ++i) {
    out.counter("damper_health_checks_total", "Probes of active health checks, by outcome.",
                {{"cluster", cluster.name()}, {"outcome", std::string(kProbeOutcomeNames[i])}},
                health.probes(static_cast<ProbeOutcome>(i)));
  }
}

void write_cluster(const ClusterState& cluster, observe::Exposition& out) {
  const observe::Labels labels{{"cluster", cluster.name}};
  out.gauge("damper_cluster_retry_budget_balance", "Retries that the cluster's budget allows now.",
            labels, cluster.budget.balance);
  out.gauge("damper_cluster_retry_budget_fill_ratio",
            "The share of the retries earned by the cluster that is left.", labels,
            cluster.budget.fill);
  out.gauge("damper_cluster_addresses_left_out",
            "Addresses of the cluster that are over the bound of replicas.", labels,
            static_cast<double>(cluster.left_out));
  if (cluster.has_zones) {
    for (const bool own : {true, false}) {
      out.counter("damper_zone_picks_total", "Attempts on replicas in the proxy's zone, in others.",
                  {{"cluster", cluster.name}, {"zone", own ? "own" : "other"}},
                  own ? cluster.own_zone_picks : cluster.other_zone_picks);
    }
  }
  for (const ReplicaState& replica : cluster.replicas) {
    const observe::Labels both{{"cluster", cluster.name}, {"replica", replica.endpoint}};
    out.gauge("damper_replica_ejected", "On how many loops the replica is not asked.", both,
              replica.ejected_on);
    out.gauge("damper_replica_outstanding", "Attempts that are under way.", both,
              replica.outstanding);
    out.gauge("damper_replica_latency_seconds", "Moving average of the time to an answer's head.",
              both, std::chrono::duration<double>(replica.latency).count());
    if (replica.health.empty()) continue;
    out.gauge("damper_replica_healthy", "0 if active checks of the replica fail.", both,
              replica.health == kHealthStateNames[HealthState::unhealthy] ? 0 : 1);
  }
}

}  // namespace

void add_replica(ClusterState& sum, const ReplicaState& one) {
  const auto found =
      std::find_if(sum.replicas.begin(), sum.replicas.end(),
                   [&](const ReplicaState& known) { return known.endpoint == one.endpoint; });
  if (found == sum.replicas.end()) return sum.replicas.push_back(one);
  found->outstanding += one.outstanding;
  found->ejected_on += one.ejected_on;
  found->latency += one.latency;
  found->connections += one.connections;
  found->idle += one.idle;
  found->waiting += one.waiting;
}

ProxyState view_of(const ProxyGeneration& generation, const admit::RetryBudget& process,
                   Instant now) {
  ProxyState state;
  state.loops = generation.loops;
  state.kept_bytes = generation.kept->now();
  state.max_kept_bytes = generation.kept->limit();
  state.kept_bytes_refused = generation.kept->refused();
  state.budget = view_of(process, now);
  for (std::size_t i = 0; i < generation.listeners.size(); ++i) {
    const ListenerConfig& config = generation.config->listeners[i];
    state.listeners.push_back({.name = config.name,
                               .address = config.address,
                               .port = generation.listeners[i].sockets->port(),
                               .tls = config.tls.has_value(),
                               .connections = generation.listeners[i].quota->taken(),
                               .max_connections = generation.listeners[i].quota->limit()});
    if (const auto& clients = generation.listeners[i].clients; clients != nullptr) {
      state.listeners.back().clients = clients->clients();
      state.listeners.back().max_per_client = clients->limit();
    }
  }
  for (const auto& cluster : generation.clusters) {
    ClusterState one;
    one.name = cluster->name();
    one.budget = view_of(cluster->budget(), now);
    one.has_checks = generation.config->clusters[state.clusters.size()].health_check.has_value();
    one.checks_ignored = one.has_checks && cluster->health()->is_ignored();
    state.clusters.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < generation.routes.size(); ++i) {
    RouteState& route = state.routes.emplace_back(view_of(*generation.routes[i], now));
    const auto& weights = generation.route_configs[i]->weighted_clusters;
    const auto weight = std::find_if(weights.begin(), weights.end(), [&](const ClusterWeight& one) {
      return one.cluster == route.cluster;
    });
    route.has_weight = weight != weights.end();
    if (route.has_weight) route.weight = weight->weight;
    if (generation.gates[i] != nullptr) view_gate(*generation.gates[i], route);
    // The clusters of a route share one, which is counted once.
    const bool is_first = i == 0 || generation.route_configs[i - 1] != generation.route_configs[i];
    const http::ClientRates* const rates = generation.client_rates[i].get();
    if (rates != nullptr && is_first) {
      route.has_client_rates = true;
      route.clients = rates->tracked(now);
      route.max_clients = rates->max_clients();
      route.client_refused = rates->refused();
      route.client_untracked = rates->untracked();
    }
  }
  state.scopes = scopes_of(generation, now);
  state.forced = forced_of(generation, now);
  return state;
}

std::vector<ForcedBreaker> forced_of(const ProxyGeneration& generation, Instant now) {
  std::vector<ForcedBreaker> all;
  for (const auto& route : generation.routes) {
    engine::Dependency& dependency = route->dependency();
    if (!dependency.terms().has_breaker) continue;
    admit::BreakerForceStatus status = dependency.breaker().forced(now);
    if (status.force == admit::BreakerForce::none) continue;
    all.push_back({.scope = SwitchScope::route(dependency.name()),
                   .replica = {},
                   .status = std::move(status),
                   .has_own = true});
  }
  for (const auto& cluster : generation.clusters) {
    for (const auto& [replica, held] : cluster->forced()->all()) {
      if (held.until <= now) continue;
      all.push_back(
          {.scope = SwitchScope::cluster(cluster->name()),
           .replica = replica,
           .status = {
               .force = held.force, .remaining = between(now, held.until), .reason = held.reason}});
    }
  }
  return all;
}

std::vector<ScopeState> scopes_of(const ProxyGeneration& generation, Instant now) {
  std::vector<ScopeState> scopes;
  scopes.push_back(view_of({}, damper::switches(), now));
  for (const auto& cluster : generation.clusters) {
    scopes.push_back(view_of(SwitchScope::cluster(cluster->name()), cluster->switches(), now));
  }
  for (const auto& route : generation.routes) {
    scopes.push_back(view_of(SwitchScope::route(route->dependency().name()),
                             route->dependency().switches(), now));
  }
  return scopes;
}

void add_loop(ProxyState& sum, const ProxyState& loop) {
  ++sum.answered;
  sum.requests_under_way += loop.requests_under_way;
  sum.access_log_lines += loop.access_log_lines;
  sum.access_log_dropped += loop.access_log_dropped;
  sum.access_log_suppressed += loop.access_log_suppressed;
  if (loop.clusters.size() != sum.clusters.size()) return;
  for (std::size_t i = 0; i < sum.clusters.size(); ++i) {
    if (sum.clusters[i].name != loop.clusters[i].name) continue;
    sum.clusters[i].left_out = std::max(sum.clusters[i].left_out, loop.clusters[i].left_out);
    sum.clusters[i].has_zones |= loop.clusters[i].has_zones;
    sum.clusters[i].own_zone_picks += loop.clusters[i].own_zone_picks;
    sum.clusters[i].other_zone_picks += loop.clusters[i].other_zone_picks;
    for (const ReplicaState& one : loop.clusters[i].replicas) add_replica(sum.clusters[i], one);
  }
}

void write_metrics(const ProxyGeneration& generation, const ProxyState& state,
                   const std::vector<LoopMetrics>& loops, Instant now, observe::Exposition& out) {
  out.gauge("damper_proxy_loops", "Event loops, each on a thread of its own.", {}, state.loops);
  out.gauge("damper_proxy_config_version", "How many configurations there have been.", {},
            static_cast<double>(state.version));
  out.gauge("damper_proxy_draining", "1 since the signal to stop.", {}, state.draining ? 1 : 0);
  out.gauge("damper_proxy_requests_under_way", "Requests that are under way.", {},
            static_cast<double>(state.requests_under_way));
  out.gauge("damper_proxy_kept_bytes", "Bytes of heads and bodies that are kept in memory.", {},
            static_cast<double>(state.kept_bytes));
  out.gauge("damper_proxy_max_kept_bytes", "Bytes of heads and bodies that are kept at most.", {},
            static_cast<double>(state.max_kept_bytes));
  out.counter("damper_proxy_kept_bytes_refused_total",
              "How often there was no room to keep more bytes.", {}, state.kept_bytes_refused);
  out.counter("damper_proxy_access_log_lines_total", "Lines of the access log.", {},
              state.access_log_lines);
  out.counter("damper_proxy_access_log_dropped_total",
              "Lines of the access log dropped because its output was too slow.", {},
              state.access_log_dropped);
  out.counter("damper_proxy_access_log_suppressed_total",
              "Connections that ended without a protocol and have no line in the access log.", {},
              state.access_log_suppressed);
  out.gauge("damper_process_retry_budget_balance", "Retries that the process's budget allows now.",
            {}, state.budget.balance);
  out.gauge("damper_process_retry_budget_fill_ratio",
            "The share of the retries earned by the process that is left.", {}, state.budget.fill);
  for (const auto& route : generation.routes) {
    observe::write_metrics(route->dependency(), now, out);
  }
  for (const ListenerState& listener : state.listeners) {
    out.gauge("damper_proxy_max_connections",
              "Connections that the listener has at most, on all loops together.",
              {{"server", listener.name}}, static_cast<double>(listener.max_connections));
    if (listener.max_per_client == 0) continue;
    out.gauge("damper_proxy_max_connections_per_client",
              "Connections that one client has at most, on all loops together.",
              {{"server", listener.name}}, static_cast<double>(listener.max_per_client));
    out.gauge("damper_proxy_connected_clients", "Clients that have connections.",
              {{"server", listener.name}}, static_cast<double>(listener.clients));
  }
  for (const RouteState& route : state.routes) {
    const observe::Labels labels{{"route", route.name}};
    out.gauge("damper_proxy_tunnels", "Upgraded requests and CONNECTs, over all loops.", labels,
              static_cast<double>(route.tunnels));
    out.gauge("damper_proxy_max_tunnels", "Tunnels that the route has at most, over all loops.",
              labels, static_cast<double>(route.max_tunnels));
    out.counter("damper_proxy_tunnels_refused_total",
                "Requests for a tunnel that were refused because of max_tunnels.", labels,
                route.refused_tunnels);
    if (route.has_client_rates) write_client_rates(route, out);
    if (route.has_weight) {
      out.gauge("damper_proxy_cluster_weight", "Weight of one of the weighted_clusters.",
                {{"route", route.name}, {"cluster", route.cluster}}, route.weight);
    }
    if (!route.has_gate) continue;
    out.gauge("damper_proxy_gate_limit", "Concurrency limit, over all loops.", labels,
              route.gate_limit);
    out.gauge("damper_proxy_gate_queued", "Requests in the queue.", labels,
              static_cast<double>(route.queued));
    out.gauge("damper_proxy_gate_running", "Requests that run.", labels,
              static_cast<double>(route.running));
  }
  for (const ForcedBreaker& forced : state.forced) {
    if (forced.replica.empty()) continue;  // A route's is among those of the dependency.
    out.gauge("damper_replica_forced", "1 while an operator holds the replica's breaker so.",
              {{"cluster", forced.scope.name},
               {"replica", forced.replica},
               {"state", std::string(admit::name(forced.status.force))}},
              1);
  }
  for (std::size_t i = 0; i < generation.clusters.size(); ++i) {
    write_checks(*generation.clusters[i], generation.config->clusters[i], out);
  }
  for (const ClusterState& cluster : state.clusters) {
    write_cluster(cluster, out);
    http::ClientMetrics sum;
    for (const LoopMetrics& loop : loops) {
      if (const auto found = loop.find(cluster.name); found != loop.end()) {
        add(sum, *found->second);
      }
    }
    sum.write(cluster.name, out);
  }
}

}  // namespace damper::proxy
