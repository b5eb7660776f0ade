// The reading half.
#include "damper/proxy/admin/state_json.h"

#include <algorithm>
#include <charconv>
#include <concepts>

#include "damper/observe/json_reader.h"

namespace damper::proxy {
namespace {

using observe::JsonValue;

constexpr observe::JsonLimits kLimits{
    .bytes = std::size_t{8} * 1024 * 1024, .depth = 8, .values = 1'000'000};

// The readers of one field; what is missing, or is something else than it should be, changes
// nothing.
void read(const JsonValue& from, bool& to) { to = from.as_boolean().value_or(to); }
void read(const JsonValue& from, std::string& to) {
  if (const auto text = from.as_string()) to = *text;
}
void read(const JsonValue& from, double& to) { to = from.as_number().value_or(to); }
template <std::integral Integer>
void read(const JsonValue& from, Integer& to) {
  if (from.kind != JsonValue::Kind::number) return;
  const char* const last = from.text.data() + from.text.size();
  Integer number = 0;
  const auto [end, failed] = std::from_chars(from.text.data(), last, number);
  if (failed == std::errc{} && end == last) to = number;
}
// Seconds.
void read(const JsonValue& from, Duration& to) {
  if (from.kind == JsonValue::Kind::null) {
    to = kForever;
    return;
  }
  constexpr double kMost = 9e9;  // Nanoseconds in 63 bits.
  double seconds = 0;
  read(from, seconds);
  to = std::chrono::round<Duration>(
      std::chrono::duration<double>(std::clamp(seconds, -kMost, kMost)));
}

void read(const JsonValue& from, BudgetState& to);
void read(const JsonValue& from, engine::Tally& to);
void read(const JsonValue& from, admit::SwitchStatus& to);

template <class To>
void read(const JsonValue& from, std::string_view key, To& to) {
  if (const JsonValue* value = from.find(key)) read(*value, to);
}

// Each object of a list.
template <class To, class Read>
void read_list(const JsonValue& from, std::string_view key, std::vector<To>& to,
               const Read& read_one) {
  const JsonValue* const list = from.find(key);
  if (list == nullptr) return;
  for (const JsonValue& item : list->items) {
    if (item.kind == JsonValue::Kind::object) to.push_back(read_one(item));
  }
}

template <class Counts, class Names>
void read_counts(const JsonValue& from, std::string_view key, Counts& counts, const Names& names) {
  const JsonValue* const object = from.find(key);
  if (object == nullptr) return;
  for (std::size_t i = 0; i < counts.size(); ++i) read(*object, names[i], counts[i]);
}

void read(const JsonValue& from, BudgetState& to) {
  read(from, "balance", to.balance);
  read(from, "fill", to.fill);
}

void read(const JsonValue& from, engine::Tally& to) {
  read(from, "started", to.started);
  read(from, "finished", to.finished);
  read_counts(from, "verdicts", to.verdicts, kVerdictNames);
  read(from, "attempts", to.attempts);
  read_counts(from, "retries", to.retries, decide::kOutcomeNames);
  read(from, "hedges", to.hedges);
  read(from, "hedges_won", to.hedges_won);
  read(from, "hedges_suppressed", to.hedges_suppressed);
  read(from, "budget_refusals", to.budget_refusals);
}

ListenerState read_listener(const JsonValue& from) {
  ListenerState to;
  read(from, "name", to.name);
  read(from, "address", to.address);
  read(from, "port", to.port);
  read(from, "tls", to.tls);
  read(from, "connections", to.connections);
  return to;
}

ReplicaState read_replica(const JsonValue& from) {
  ReplicaState to;
  read(from, "endpoint", to.endpoint);
  read(from, "outstanding", to.outstanding);
  read(from, "ejected_on", to.ejected_on);
  read(from, "latency_seconds", to.latency);
  read(from, "connections", to.connections);
  read(from, "idle", to.idle);
  read(from, "waiting", to.waiting);
  return to;
}

ClusterState read_cluster(const JsonValue& from) {
  ClusterState to;
  read(from, "name", to.name);
  read(from, "budget", to.budget);
  read_list(from, "replicas", to.replicas, read_replica);
  read(from, "left_out", to.left_out);
  return to;
}

RouteState read_route(const JsonValue& from) {
  RouteState to;
  read(from, "name", to.name);
  read(from, "cluster", to.cluster);
  read(from, "calls", to.tally);
  read(from, "budget", to.budget);
  std::string breaker;
  read(from, "breaker", breaker);
  const auto* const state =
      std::find(admit::kBreakerStateNames.begin(), admit::kBreakerStateNames.end(), breaker);
  to.has_breaker = state != admit::kBreakerStateNames.end();
  if (to.has_breaker) {
    to.breaker = static_cast<admit::BreakerState>(state - admit::kBreakerStateNames.begin());
  }
  const JsonValue* const limit = from.find("limit");
  to.has_limit = limit != nullptr && limit->kind == JsonValue::Kind::number;
  read(from, "limit", to.limit);
  read(from, "in_flight", to.in_flight);
  read(from, "throttle", to.throttle);
  read(from, "queued", to.queued);
  read(from, "running", to.running);
  read(from, "p50_seconds", to.p50);
  read(from, "p99_seconds", to.p99);
  return to;
}

void read(const JsonValue& from, admit::SwitchStatus& to) {
  read(from, "off", to.off);
  read(from, "reason", to.reason);
  read(from, "remaining_seconds", to.remaining);
}

ScopeState read_scope(const JsonValue& from) {
  ScopeState to;
  read(from, "scope", to.scope);
  for (std::size_t i = 0; i < to.switches.size(); ++i) {
    read(from, admit::kSwitchNames[i], to.switches[i]);
  }
  return to;
}

}  // namespace

Expected<ProxyState, std::string> parse_state(std::string_view text) {
  const auto from = observe::read_json(text, kLimits);
  if (!from || from->find("version") == nullptr || from->find("routes") == nullptr) {
    return unexpected(std::string("this is no state of a proxy"));
  }
  ProxyState to;
  read(*from, "version", to.version);
  read(*from, "loops", to.loops);
  to.answered = to.loops;
  read(*from, "loops_answered", to.answered);
  read(*from, "up_seconds", to.up);
  read(*from, "draining", to.draining);
  read(*from, "requests_under_way", to.requests_under_way);
  read(*from, "budget", to.budget);
  read_list(*from, "listeners", to.listeners, read_listener);
  read_list(*from, "clusters", to.clusters, read_cluster);
  read_list(*from, "routes", to.routes, read_route);
  read_list(*from, "switches", to.scopes, read_scope);
  return to;
}

Expected<std::vector<ScopeState>, std::string> parse_switches(std::string_view text) {
  const auto from = observe::read_json(text, kLimits);
  if (!from || from->find("switches") == nullptr) {
    return unexpected(std::string("these are no switches of a proxy"));
  }
  std::vector<ScopeState> to;
  read_list(*from, "switches", to, read_scope);
  return to;
}

}  // namespace damper::proxy
