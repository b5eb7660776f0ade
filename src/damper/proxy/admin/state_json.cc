#include "damper/proxy/admin/state_json.h"

#include <sstream>

#include "damper/observe/json_writer.h"

namespace damper::proxy {
namespace {

using observe::JsonWriter;

void write_seconds(JsonWriter& json, std::string_view key, Duration length) {
  if (length == kForever) return json.field(key, nullptr);
  json.field(key, std::chrono::duration<double>(length).count());
}

void write_budget(JsonWriter& json, const BudgetState& budget) {
  json.open('{', "budget");
  json.field("balance", budget.balance);
  json.field("fill", budget.fill);
  json.close('}');
}

template <class Counts, class Names>
void write_counts(JsonWriter& json, std::string_view key, const Counts& counts,
                  const Names& names) {
  json.open('{', key);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) json.field(names[i], counts[i]);
  }
  json.close('}');
}

void write(JsonWriter& json, const ListenerState& listener) {
  json.open('{');
  json.field("name", listener.name);
  json.field("address", listener.address);
  json.field("port", listener.port);
  json.field("tls", listener.tls);
  json.field("connections", listener.connections);
  json.close('}');
}

void write(JsonWriter& json, const ReplicaState& replica) {
  json.open('{');
  json.field("endpoint", replica.endpoint);
  json.field("outstanding", replica.outstanding);
  json.field("ejected_on", replica.ejected_on);
  write_seconds(json, "latency_seconds", replica.latency);
  json.field("connections", replica.connections);
  json.field("idle", replica.idle);
  json.field("waiting", replica.waiting);
  json.close('}');
}

void write(JsonWriter& json, const ClusterState& cluster) {
  json.open('{');
  json.field("name", cluster.name);
  write_budget(json, cluster.budget);
  json.open('[', "replicas");
  for (const ReplicaState& replica : cluster.replicas) write(json, replica);
  json.close(']');
  json.field("left_out", cluster.left_out);
  json.close('}');
}

void write_tally(JsonWriter& json, const engine::Tally& tally) {
  json.open('{', "calls");
  json.field("started", tally.started);
  json.field("finished", tally.finished);
  write_counts(json, "verdicts", tally.verdicts, kVerdictNames);
  json.field("attempts", tally.attempts);
  write_counts(json, "retries", tally.retries, decide::kOutcomeNames);
  json.field("hedges", tally.hedges);
  json.field("hedges_won", tally.hedges_won);
  json.field("hedges_suppressed", tally.hedges_suppressed);
  json.field("budget_refusals", tally.budget_refusals);
  json.close('}');
}

void write(JsonWriter& json, const RouteState& route) {
  json.open('{');
  json.field("name", route.name);
  json.field("cluster", route.cluster);
  write_tally(json, route.tally);
  write_budget(json, route.budget);
  if (route.has_breaker) {
    json.field("breaker", admit::name(route.breaker));
  } else {
    json.field("breaker", nullptr);
  }
  if (route.has_limit) {
    json.field("limit", route.limit);
  } else {
    json.field("limit", nullptr);
  }
  json.field("in_flight", route.in_flight);
  json.field("throttle", route.throttle);
  json.field("queued", route.queued);
  json.field("running", route.running);
  write_seconds(json, "p50_seconds", route.p50);
  write_seconds(json, "p99_seconds", route.p99);
  json.close('}');
}

void write(JsonWriter& json, const ScopeState& scope) {
  json.open('{');
  json.field("scope", scope.scope);
  for (std::size_t i = 0; i < scope.switches.size(); ++i) {
    const admit::SwitchStatus& status = scope.switches[i];
    json.open('{', admit::kSwitchNames[i]);
    json.field("off", status.off);
    if (status.off) {
      json.field("reason", status.reason);
      write_seconds(json, "remaining_seconds", status.remaining);
    }
    json.close('}');
  }
  json.close('}');
}

template <class List>
void write_list(JsonWriter& json, std::string_view key, const List& list) {
  json.open('[', key);
  for (const auto& item : list) write(json, item);
  json.close(']');
}

}  // namespace

std::string state_json(const ProxyState& state) {
  std::ostringstream out;
  JsonWriter json(out);
  json.open('{');
  json.field("version", state.version);
  json.field("loops", state.loops);
  json.field("loops_answered", state.answered);
  write_seconds(json, "up_seconds", state.up);
  json.field("draining", state.draining);
  json.field("requests_under_way", state.requests_under_way);
  write_budget(json, state.budget);
  write_list(json, "listeners", state.listeners);
  write_list(json, "clusters", state.clusters);
  write_list(json, "routes", state.routes);
  write_list(json, "switches", state.scopes);
  json.close('}');
  return out.str();
}

std::string switches_json(const std::vector<ScopeState>& scopes) {
  std::ostringstream out;
  JsonWriter json(out);
  json.open('{');
  write_list(json, "switches", scopes);
  json.close('}');
  return out.str();
}

}  // namespace damper::proxy
