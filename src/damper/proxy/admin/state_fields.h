#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "damper/proxy/data/proxy_state.h"

namespace damper::proxy {

// The names that the parts of a ProxyState have in JSON, each said once: the writer and the reader
// of state_json.h visit the same fields.
//
// Model: visit_fields(part, visitor) calls visitor(key, field) for each field, in their order. A
// part that is written is const; one that is read is filled in that order, so that a field may
// depend on one before it. A visitor takes text, numbers, truths, Durations (in seconds, as the key
// says), parts, lists of parts, and these two:

// What is there only if `has`; else it is null.
template <class Has, class Value>
struct Maybe {
  Has& has;
  Value& value;
};
template <class Has, class Value>
Maybe(Has&, Value&) -> Maybe<Has, Value>;
// Counts by name; those of nothing are left out.
template <class Counts, class Names>
struct NamedCounts {
  Counts& counts;
  const Names& names;
};
template <class Counts, class Names>
NamedCounts(Counts&, const Names&) -> NamedCounts<Counts, Names>;

template <class Part, class State>
concept PartOf = std::same_as<std::remove_const_t<Part>, State>;

void visit_fields(PartOf<BudgetState> auto& budget, auto& visit) {
  visit("balance", budget.balance);
  visit("fill", budget.fill);
}

void visit_fields(PartOf<engine::Tally> auto& tally, auto& visit) {
  visit("started", tally.started);
  visit("finished", tally.finished);
  visit("verdicts", NamedCounts{tally.verdicts, kVerdictNames});
  visit("attempts", tally.attempts);
  visit("retries", NamedCounts{tally.retries, decide::kOutcomeNames});
  visit("hedges", tally.hedges);
  visit("hedges_won", tally.hedges_won);
  visit("hedges_suppressed", tally.hedges_suppressed);
  visit("budget_refusals", tally.budget_refusals);
}

void visit_fields(PartOf<ListenerState> auto& listener, auto& visit) {
  visit("name", listener.name);
  visit("address", listener.address);
  visit("port", listener.port);
  visit("tls", listener.tls);
  visit("connections", listener.connections);
  visit("max_connections", listener.max_connections);
}

void visit_fields(PartOf<ReplicaState> auto& replica, auto& visit) {
  visit("endpoint", replica.endpoint);
  visit("outstanding", replica.outstanding);
  visit("ejected_on", replica.ejected_on);
  visit("latency_seconds", replica.latency);
  visit("connections", replica.connections);
  visit("idle", replica.idle);
  visit("waiting", replica.waiting);
}

void visit_fields(PartOf<ClusterState> auto& cluster, auto& visit) {
  visit("name", cluster.name);
  visit("budget", cluster.budget);
  visit("replicas", cluster.replicas);
  visit("left_out", cluster.left_out);
}

void visit_fields(PartOf<RouteState> auto& route, auto& visit) {
  visit("name", route.name);
  visit("cluster", route.cluster);
  visit("calls", route.tally);
  visit("budget", route.budget);
  visit("breaker", Maybe{route.has_breaker, route.breaker});
  visit("limit", Maybe{route.has_limit, route.limit});
  visit("in_flight", route.in_flight);
  visit("throttle", route.throttle);
  visit("gate_limit", Maybe{route.has_gate, route.gate_limit});
  visit("queued", route.queued);
  visit("running", route.running);
  visit("p50_seconds", route.p50);
  visit("p99_seconds", route.p99);
}

void visit_fields(PartOf<admit::SwitchStatus> auto& status, auto& visit) {
  visit("off", status.off);
  if (!status.off) return;
  visit("reason", status.reason);
  visit("remaining_seconds", status.remaining);
}

void visit_fields(PartOf<ScopeState> auto& scope, auto& visit) {
  visit("scope", scope.scope);
  for (std::size_t i = 0; i < scope.switches.size(); ++i) {
    visit(admit::kSwitchNames[i], scope.switches[i]);
  }
}

void visit_fields(PartOf<ProxyState> auto& state, auto& visit) {
  visit("version", state.version);
  visit("loops", state.loops);
  visit("loops_answered", state.answered);
  visit("up_seconds", state.up);
  visit("draining", state.draining);
  visit("requests_under_way", state.requests_under_way);
  visit("budget", state.budget);
  visit("listeners", state.listeners);
  visit("clusters", state.clusters);
  visit("routes", state.routes);
  visit("switches", state.scopes);
}

}  // namespace damper::proxy
