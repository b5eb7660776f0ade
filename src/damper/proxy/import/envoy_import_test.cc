#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/config/route_matcher.h"
#include "damper/proxy/import/import_proxy.h"

namespace damper::proxy {
namespace {

std::string testdata(std::string_view name) {
  std::ifstream in(std::filesystem::path(DAMPER_ENVOY_TESTDATA) / name, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

// A result, and what the proxy's own loader makes of it.
struct Result {
  ImportedProxy imported;
  ProxyConfig config;

  [[nodiscard]] const RouteConfig& route(std::string_view name) const {
    for (const RouteConfig& one : config.routes) {
      if (one.name == name) return one;
    }
    ADD_FAILURE() << name << " is not a route of\n" << imported.text;
    return config.routes.front();
  }
  // Whether a note at the line has the words.
  [[nodiscard]] bool notes(int line, std::string_view words) const {
    for (const config::Note& note : imported.notes) {
      if (note.place.line == line && note.sentence.find(words) != std::string::npos) return true;
    }
    return false;
  }
  [[nodiscard]] std::string all_notes() const {
    std::string text;
    for (const config::Note& note : imported.notes) text += to_string(note) + '\n';
    return text;
  }
  // The line of the result that begins with the words, without its indent.
  [[nodiscard]] std::string line(std::string_view words) const {
    std::istringstream in(imported.text);
    for (std::string one; std::getline(in, one);) {
      one.erase(0, one.find_first_not_of(' '));
      if (one.starts_with(words)) return one;
    }
    return {};
  }
};

Result import_text(const std::string& text) {
  auto imported = import_envoy_proxy(text, "envoy.yaml");
  if (!imported || !*imported) {
    ADD_FAILURE() << (imported ? "no complete proxy" : to_string(imported.error()));
    return {};
  }
  auto config = load_proxy((*imported)->text, "printed.yaml");
  if (!config) {
    ADD_FAILURE() << to_string(config.error()) << '\n' << (*imported)->text;
    return {};
  }
  return {*std::move(*imported), *std::move(config)};
}

// A file of one listener and one cluster: what is inside of the parts.
struct Parts {
  std::string listener{};
  std::string chain{};
  std::string manager{};
  std::string host{};
  std::string route = "route: { cluster: a }";
  std::string cluster{};
  std::string endpoint{};
};
std::string file_of(const Parts& parts) {
  return "static_resources:\n"
         "  listeners:\n"
         "  - name: web\n"
         "    address: { socket_address: { address: 127.0.0.1, port_value: 80 } }\n" +
         parts.listener +
         "    filter_chains:\n"
         "    - " +
         (parts.chain.empty() ? "name: main" : parts.chain) +
         "\n"
         "      filters:\n"
         "      - name: envoy.filters.network.http_connection_manager\n"
         "        typed_config:\n"
         "          route_config: { virtual_hosts: [{ name: h, domains: ['*'], " +
         parts.host + "routes: [{ match: { prefix: / }, " + parts.route + " }] }] }\n" +
         parts.manager +
         "  clusters:\n"
         "  - name: a\n"
         "    load_assignment: { endpoints: [{ lb_endpoints: [{ endpoint: { address: { "
         "socket_address: { address: 10.0.0.1, port_value: 9000 } } }" +
         parts.endpoint + " }] }] }\n" + parts.cluster;
}
Result import_parts(const Parts& parts) { return import_text(file_of(parts)); }

TEST(EnvoyImport, AFrontProxyBecomesACompleteProxyFile) {
  const Result result = import_text(testdata("envoy_shop.yaml"));
  ASSERT_EQ(result.config.listeners.size(), 1U) << result.imported.text;
  const ListenerConfig& listener = result.config.listeners[0];
  EXPECT_EQ(listener.name, "https");
  EXPECT_EQ(listener.address, "0.0.0.0");
  EXPECT_EQ(listener.port, 8443);
  EXPECT_EQ(listener.max_connections, 5000U);
  EXPECT_EQ(listener.trust, std::vector<std::string>{"none"});
  EXPECT_EQ(listener.proxy_protocol, std::vector<std::string>{"all"});
  EXPECT_TRUE(listener.paths.normalize);
  EXPECT_EQ(listener.paths.escaped_slashes, EscapedSlashes::refuse);
  EXPECT_EQ(listener.limits.idle_timeout, std::chrono::minutes(2));
  EXPECT_EQ(listener.limits.max_output_bytes, 65536U);
  ASSERT_EQ(result.config.clusters.size(), 3U);
  EXPECT_EQ(result.config.zone, "eu-1a");
  EXPECT_EQ(result.config.access_log, AccessLog::all);
  EXPECT_EQ(result.config.access_log_file, "/var/log/envoy/access.log");
  ASSERT_TRUE(result.config.tracing);
  EXPECT_EQ(result.line("sampling"),
            "sampling: 2.5                                         # line 72");
}

TEST(EnvoyImport, CertificatesAreSelectedByServerName) {
  const Result result = import_text(testdata("envoy_shop.yaml"));
  ASSERT_TRUE(result.config.listeners[0].tls);
  const http::TlsServerOptions& tls = *result.config.listeners[0].tls;
  ASSERT_EQ(tls.certificates.size(), 2U);
  EXPECT_EQ(tls.certificates[0].identity.certificate_file, "/etc/tls/shop.crt");
  EXPECT_EQ(tls.certificates[0].server_names,
            (std::vector<std::string>{"shop.example", "*.shop.example"}));
  EXPECT_EQ(tls.certificates[1].server_names, std::vector<std::string>{"partner.example"});
  EXPECT_TRUE(tls.reject_unknown_names);
  // A secret that is not in the file: the proxy does not start before it is written.
  EXPECT_EQ(tls.certificates[1].identity.key_file, "MISSING-partner-key.pem");
  EXPECT_TRUE(result.notes(132, "the secret \"partner\" is not in this file"));
  // One chain requires client certificates: so do all.
  EXPECT_TRUE(tls.require_client_certificate);
  EXPECT_EQ(tls.client_ca_file, "/etc/tls/partners.pem");
  EXPECT_TRUE(result.notes(22, "a filter chain requires client certificates"));
  EXPECT_EQ(tls.protocol.cipher_suites, (std::vector<std::string>{"ECDHE-RSA-AES128-GCM-SHA256",
                                                                  "ECDHE-RSA-CHACHA20-POLY1305"}));
  EXPECT_TRUE(result.notes(40, "PSK-AES128-CBC-SHA-X"));
}

TEST(EnvoyImport, RoutesHaveTheirActionsAndPolicies) {
  const Result result = import_text(testdata("envoy_shop.yaml"));
  const RouteConfig& api = result.route("shop/api");
  ASSERT_EQ(api.weighted_clusters.size(), 2U);
  EXPECT_EQ(api.weighted_clusters[1].cluster, "canary");
  EXPECT_EQ(api.weighted_clusters[1].weight, 5U);
  ASSERT_TRUE(api.hash_policy);
  EXPECT_EQ(api.hash_policy->cookie, "sid");
  EXPECT_EQ(api.hash_policy->ttl, std::chrono::hours(1));
  EXPECT_EQ(api.prefix_rewrite, "/v1");
  EXPECT_EQ(api.match.hosts, (std::vector<std::string>{"shop.example", "*.shop.example"}));
  EXPECT_EQ(api.settings.policy.call.timeout, std::chrono::seconds(2));
  ASSERT_TRUE(api.rate_limit);
  EXPECT_EQ(api.rate_limit->burst, 200);
  const FieldEdits& edits = api.request_fields;
  EXPECT_EQ(edits.set, (std::vector<FieldEdits::Field>{{"x-env", "prod"}}));
  EXPECT_EQ(edits.add, (std::vector<FieldEdits::Field>{{"x-client", "%CLIENT_ADDRESS%"}}));
  EXPECT_TRUE(result.notes(106, "x-sni"));
  EXPECT_EQ(api.response_fields.remove, std::vector<std::string>{"server"});
  const RouteConfig& old = result.route("shop/old");
  ASSERT_TRUE(old.redirect);
  EXPECT_EQ(old.redirect->prefix, "/new");
  EXPECT_EQ(old.redirect->status, 308);
  EXPECT_TRUE(old.redirect->strip_query);
  ASSERT_TRUE(result.route("shop/healthz").direct_response);
  EXPECT_EQ(result.route("shop/healthz").direct_response->body, "ok");
  ASSERT_TRUE(result.route("health-page").health_page);
  EXPECT_EQ(result.route("health-page").health_page->clusters, std::vector<std::string>{"stable"});
  EXPECT_EQ(result.route("shop").host_rewrite, "app.internal");
  EXPECT_EQ(result.route("shop").match.methods, std::vector<std::string>{"GET"});
  EXPECT_EQ(result.config.routes.size(), 7U) << result.imported.text;
}

TEST(EnvoyImport, ClustersHaveEndpointsZonesAndChecks) {
  const Result result = import_text(testdata("envoy_shop.yaml"));
  const ClusterConfig& stable = result.config.clusters[0];
  EXPECT_EQ(stable.endpoints.size(), 3U);
  EXPECT_EQ(stable.zones.at("http://a2.internal:9000"), "eu-1a");
  EXPECT_EQ(stable.zones.at("http://b1.internal:9000"), "eu-1b");
  EXPECT_TRUE(stable.dns.respect_ttl);
  EXPECT_EQ(stable.replicas.lb_policy, balance::LbPolicy::consistent_hash);
  EXPECT_EQ(stable.replicas.hash_balance_factor, Percent(130));
  EXPECT_EQ(stable.pool.max_connections, 64U);
  EXPECT_EQ(stable.pool.max_waiting, 128U);
  ASSERT_TRUE(stable.health_check);
  EXPECT_EQ(stable.health_check->path, "/ready");
  EXPECT_EQ(result.line("panic_threshold"),
            "panic_threshold: 40                               # line 144");
  EXPECT_TRUE(result.notes(159, "health_check_config"));
  EXPECT_EQ(result.config.clusters[1].endpoints, std::vector<std::string>{"unix:/run/canary.sock"});
  const ClusterConfig& billing = result.config.clusters[2];
  EXPECT_EQ(billing.endpoints, std::vector<std::string>{"https://billing.internal"});
  EXPECT_EQ(billing.tls.server_name, "billing.internal");
  EXPECT_EQ(billing.tls.identity.certificate_file, "/etc/tls/edge.crt");
  EXPECT_EQ(billing.protocol, http::Protocol::h2);
  EXPECT_EQ(billing.health_check->type, HealthCheckType::grpc);
}

TEST(EnvoyImport, WhatIsLessStrictHasANote) {
  const Result result = import_text(testdata("envoy_shop.yaml"));
  EXPECT_TRUE(result.notes(7, "its routes are not those of the listener on line 22"));
  EXPECT_TRUE(result.notes(93, "requests that it refuses are forwarded")) << result.all_notes();
  EXPECT_TRUE(result.notes(4, "needs admin.token_file"));
  EXPECT_TRUE(result.notes(181, "\"otel\" has no endpoint"));
}

TEST(EnvoyImport, JsonWithItsSpellingIsReadToo) {
  const Result result = import_text(testdata("envoy_canary.json"));
  const ListenerConfig& listener = result.config.listeners.at(0);
  EXPECT_EQ(listener.address, "unix:/run/edge.sock");
  EXPECT_EQ(listener.mode, "0660");
  EXPECT_EQ(listener.protocol, http::Protocol::h2);
  EXPECT_EQ(result.config.clusters[0].health_check->type, HealthCheckType::tcp);
  // Weights over the bound keep their ratio.
  const RouteConfig& rest = result.route("rest");
  ASSERT_EQ(rest.weighted_clusters.size(), 2U);
  EXPECT_EQ(rest.weighted_clusters[0].weight, 1'000'000U);
  EXPECT_EQ(rest.weighted_clusters[1].weight, 333'333U);
  // A host of its own answers 404 instead of the routes of the next one.
  EXPECT_EQ(result.route("books:rest").direct_response->status, 404);
  EXPECT_EQ(result.route("books").direct_response->status, 503);
  EXPECT_TRUE(result.notes(15, "safe_regex"));
}

TEST(EnvoyImport, UpgradesAreThoseThatEnvoyAllows) {
  EXPECT_TRUE(import_parts({}).route("h").upgrades.empty());
  const Result manager =
      import_parts({.manager = "          upgrade_configs: [{ upgrade_type: websocket }]\n"});
  EXPECT_EQ(manager.route("h").upgrades, std::vector<std::string>{"websocket"});
  const Result off = import_parts(
      {.manager = "          upgrade_configs: [{ upgrade_type: websocket }]\n",
       .route = "route: { cluster: a, upgrade_configs: [{ upgrade_type: websocket, enabled: false "
                "}] }"});
  EXPECT_TRUE(off.route("h").upgrades.empty());
}

TEST(EnvoyImport, AListenerWithTlsNeverBecomesOneWithout) {
  for (const std::string context :
       {"{}", "{ common_tls_context: {} }",
        "{ common_tls_context: { tls_certificates: [{ certificate_chain: { inline_string: x } }] } "
        "}",
        "{ common_tls_context: { tls_certificates: [{ certificate_chain: { filename: \"\\t\" }, "
        "private_key: { filename: \"\\n\" } }] } }"}) {
    const std::string config =
        context == "{}" ? std::string() : ", " + context.substr(1, context.size() - 2);
    const Result result = import_parts({.chain = "transport_socket: { typed_config: { \"@type\": "
                                                 "x.v3.DownstreamTlsContext" +
                                                 config + " } }"});
    ASSERT_TRUE(result.config.listeners[0].tls) << result.imported.text;
    EXPECT_NE(result.imported.text.find("MISSING-tls-"), std::string::npos);
  }
}

TEST(EnvoyImport, FiltersBecomeKeysOfRoutes) {
  const auto filter = [](const std::string& type, const std::string& fields) {
    return "          - { name: f, typed_config: { \"@type\": x." + type + fields + " } }\n";
  };
  const Result result = import_parts(
      {.manager = "          http_filters:\n" + filter("Buffer", ", max_request_bytes: 4096") +
                  filter("AdmissionControl", ", sr_threshold: { default_value: { value: 50 } }") +
                  filter("AdaptiveConcurrency",
                         ", gradient_controller_config: { concurrency_limit_params: { "
                         "max_concurrency_limit: 10 } }")});
  const RouteConfig& route = result.route("h");
  EXPECT_TRUE(route.request_buffering);
  EXPECT_EQ(route.request_buffer, 4096U);
  ASSERT_TRUE(route.settings.policy.throttle);
  EXPECT_EQ(route.settings.policy.throttle->multiplier, Percent(200));
  ASSERT_TRUE(route.admission);
  EXPECT_EQ(route.admission->limit.max, 10);
  EXPECT_EQ(route.admission->limit.initial, 10);
  EXPECT_NE(result.all_notes().find("not refused with 413"), std::string::npos);
}

TEST(EnvoyImport, AFilterOfARouteComesBeforeThatOfTheListener) {
  const Result result = import_parts(
      {.manager = "          http_filters: [{ name: f, typed_config: { \"@type\": x.Buffer, "
                  "max_request_bytes: 4096 } }]\n",
       .route = "route: { cluster: a }, typed_per_filter_config: { f: { \"@type\": "
                "x.BufferPerRoute, buffer: { max_request_bytes: 8192 } } }"});
  EXPECT_EQ(result.route("h").request_buffer, 8192U);
}

TEST(EnvoyImport, ListenersWithTheSameRoutesAreImportedTogether) {
  const std::string one = file_of({});
  const std::size_t start = one.find("  - name: web\n");
  std::string second = one.substr(start, one.find("  clusters:\n") - start);
  second.replace(second.find("name: web"), 9, "name: two");
  second.replace(second.find("port_value: 80"), 14, "port_value: 81");
  std::string both = one;
  both.insert(start, second);
  const Result result = import_text(both);
  ASSERT_EQ(result.config.listeners.size(), 2U);
  EXPECT_EQ(result.config.listeners[0].port, 81);
  EXPECT_EQ(result.config.routes.size(), 1U) << result.imported.text;
  // The same address twice is one listener.
  std::string again = one;
  again.insert(start, one.substr(start, one.find("  clusters:\n") - start));
  const Result same = import_text(again);
  EXPECT_EQ(same.config.listeners.size(), 1U);
  EXPECT_NE(same.all_notes().find("its address is that of another one"), std::string::npos);
}

TEST(EnvoyImport, PeersAreTrustedNoMoreThanInEnvoy) {
  EXPECT_EQ(
      import_parts({.manager = "          use_remote_address: true\n"}).config.listeners[0].trust,
      std::vector<std::string>{"none"});
  const Result internal = import_parts({});
  EXPECT_EQ(internal.config.listeners[0].trust, std::vector<std::string>{"auto"});
  EXPECT_NE(internal.all_notes().find("without use_remote_address"), std::string::npos);
  const Result unescaped = import_parts(
      {.manager = "          path_with_escaped_slashes_action: UNESCAPE_AND_FORWARD\n"});
  EXPECT_EQ(unescaped.config.listeners[0].paths.escaped_slashes, EscapedSlashes::refuse);
  const Result plain = import_parts({.host = "require_tls: ALL, "});
  EXPECT_TRUE(plain.notes(10, "requests over plain TCP are not redirected")) << plain.all_notes();
  const Result matches = import_parts({.cluster = "    transport_socket_matches: [{ name: x }]\n"});
  EXPECT_NE(matches.all_notes().find("or plain TCP without one"), std::string::npos);
  const Result guarded = import_parts({.listener = "    listener_filters: [{ name: "
                                                   "envoy.filters.listener.rbac }]\n"});
  EXPECT_NE(guarded.all_notes().find("connections that it refuses are accepted"),
            std::string::npos);
}

// Else the proxy has its default one.
TEST(EnvoyImport, WithoutAdminThereIsNone) {
  const std::string text = import_parts({}).imported.text;
  EXPECT_NE(text.find("\nadmin: off"), std::string::npos) << text;
}

TEST(EnvoyImport, AConditionOnAFieldOfTrustedPeersHasANote) {
  std::string text = file_of({});
  const std::string_view prefix = "match: { prefix: /";
  text.insert(text.find(prefix) + prefix.size(),
              ", headers: [{ name: X-Forwarded-Proto, exact_match: http }]");
  EXPECT_NE(import_text(text).all_notes().find("removed from requests of peers"),
            std::string::npos);
}

TEST(EnvoyImport, AnUpstreamIsVerifiedAlsoWhereEnvoyDoesNot) {
  const Result result = import_parts(
      {.cluster = "    transport_socket: { typed_config: { \"@type\": x.UpstreamTlsContext } }\n"});
  EXPECT_EQ(result.config.clusters[0].endpoints, std::vector<std::string>{"https://10.0.0.1:9000"});
  EXPECT_NE(result.all_notes().find("without trusted_ca Envoy accepts every certificate"),
            std::string::npos);
}

TEST(EnvoyImport, TheProxyOfThePolicyImportersTestIsCompleteToo) {
  const Result result =
      import_text(testdata("../../../policy/import/testdata/"
                           "envoy_front_proxy.yaml"));
  EXPECT_EQ(result.config.admin->port, 8001);
  EXPECT_EQ(result.config.admin->address, "127.0.0.1");
  EXPECT_EQ(result.route("backend/service/1").match.prefix, "/service/1");
  EXPECT_EQ(result.route("backend/old").redirect->path, "/service/2");
}

TEST(EnvoyImport, AChainWithAnotherConditionIsLeftOut) {
  const auto imported = import_envoy_proxy(
      file_of({.chain = "filter_chain_match: { source_prefix_ranges: [{ address_prefix: 10.0.0.0, "
                        "prefix_len: 8 }] }"}),
      "f");
  ASSERT_TRUE(imported);
  EXPECT_FALSE(*imported);  // Nothing is left: its policies alone can be imported.
}

TEST(EnvoyImport, AnUnknownTransportNeverBecomesPlainTcp) {
  const std::string socket = "transport_socket: { name: s, typed_config: { \"@type\": x.Alts } }";
  for (const Parts& parts : {Parts{.chain = socket}, Parts{.cluster = "    " + socket + "\n"}}) {
    const auto imported = import_envoy_proxy(file_of(parts), "f");
    ASSERT_TRUE(imported);
    EXPECT_FALSE(*imported);
  }
}

TEST(EnvoyImport, AWrongValueIsAnErrorWithItsPlace) {
  const auto imported =
      import_envoy_proxy(file_of({.manager = "          stream_idle_timeout: soon\n"}), "f");
  ASSERT_FALSE(imported);
  EXPECT_EQ(to_string(imported.error()),
            "f:11:32: stream_idle_timeout must be a duration such as 0.25s or 2s, not \"soon\"");
}

TEST(EnvoyImport, AFileWithoutListenersOrClustersIsNoProxy) {
  for (const char* text : {"", "a: 1", "virtual_hosts: []", "static_resources: {}",
                           "static_resources: { listeners: [{}], clusters: [{}] }",
                           "static_resources: { clusters: [{ name: a }] }"}) {
    const auto imported = import_envoy_proxy(text, "f");
    ASSERT_TRUE(imported) << text << to_string(imported.error());
    EXPECT_FALSE(*imported) << text;
  }
}

TEST(EnvoyImport, ChecksAndPoliciesOfAClusterThatDoNotFitAreLeftOut) {
  const Result grpc = import_parts({.cluster = "    health_checks: [{ grpc_health_check: {} }]\n"
                                               "    http_protocol_options: {}\n"});
  EXPECT_FALSE(grpc.config.clusters[0].health_check);
  EXPECT_NE(grpc.all_notes().find("grpc_health_check needs HTTP/2"), std::string::npos);
  const Result weight = import_parts({.endpoint = ", load_balancing_weight: 3"});
  EXPECT_TRUE(weight.notes(13, "load_balancing_weight")) << weight.all_notes();
}

}  // namespace
}  // namespace damper::proxy
