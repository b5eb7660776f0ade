#include "damper/proxy/config/proxy_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "damper/base/random.h"
#include "damper/config/schema_testing.h"
#include "damper/config/yaml_tree.h"
#include "damper/proxy/config/proxy_schema.h"

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kWhole = R"(listeners:
  web:
    address: 127.0.0.1:8080
    max_connections: 500
    idle_timeout: 30s
    max_request_headers: 16KiB
  secure:
    address: "[::1]:8443"
    tls: { certificate_file: web.crt, key_file: web.key, client_ca_file: ca.crt,
           require_client_certificate: true }
clusters:
  shop:
    endpoints: [http://10.0.0.1:9000, http://10.0.0.2:9000]
    connect_timeout: 500ms
    circuit_breakers: { max_connections: 32, max_pending_requests: 10 }
    outlier_detection: { consecutive_5xx: 7, base_ejection_time: 2s, slow_call_duration: 800ms }
    retry_budget: { budget_percent: 15 }
  search:
    endpoints: https://search.internal
    protocol: http2
    dns_refresh_rate: 10s
    tls: { ca_file: internal.crt }
defaults:
  timeout: 3s
  request_buffer: 128KiB
routes:
  search:
    match: { hosts: [shop.example, "*.Shop.example"], prefix: /search, methods: [GET],
             headers: { x-canary: "1", x-user: } }
    cluster: search
    prefix_rewrite: /v2
    host_rewrite: search.internal
    rate_limit: { requests_per_second: 100.5, burst: 20 }
    timeout: 800ms
    retry_policy: { num_retries: 1 }
  rest:
    cluster: shop
    admission_control: { kind: aimd, initial: 50, max: 200, queue_capacity: 100 }
    response_buffer: 1MiB
    circuit_breaker: on
admin: { address: 127.0.0.1:9901 }
retry_budget: { budget_percent: 20 }
access_log: all
access_log_file: /var/log/damper.json
access_log_format: json
access_log_fields: [time, status]
tracing: { collector: "http://10.0.0.9:4318/x", service_name: shop, random_sampling: 5 }
drain_time: 10s
threads: 2
)";

ProxyConfig config_of(std::string_view text, const Flags& flags = {}) {
  auto config = load_proxy(text, "p.yaml", flags);
  EXPECT_TRUE(config) << to_string(config.error());
  return config ? *std::move(config) : ProxyConfig{};
}

TEST(ProxyConfig, AWholeFileSaysEverything) {
  const ProxyConfig config = config_of(kWhole);
  ASSERT_EQ(config.listeners.size(), 2U);
  EXPECT_EQ(config.listeners[0].name, "web");
  EXPECT_EQ(config.listeners[0].address, "127.0.0.1");
  EXPECT_EQ(config.listeners[0].port, 8080);
  EXPECT_EQ(config.listeners[0].max_connections, 500U);
  EXPECT_EQ(config.listeners[0].limits.idle_timeout, 30s);
  EXPECT_EQ(config.listeners[0].limits.max_head_bytes, 16U * 1024);
  EXPECT_FALSE(config.listeners[0].tls);
  EXPECT_EQ(config.listeners[1].address, "::1");
  ASSERT_TRUE(config.listeners[1].tls);
  EXPECT_EQ(config.listeners[1].tls->identity.key_file, "web.key");
  EXPECT_TRUE(config.listeners[1].tls->require_client_certificate);

  ASSERT_EQ(config.clusters.size(), 2U);
  const ClusterConfig& shop = config.clusters[0];
  EXPECT_EQ(shop.endpoints.size(), 2U);
  EXPECT_EQ(shop.dialer.connect_timeout, 500ms);
  EXPECT_EQ(shop.pool.max_connections, 32U);
  EXPECT_EQ(shop.pool.max_waiting, 10U);
  EXPECT_EQ(shop.pool.plain, http::Protocol::h1);
  EXPECT_EQ(shop.replicas.breaker.consecutive_failures, 7);
  EXPECT_EQ(shop.replicas.breaker.open_base, 2s);
  EXPECT_EQ(shop.replicas.breaker.slow_call_duration, 800ms);
  ASSERT_TRUE(shop.retry_budget);
  EXPECT_EQ(shop.retry_budget->percent, Percent(15));
  const ClusterConfig& search = config.clusters[1];
  EXPECT_EQ(search.endpoints, std::vector<std::string>{"https://search.internal"});
  EXPECT_EQ(search.protocol, http::Protocol::h2);
  EXPECT_EQ(search.pool.plain, http::Protocol::h2);
  EXPECT_EQ(search.dns.refresh, 10s);
  EXPECT_EQ(search.tls.ca_file, "internal.crt");

  ASSERT_EQ(config.routes.size(), 2U);
  const RouteConfig& first = config.routes[0];
  EXPECT_EQ(first.match.hosts, (std::vector<std::string>{"shop.example", "*.shop.example"}));
  EXPECT_EQ(first.match.prefix, "/search");
  EXPECT_EQ(first.match.methods, std::vector<std::string>{"GET"});
  ASSERT_EQ(first.match.headers.size(), 2U);
  EXPECT_EQ(first.match.headers[0].value, "1");
  EXPECT_FALSE(first.match.headers[1].value);
  EXPECT_EQ(first.prefix_rewrite, "/v2");
  EXPECT_EQ(first.host_rewrite, "search.internal");
  ASSERT_TRUE(first.rate_limit);
  EXPECT_EQ(first.rate_limit->rate_per_second, 100.5);
  EXPECT_EQ(first.rate_limit->burst, 20);
  EXPECT_EQ(first.settings.policy.call.timeout, 800ms);
  EXPECT_EQ(first.settings.policy.call.max_attempts, 2);
  EXPECT_EQ(first.request_buffer, 128U * 1024);
  const RouteConfig& rest = config.routes[1];
  EXPECT_EQ(rest.cluster, "shop");
  EXPECT_EQ(rest.settings.policy.call.timeout, 3s);
  EXPECT_EQ(rest.response_buffer, 1024U * 1024);
  EXPECT_TRUE(rest.settings.policy.breaker);
  ASSERT_TRUE(rest.admission);
  EXPECT_EQ(rest.admission->limit.kind, admit::LimitKind::aimd);
  EXPECT_EQ(rest.admission->queue.capacity, 100);

  ASSERT_TRUE(config.admin);
  EXPECT_EQ(config.admin->port, 9901);
  EXPECT_EQ(config.retry_budget->percent, Percent(20));
  EXPECT_EQ(config.access_log, AccessLog::all);
  EXPECT_EQ(config.access_log_file, "/var/log/damper.json");
  EXPECT_EQ(config.access_layout.format, AccessFormat::json);
  EXPECT_TRUE(config.access_layout.has(AccessField::status));
  EXPECT_FALSE(config.access_layout.has(AccessField::path));
  ASSERT_TRUE(config.tracing);
  EXPECT_EQ(config.tracing->collector, "http://10.0.0.9:4318/x");
  EXPECT_EQ(config.tracing->service_name, "shop");
  EXPECT_EQ(config.tracing->tracer.sampling, Percent(5));
  EXPECT_EQ(config.drain_time, 10s);
  EXPECT_EQ(config.threads, 2U);
  EXPECT_TRUE(config.notes.empty()) << to_string(config.notes[0]);
}

TEST(ProxyConfig, FlagsAloneAreAProxyWithTheSafeDefaults) {
  const ProxyConfig config =
      config_of("", {.listen = {":8080", "0.0.0.0:8081"},
                     .to = {"http://127.0.0.1:9000", "http://127.0.0.1:9001"}});
  ASSERT_EQ(config.listeners.size(), 2U);
  EXPECT_EQ(config.listeners[0].address, "127.0.0.1");
  EXPECT_EQ(config.listeners[1].address, "0.0.0.0");
  EXPECT_EQ(config.listeners[1].name, "default-2");
  ASSERT_EQ(config.clusters.size(), 1U);
  EXPECT_EQ(config.clusters[0].endpoints.size(), 2U);
  EXPECT_EQ(config.clusters[0].replicas.breaker.consecutive_failures, 5);
  ASSERT_EQ(config.routes.size(), 1U);
  EXPECT_EQ(config.routes[0].name, "default");
  EXPECT_EQ(config.routes[0].cluster, "default");
  EXPECT_EQ(config.routes[0].settings.policy.call.max_attempts, 3);
  EXPECT_EQ(config.routes[0].settings.policy.budget.percent, Percent(10));
  EXPECT_FALSE(config.admin);
}

// The example of the article, as it stands there.
TEST(ProxyConfig, APolicyFileWithFlagsIsAWholeProxy) {
  const ProxyConfig config = config_of(R"(route:
  timeout: 2s                     # request deadline at the edge
  retry_policy:
    retry_on: "5xx,reset,connect-failure"
    num_retries: 2
    per_try_timeout: 0.8s
    retry_back_off: { base_interval: 0.1s, max_interval: 2s }
    retry_budget: { budget_percent: 10, min_retry_concurrency: 3 }
  hedge_policy:
    initial_requests: 1
    additional_request_chance: { numerator: 0 }  # enable per-route for hot reads
)",
                                       {.listen = {":8080"}, .to = {"http://127.0.0.1:9000"}});
  ASSERT_EQ(config.routes.size(), 1U);
  EXPECT_EQ(config.routes[0].name, "default");
  EXPECT_EQ(config.routes[0].cluster, "default");
  EXPECT_EQ(config.routes[0].settings.policy.call.timeout, 2s);
  EXPECT_EQ(config.routes[0].settings.policy.call.per_try_timeout, 800ms);
  EXPECT_EQ(config.routes[0].settings.policy.budget.min_retry_concurrency, 3);
  EXPECT_TRUE(config.notes.empty());
}

TEST(ProxyConfig, DefaultsAreUnderEveryRouteAndUnderTheOneThatNobodyWrote) {
  constexpr std::string_view kTop =
      "listeners: {l: {address: ':0'}}\nclusters: {c: {endpoints: http://a}}\n"
      "defaults: {timeout: 3s, request_buffer: 1KiB, rate_limit: {requests_per_second: 5}}\n";
  const ProxyConfig unwritten = config_of(kTop);
  EXPECT_EQ(unwritten.routes.at(0).settings.policy.call.timeout, 3s);
  EXPECT_EQ(unwritten.routes.at(0).request_buffer, 1024U);
  const ProxyConfig two = config_of(std::string(kTop) +
                                    "routes: {a: {match: {path: /a}, rate_limit: off}, "
                                    "b: {rate_limit: {burst: 7}}}");
  EXPECT_FALSE(two.routes.at(0).rate_limit);
  EXPECT_EQ(two.routes.at(1).rate_limit->rate_per_second, 5);
  EXPECT_EQ(two.routes.at(1).rate_limit->burst, 7);
  EXPECT_EQ(two.routes.at(1).request_buffer, 1024U);
}

TEST(ProxyConfig, AStreamMayLastForLongUnlessTheFileSaysOtherwise) {
  const ProxyConfig config = config_of("", {.listen = {":0"}, .to = {"http://a"}});
  EXPECT_EQ(config.listeners.at(0).limits.message_timeout, 0s);
  EXPECT_EQ(config.clusters.at(0).pool.limits.message_timeout, 0s);
  EXPECT_EQ(config.clusters.at(0).pool.limits.body_timeout, 5min);
}

TEST(ProxyConfig, TheProtocolDecidesWhatIsSpokenAndWhatIsOffered) {
  const auto cluster = [](std::string_view protocol) {
    return config_of(
               "listeners: {l: {address: ':0'}}\nclusters: {c: {endpoints: https://a, "
               "protocol: " +
               std::string(protocol) + "}}")
        .clusters.at(0);
  };
  EXPECT_EQ(cluster("auto").pool.plain, http::Protocol::h1);
  EXPECT_TRUE(cluster("auto").tls.offer_h2);
  EXPECT_FALSE(cluster("http1").tls.offer_h2);
  EXPECT_EQ(cluster("http2").pool.plain, http::Protocol::h2);
}

TEST(ProxyConfig, AFileWithListenersOrClustersIsAProxys) {
  const auto is = [](std::string_view text) {
    return is_proxy_file(*config::parse_yaml(text, "p.yaml"));
  };
  EXPECT_TRUE(is("listeners: {}"));
  EXPECT_TRUE(is("route: {}\nclusters:"));
  EXPECT_FALSE(is("route: {}"));
  EXPECT_FALSE(is("[listeners]"));
  EXPECT_FALSE(is(""));
}

TEST(ProxyConfig, ThePoliciesOfTheRoutesAreThereForTheLinter) {
  const auto file = load_proxy_file(kWhole, "p.yaml");
  ASSERT_TRUE(file);
  ASSERT_EQ(file->policies.routes.size(), 2U);
  EXPECT_EQ(file->policies.routes[0].name, "search");
  EXPECT_EQ(file->policies.routes[0].place, (config::SourceLocation{27, 3}));
  EXPECT_EQ(file->policies.routes[0].settings.policy.call.timeout, 800ms);
}

TEST(ProxyConfig, WhatIsPrintedIsReadAsTheSame) {
  const std::string printed = print_proxy(config_of(kWhole));
  EXPECT_EQ(print_proxy(config_of(printed)), printed);
}

// Sets about half of the values, and turns sections on or off.
template <class T>
void randomise(const config::Schema<T>& schema, T& thing, Random& random) {
  for (const config::Section& section : schema.sections()) {
    if (section.turn != nullptr) section.turn(&thing, random.draw() < 0.5);
  }
  for (const config::Key& key : schema.keys()) {
    if (key.form.parse != nullptr || key.form.read != nullptr || random.draw() < 0.5) continue;
    if (schema.is_on(key, thing)) {
      schema.set(key, thing, config::random_value(key.form, random));
    }
  }
}

template <class T>
void put_in_order(T& low, T& high) {
  if (low > high) std::swap(low, high);
}

// Most random values do not go together; without this hardly any file would load.
void make_consistent(ProxyConfig& config) {
  for (ListenerConfig& listener : config.listeners) {
    if (!listener.tls) continue;
    if (listener.tls->identity.empty()) listener.tls.reset();
  }
  for (ClusterConfig& cluster : config.clusters) {
    put_in_order(cluster.dns.min_refresh, cluster.dns.max_refresh);
    auto& breaker = cluster.replicas.breaker;
    breaker.open_cap = std::max(breaker.open_base, breaker.open_cap);
    put_in_order(cluster.tls.protocol.min_version, cluster.tls.protocol.max_version);
  }
  for (RouteConfig& route : config.routes) {
    if (route.admission) {
      auto& [limit, queue, longest_wait] = *route.admission;
      limit.max = std::max(limit.min, limit.max);
      limit.initial = std::clamp(limit.initial, limit.min, limit.max);
      queue.target = std::min(queue.target, queue.interval);
    }
    if (route.hash_policy && find_error(*route.hash_policy)) {
      route.hash_policy = HashPolicy{.header = "x-user"};
    }
  }
}

// Invariant (3), for whatever the table can hold and find_error() lets pass.
TEST(ProxyConfig, WhateverIsPrintedIsReadAsTheSame) {
  std::size_t loaded = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    ProxyConfig config = config_of(kWhole);
    randomise(proxy_schema(), config, random);
    for (auto& listener : config.listeners) randomise(listener_schema(), listener, random);
    for (auto& cluster : config.clusters) randomise(cluster_schema(), cluster, random);
    for (auto& route : config.routes) {
      randomise(route_schema(), route, random);
      if (random.draw() < 0.1) continue;
      route.direct_response.reset();  // It has a cluster.
      route.redirect.reset();
      route.health_page.reset();
    }
    if (random.draw() < 0.9) make_consistent(config);
    const std::string printed = print_proxy(config);
    const auto again = load_proxy(printed, "printed.yaml");
    if (!again) {  // Values that do not go together: tls without files, min over max.
      EXPECT_GT(again.error().place.line, 0) << to_string(again.error());
      continue;
    }
    ++loaded;
    EXPECT_EQ(print_proxy(*again), printed) << "seed " << seed;
  }
  EXPECT_GT(loaded, 100U);
}

}  // namespace
}  // namespace damper::proxy
