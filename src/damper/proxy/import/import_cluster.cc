#include "damper/proxy/import/import_cluster.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "damper/base/percent.h"
#include "damper/base/text/words.h"
#include "damper/policy/file/schema.h"
#include "damper/policy/import/import_envoy_terms.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/import/field_table.h"
#include "damper/proxy/import/import_tls.h"

namespace damper::proxy {
namespace {

using config::Tree;
using policy::Fields;
using policy::ImportNotes;
using policy::Placed;
using namespace std::chrono_literals;

constexpr std::array<FieldRow, 5> kClusterRows = {{
    {"per_connection_buffer_limit_bytes", "per_connection_buffer_limit_bytes", As::integer},
    {"dns_refresh_rate", "dns_refresh_rate", As::duration},
    {"respect_dns_ttl", "respect_dns_ttl", As::text},
    {"dns_min_refresh_rate", "dns_min_refresh_rate", As::duration},
    {"connect_timeout", "connect_timeout", As::duration},
}};
constexpr std::array<FieldRow, 4> kCommonRows = {{
    {"idle_timeout", "idle_timeout", As::limit},
    {"max_connection_duration", "max_connection_duration", As::limit},
    {"max_headers_count", "max_headers_count", As::integer},
    {"max_response_headers_kb", "max_response_headers", As::kibibytes},
}};
constexpr std::array<FieldRow, 2> kHttp2Rows = {{
    {"max_concurrent_streams", "max_concurrent_streams", As::integer},
    {"initial_stream_window_size", "initial_stream_window_size", As::integer},
}};
constexpr std::array<FieldRow, 2> kTransportRows = {{
    {"max_connections", "max_connections", As::integer},
    {"max_pending_requests", "max_pending_requests", As::integer},
}};

struct Endpoints {
  std::vector<std::string> urls;
  std::map<std::string, std::vector<std::string>> zones;  // URLs by zone
  config::SourceLocation place;
};

void add_endpoint(const Tree& tree, const std::string& zone, std::string_view scheme,
                  Endpoints& endpoints, ImportNotes& notes) {
  Fields fields(tree, "the endpoint", notes);
  const std::string health = fields.text("health_status");
  if (health == "UNHEALTHY" || health == "DRAINING" || health == "TIMEOUT") {
    notes.left_out(tree.place, "an endpoint whose health_status is " + health + " is left out");
    return;
  }
  const Tree* weight = fields.take("load_balancing_weight");
  if (weight != nullptr && weight->text != "1") {
    notes.left_out(weight->place, "load_balancing_weight has no equivalent: endpoints are equal");
  }
  const Tree* endpoint = fields.take("endpoint");
  fields.leave_rest();
  if (endpoint == nullptr) return;
  Fields inner(*endpoint, "the endpoint", notes);
  const Tree* tree_of_address = inner.take("address");
  inner.skip({"hostname"});
  inner.leave("health_check_config", "a probe is sent to the address of the endpoint");
  inner.leave_rest();
  if (tree_of_address == nullptr) return;
  const auto address = read_address(*tree_of_address, notes);
  if (!address) return;
  const bool is_unix = address->text.starts_with("unix:");
  if (is_unix && scheme == "https") {
    notes.left_out(address->place,
                   "TLS over a Unix socket has no equivalent: the endpoint is "
                   "left out");
    return;
  }
  std::string url = is_unix ? address->text : std::string(scheme) + "://" + address->text;
  if (std::find(endpoints.urls.begin(), endpoints.urls.end(), url) != endpoints.urls.end()) {
    notes.left_out(address->place,
                   "the endpoint " + text::in_quotes(url) + " is there twice: it is one replica");
    return;
  }
  if (!zone.empty()) endpoints.zones[zone].push_back(url);
  endpoints.urls.push_back(std::move(url));
}

void read_locality(const Tree& tree, std::string_view scheme, Endpoints& endpoints,
                   ImportNotes& notes) {
  Fields fields(tree, "the locality", notes);
  std::string zone;
  if (const Tree* locality = fields.take("locality")) {
    Fields inner(*locality, "locality", notes);
    zone = inner.text("zone");
    inner.skip({"region", "sub_zone"});
    inner.leave_rest();
  }
  const auto priority = fields.integer("priority");
  if (priority && priority->value > 0) {
    notes.left_out(priority->place,
                   "endpoints of priority " + std::to_string(priority->value) +
                       " are left out: all replicas of a cluster get requests at once");
    return;
  }
  fields.leave("load_balancing_weight", "endpoints are equal");
  for (const Tree& endpoint : fields.list("lb_endpoints")) {
    add_endpoint(endpoint, zone, scheme, endpoints, notes);
  }
  fields.leave_rest();
}

Endpoints read_endpoints(Fields& cluster, std::string_view scheme, ImportNotes& notes) {
  Endpoints endpoints;
  endpoints.place = cluster.place_of("load_assignment");
  if (const Tree* tree = cluster.take("load_assignment")) {
    Fields fields(*tree, "load_assignment", notes);
    fields.skip({"cluster_name"});
    for (const Tree& locality : fields.list("endpoints")) {
      read_locality(locality, scheme, endpoints, notes);
    }
    fields.leave_rest();
  }
  return endpoints;
}

void set_endpoints(const Endpoints& endpoints, PartDraft& draft, ImportNotes& notes) {
  draft.set("endpoints", make_list(endpoints.urls, endpoints.place));
  if (endpoints.zones.empty() || !draft.has("endpoints")) return;
  Tree zones = make_map({}, endpoints.place);
  for (const auto& [zone, urls] : endpoints.zones) {
    zones.items.push_back(make_scalar(zone, endpoints.place));
    zones.items.push_back(make_list(urls, endpoints.place));
  }
  draft.set("zones", zones);
  notes.note_once("zones", endpoints.place,
                  "zones are used if the proxy has one: node.locality.zone, zone or --zone");
}

// Of an HttpProtocolOptions, or of the cluster itself, as files of older versions have it.
void read_protocol_options(Fields& fields, PartDraft& draft, ImportNotes& notes) {
  const auto set_protocol = [&](std::string_view protocol, config::SourceLocation place) {
    if (!draft.has("protocol")) draft.set("protocol", protocol, place);
  };
  if (const Tree* tree = fields.take("common_http_protocol_options")) {
    Fields inner(*tree, "common_http_protocol_options", notes);
    take_rows(inner, kCommonRows, draft, notes);
    inner.leave_rest();
  }
  if (const Tree* tree = fields.take("http2_protocol_options")) {
    set_protocol("http2", tree->place);
    Fields inner(*tree, "http2_protocol_options", notes);
    take_rows(inner, kHttp2Rows, draft, notes);
    inner.leave_rest();
  }
  if (const Tree* tree = fields.take("http_protocol_options")) {
    set_protocol("http1", tree->place);
    Fields(*tree, "http_protocol_options", notes).leave_rest();
  }
}

void read_typed_options(const Tree& tree, PartDraft& draft, ImportNotes& notes) {
  Fields fields(tree, "typed_extension_protocol_options", notes);
  const Tree* options = fields.take("envoy.extensions.upstreams.http.v3.HttpProtocolOptions");
  fields.leave_rest();
  if (options == nullptr) return;
  Fields inner(*options, "HttpProtocolOptions", notes);
  inner.skip({"@type"});
  for (const std::string_view word :
       {"explicit_http_config", "use_downstream_protocol_config", "auto_config"}) {
    const Tree* config = inner.take(word);
    if (config == nullptr) continue;
    if (word != "explicit_http_config") draft.set("protocol", "auto", config->place);
    if (word == "use_downstream_protocol_config") {
      notes.note(config->place,
                 "use_downstream_protocol_config becomes protocol auto: HTTP/1.1, or by ALPN");
    }
    Fields explicit_fields(*config, word, notes);
    read_protocol_options(explicit_fields, draft, notes);
    explicit_fields.leave_rest();
  }
  read_protocol_options(inner, draft, notes);
  inner.leave_rest();
}

void read_balancing(Fields& fields, PartDraft& draft, ImportNotes& notes) {
  if (const Tree* policy = fields.take("lb_policy")) {
    const std::string& name = policy->text;
    if (name == "RING_HASH" || name == "MAGLEV") {
      draft.set("lb_policy", "consistent_hash", policy->place);
    } else if (name != "LEAST_REQUEST") {
      notes.note(policy->place, "lb_policy " + text::in_quotes(name) +
                                    " becomes the less loaded of two random replicas");
    }
  }
  fields.skip({"least_request_lb_config", "ring_hash_lb_config", "maglev_lb_config",
               "round_robin_lb_config"});
  if (const Tree* common = fields.take("common_lb_config")) {
    Fields inner(*common, "common_lb_config", notes);
    const auto panic = take_percent(inner, "healthy_panic_threshold", notes);
    if (panic && draft.has("health_checks.type"))
      draft.set("health_checks.panic_threshold", *panic);
    if (const Tree* hashing = inner.take("consistent_hashing_lb_config")) {
      Fields hash(*hashing, "consistent_hashing_lb_config", notes);
      const std::array<FieldRow, 1> rows = {
          {{"hash_balance_factor", "hash_balance_factor", As::text}}};
      take_rows(hash, rows, draft, notes);
      hash.leave_rest();
    }
    inner.leave_rest();
  }
}

// The bound on retries becomes the cluster's, that on requests is left in the terms.
void read_thresholds_of(Fields& fields, PartDraft& draft, policy::Draft& calls,
                        config::SourceLocation place, ImportNotes& notes) {
  policy::Draft read(notes);
  if (const Tree* breakers = fields.take("circuit_breakers")) {
    policy::read_envoy_circuit_breakers(*breakers, read, notes, [&](Fields& thresholds) {
      take_rows(thresholds, kTransportRows, draft, notes);
    });
  }
  if (!read.has("concurrency_limit.initial")) {  // No thresholds.
    read.add(policy::default_envoy_cluster(place, notes));
  }
  draft.set("max_connections", Placed<std::int64_t>{.value = 1024, .place = {}});
  draft.set("max_pending_requests", Placed<std::int64_t>{.value = 1024, .place = {}});
  for (const std::string_view key :
       {"retry_budget.budget_percent", "retry_budget.window", "retry_budget.reserve",
        "retry_budget.min_retries_per_second", "retry_budget.min_retry_concurrency"}) {
    if (const auto raw = read.raw(key)) draft.set(key, *raw, read.place_of(key));
  }
  for (const std::string_view key :
       {"concurrency_limit.kind", "concurrency_limit.initial", "concurrency_limit.max"}) {
    if (const auto raw = read.raw(key)) calls.set(key, *raw, read.place_of(key));
  }
  // The route's own budget refuses nothing.
  calls.set("retry_budget.budget_percent", Percent::kMost);
  calls.set("retry_budget.min_retries_per_second", 10'000);
  notes.note_once("max_requests", place,
                  "max_requests bounds the requests of a cluster in Envoy; here those of each of "
                  "its routes");
}

void drop_grpc_check_of_http1(PartDraft& draft, ImportNotes& notes) {
  const auto is = [&](std::string_view key, std::int64_t value) {
    return draft.has(key) && draft.raw(key) == value;
  };
  const bool is_grpc = is("health_checks.type", static_cast<std::int64_t>(HealthCheckType::grpc));
  if (!is_grpc || !is("protocol", static_cast<std::int64_t>(http::Protocol::h1))) return;
  notes.left_out(draft.place(),
                 "grpc_health_check needs HTTP/2, and the cluster has HTTP/1.1: it is left out");
  draft.drop("health_checks");
}

}  // namespace

void read_cluster(const Tree& tree, EnvoyImport& file) {
  ImportNotes& notes = file.notes;
  Fields fields(tree, "the cluster", notes);
  const std::string name = fields.text("name");
  if (file.terms.contains(name)) {
    notes.left_out(tree.place, "the cluster " + text::in_quotes(name) +
                                   " is there twice: this one "
                                   "is left out");
    return;
  }
  ClusterTerms& terms =
      file.terms.emplace(name, ClusterTerms{.name = {}, .calls = policy::Draft(notes)})
          .first->second;
  PartDraft draft(cluster_schema(), file.unique_name("cluster", name), tree.place, notes);
  fields.skip({"@type", "alt_stat_name"});
  const std::string type = fields.text("type");
  if (type == "LOGICAL_DNS") {
    notes.note(fields.place_of("type"),
               "type LOGICAL_DNS becomes STRICT_DNS: each address of the name is a replica");
  }
  std::string_view scheme = "http";
  if (const Tree* socket = fields.take("transport_socket")) {
    bool is_unknown = false;
    if (const Tree* tls = tls_of(*socket, "UpstreamTlsContext", is_unknown, notes)) {
      scheme = "https";
      read_upstream_tls(*tls, draft, file);
    }
    if (is_unknown) scheme = "";
  }
  const Endpoints endpoints = read_endpoints(fields, scheme, notes);
  if (endpoints.urls.empty() || scheme.empty()) {
    notes.left_out(tree.place, "the cluster " + text::in_quotes(name) +
                                   " has no endpoint that can be imported, and is left out: routes "
                                   "to it answer with 503");
    return;
  }
  set_endpoints(endpoints, draft, notes);
  take_rows(fields, kClusterRows, draft, notes);
  draft.set("connect_timeout", Placed<Duration>{.value = 5s, .place = {}});
  if (draft.has("dns_min_refresh_rate") &&
      draft.raw("dns_min_refresh_rate") > DnsConfig{}.max_refresh.count()) {
    draft.set("dns_max_refresh_rate", draft.raw("dns_min_refresh_rate"));
  }
  read_protocol_options(fields, draft, notes);
  if (const Tree* typed = fields.take("typed_extension_protocol_options")) {
    read_typed_options(*typed, draft, notes);
  }
  read_health_checks(fields, draft, notes);
  drop_grpc_check_of_http1(draft, notes);
  read_outlier_detection(fields, draft, notes);
  read_balancing(fields, draft, notes);
  read_thresholds_of(fields, draft, terms.calls, tree.place, notes);
  fields.leave("transport_socket_matches",
               "all endpoints have the transport_socket of the cluster, or plain TCP without one");
  const std::string family = fields.text("dns_lookup_family");
  if (!family.empty() && family != "AUTO" && family != "ALL" && family != "V4_PREFERRED") {
    notes.left_out(fields.place_of("dns_lookup_family"),
                   "dns_lookup_family has no equivalent: every address of a name is used");
  }
  fields.leave_rest();
  if (draft.has("endpoints")) {
    terms.name = draft.name();
    file.clusters.push_back(std::move(draft));
  }
}

}  // namespace damper::proxy
