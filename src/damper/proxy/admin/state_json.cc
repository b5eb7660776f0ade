#include "damper/proxy/admin/state_json.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <sstream>
#include <type_traits>

#include "damper/base/text/json_reader.h"
#include "damper/base/text/json_writer.h"
#include "damper/base/text/words.h"

namespace damper::proxy {
namespace {

using text::JsonValue;

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
  visit("health", replica.health);
  visit("health_reason", replica.health_reason);
  visit("zone", replica.zone);
}

void visit_fields(PartOf<ClusterState> auto& cluster, auto& visit) {
  visit("name", cluster.name);
  visit("budget", cluster.budget);
  visit("replicas", cluster.replicas);
  visit("left_out", cluster.left_out);
  visit("own_zone_picks", Maybe{cluster.has_zones, cluster.own_zone_picks});
  visit("other_zone_picks", Maybe{cluster.has_zones, cluster.other_zone_picks});
  visit("health_checks_ignored", Maybe{cluster.has_checks, cluster.checks_ignored});
}

void visit_fields(PartOf<NameState> auto& name, auto& visit) {
  visit("name", name.name);
  visit("addresses", name.addresses);
  visit("count", name.count);
  visit("age_seconds", name.age);
  visit("failures", name.failures);
  visit("reason", name.reason);
}

void visit_fields(PartOf<RouteState> auto& route, auto& visit) {
  visit("name", route.name);
  visit("cluster", route.cluster);
  visit("weight", Maybe{route.has_weight, route.weight});
  visit("calls", route.tally);
  visit("budget", route.budget);
  visit("breaker", Maybe{route.has_breaker, route.breaker});
  visit("limit", Maybe{route.has_limit, route.limit});
  visit("in_flight", route.in_flight);
  visit("throttle", route.throttle);
  visit("gate_limit", Maybe{route.has_gate, route.gate_limit});
  visit("queued", route.queued);
  visit("running", route.running);
  visit("tunnels", route.tunnels);
  visit("max_tunnels", route.max_tunnels);
  visit("refused_tunnels", route.refused_tunnels);
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

void visit_fields(PartOf<ForcedBreaker> auto& forced, auto& visit) {
  visit("scope", forced.scope);
  visit("replica", forced.replica);
  visit("force", forced.status.force);
  visit("reason", forced.status.reason);
  visit("remaining_seconds", forced.status.remaining);
  visit("own_state", Maybe{forced.has_own, forced.status.own});
}

void visit_fields(PartOf<ProxyState> auto& state, auto& visit) {
  visit("version", state.version);
  visit("loops", state.loops);
  visit("loops_answered", state.answered);
  visit("up_seconds", state.up);
  visit("draining", state.draining);
  visit("requests_under_way", state.requests_under_way);
  visit("kept_bytes", state.kept_bytes);
  visit("max_kept_bytes", state.max_kept_bytes);
  visit("kept_bytes_refused", state.kept_bytes_refused);
  visit("budget", state.budget);
  visit("listeners", state.listeners);
  visit("clusters", state.clusters);
  visit("routes", state.routes);
  visit("names", state.names);
  visit("switches", state.scopes);
  visit("forced_breakers", state.forced);
}

class Writer {
 public:
  explicit Writer(text::JsonWriter& json) : json_(json) {}

  void operator()(std::string_view key, const std::string& text) { json_.field(key, text); }
  template <class Number>
    requires std::is_arithmetic_v<Number>  // or a truth
  void operator()(std::string_view key, Number number) {
    json_.field(key, number);
  }
  void operator()(std::string_view key, Duration length) {
    if (length == kForever) return json_.field(key, nullptr);
    json_.field(key, std::chrono::duration<double>(length).count());
  }
  void operator()(std::string_view key, const SwitchScope& scope) {
    json_.field(key, scope.text());
  }
  void operator()(std::string_view key, admit::BreakerState state) {
    json_.field(key, admit::name(state));
  }
  void operator()(std::string_view key, admit::BreakerForce force) {
    json_.field(key, admit::name(force));
  }
  template <class Has, class Value>
  void operator()(std::string_view key, Maybe<Has, Value> maybe) {
    if (!maybe.has) return json_.field(key, nullptr);
    (*this)(key, maybe.value);
  }
  template <class Counts, class Names>
  void operator()(std::string_view key, NamedCounts<Counts, Names> named) {
    json_.open('{', key);
    for (std::size_t i = 0; i < named.counts.size(); ++i) {
      if (named.counts[i] != 0) json_.field(named.names[i], named.counts[i]);
    }
    json_.close('}');
  }
  template <class Part>
  void operator()(std::string_view key, const std::vector<Part>& list) {
    json_.open('[', key);
    for (const Part& part : list) (*this)({}, part);
    json_.close(']');
  }
  template <class Part>
    requires std::is_class_v<Part>
  void operator()(std::string_view key, const Part& part) {
    json_.open('{', key);
    visit_fields(part, *this);
    json_.close('}');
  }

 private:
  text::JsonWriter& json_;
};

constexpr text::JsonLimits kLimits{
    .bytes = std::size_t{8} * 1024 * 1024, .depth = 8, .values = 1'000'000};

// A field that is missing or has another type is left as it is.
class Reader {
 public:
  explicit Reader(const JsonValue& from) : from_(from) {}

  template <class Field>
  void operator()(std::string_view key, Field&& to) {
    if (const JsonValue* value = from_.find(key)) read(*value, to);
  }

 private:
  static void read(const JsonValue& from, bool& to) { to = from.as_boolean().value_or(to); }
  static void read(const JsonValue& from, std::string& to) {
    if (const auto text = from.as_string()) to = *text;
  }
  static void read(const JsonValue& from, double& to) { to = from.as_number().value_or(to); }
  template <std::integral Integer>
  static void read(const JsonValue& from, Integer& to) {
    if (from.kind == JsonValue::Kind::number)
      to = text::find_number<Integer>(from.text).value_or(to);
  }
  // Seconds.
  static void read(const JsonValue& from, Duration& to) {
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
  static void read(const JsonValue& from, SwitchScope& to) {
    if (auto scope = parse_scope(from.as_string().value_or(""))) to = *std::move(scope);
  }
  static void read(const JsonValue& from, admit::BreakerForce& to) {
    to = admit::kBreakerForceNames.find(from.as_string().value_or("")).value_or(to);
  }
  static void read(const JsonValue& from, Maybe<bool, admit::BreakerState>& to) {
    const auto& names = admit::kBreakerStateNames;
    const auto* const state = std::find(names.begin(), names.end(), from.as_string());
    to.has = state != names.end();
    if (to.has) to.value = static_cast<admit::BreakerState>(state - names.begin());
  }
  static void read(const JsonValue& from, Maybe<bool, bool>& to) {
    to.has = from.as_boolean().has_value();
    read(from, to.value);
  }
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  static void read(const JsonValue& from, Maybe<bool, Integer>& to) {
    to.has = from.kind == JsonValue::Kind::number;
    read(from, to.value);
  }
  template <class Counts, class Names>
  static void read(const JsonValue& from, NamedCounts<Counts, Names>& to) {
    Reader reader(from);
    for (std::size_t i = 0; i < to.counts.size(); ++i) reader(to.names[i], to.counts[i]);
  }
  template <class Part>
  static void read(const JsonValue& from, std::vector<Part>& to) {
    for (const JsonValue& item : from.items) {
      if (item.kind == JsonValue::Kind::object) read(item, to.emplace_back());
    }
  }
  template <class Part>
    requires std::is_class_v<Part>
  static void read(const JsonValue& from, Part& to) {
    Reader reader(from);
    visit_fields(to, reader);
  }

  const JsonValue& from_;
};

}  // namespace

std::string state_json(const ProxyState& state) {
  std::ostringstream out;
  text::JsonWriter json(out);
  Writer{json}({}, state);
  return out.str();
}

std::string switches_json(const std::vector<ScopeState>& scopes) {
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  Writer{json}("switches", scopes);
  json.close('}');
  return out.str();
}

std::string forced_json(const std::vector<ForcedBreaker>& forced) {
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  Writer{json}("forced_breakers", forced);
  json.close('}');
  return out.str();
}

Expected<ProxyState, std::string> parse_state(std::string_view text) {
  const auto from = text::read_json(text, kLimits);
  if (!from || from->find("version") == nullptr || from->find("routes") == nullptr) {
    return unexpected(std::string("this is no state of a proxy"));
  }
  ProxyState to;
  Reader reader(*from);
  visit_fields(to, reader);
  if (from->find("loops_answered") == nullptr) to.answered = to.loops;  // An older proxy.
  return to;
}

Expected<std::vector<ScopeState>, std::string> parse_switches(std::string_view text) {
  const auto from = text::read_json(text, kLimits);
  if (!from || from->find("switches") == nullptr) {
    return unexpected(std::string("these are no switches of a proxy"));
  }
  std::vector<ScopeState> to;
  Reader{*from}("switches", to);
  return to;
}

}  // namespace damper::proxy
