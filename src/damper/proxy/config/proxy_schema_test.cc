#include "damper/proxy/config/proxy_schema.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/config/schema_testing.h"
#include "damper/policy/file/schema.h"

namespace damper::proxy {
namespace {

TEST(ProxySchema, EachKeyHasAFieldOfItsOwnAValidDefaultAndADocumentedPath) {
  config::expect_sound(proxy_schema());
  config::expect_sound(listener_schema());
  config::expect_sound(cluster_schema());
  config::expect_sound(route_schema());
}

// Else one of the two would be read by no schema.
TEST(ProxySchema, NoWordOfARouteIsAWordOfThePolicysBlock) {
  for (const std::string_view word : route_schema().words()) {
    for (const std::string_view other : policy::block_schema().words()) EXPECT_NE(word, other);
  }
}

// The bounds of the schema are those of find_error() of each options struct: no value of the schema
// is refused by it, one by one.
TEST(ProxySchema, TheBoundsAreThoseOfTheOptionsThemselves) {
  const auto each_bound = [](const auto& schema, auto check) {
    for (const config::Key& key : schema.keys()) {
      if (key.form.parse != nullptr || key.form.read != nullptr) continue;
      for (const double bound : {key.form.low, key.form.high}) {
        typename std::remove_cvref_t<decltype(check)>::Thing thing{};
        schema.turn_all_on(thing);
        schema.set(key, thing, static_cast<std::int64_t>(bound));
        EXPECT_EQ(check(thing), std::nullopt) << key.path;
      }
    }
  };
  struct Listener {
    using Thing = ListenerConfig;
    auto operator()(const Thing& thing) const { return http::find_error(thing.limits); }
  };
  struct Pool {
    using Thing = ClusterConfig;
    auto operator()(const Thing& thing) const { return http::find_error(thing.pool); }
  };
  struct Dialer {
    using Thing = ClusterConfig;
    auto operator()(const Thing& thing) const { return http::find_error(thing.dialer); }
  };
  struct Budget {
    using Thing = ClusterConfig;
    auto operator()(const Thing& thing) const { return admit::find_error(*thing.retry_budget); }
  };
  struct RateLimit {
    using Thing = RouteConfig;
    auto operator()(const Thing& thing) const { return admit::find_error(*thing.rate_limit); }
  };
  each_bound(listener_schema(), Listener{});
  each_bound(cluster_schema(), Pool{});
  each_bound(cluster_schema(), Dialer{});
  each_bound(cluster_schema(), Budget{});
  each_bound(route_schema(), RateLimit{});
}

TEST(ProxySchema, ATextIsWrittenInQuotes) {
  RouteConfig route;
  const auto written = [&](std::string_view path) {
    return route_schema().write(route_schema().key_at(path), route);
  };
  EXPECT_EQ(written("match.hosts"), "");
  EXPECT_EQ(written("match.headers"), "");
  route.match.hosts = {"a", "b"};
  route.match.headers = {{.name = "x", .value = "1"}, {.name = "y"}};
  EXPECT_EQ(written("match.hosts"), R"(["a", "b"])");
  EXPECT_EQ(written("match.headers"),
            R"([{ name: "x", exact_match: "1" }, { name: "y", present_match: true }])");
  ProxyConfig proxy;
  proxy.admin.emplace();
  EXPECT_EQ(proxy_schema().write(proxy_schema().key_at("admin.address"), proxy),
            R"("127.0.0.1:9901")");
}

template <class T>
std::string read_with(const config::Schema<T>& schema, std::string_view yaml) {
  T thing{};
  const auto tree = config::parse_yaml(yaml, "p.yaml");
  if (!tree) return to_string(tree.error());
  const auto wrong = config::Reader("p.yaml").read(schema, *tree, {1, 1}, "it", thing);
  return wrong ? to_string(*wrong) : "ok";
}

enum class Thing : std::uint8_t { proxy, listener, cluster, route };

// The error, or "ok".
std::string read_as(Thing thing, std::string_view yaml) {
  switch (thing) {
    case Thing::proxy: return read_with(proxy_schema(), yaml);
    case Thing::listener: return read_with(listener_schema(), yaml);
    case Thing::cluster: return read_with(cluster_schema(), yaml);
    case Thing::route: return read_with(route_schema(), yaml);
  }
  return {};
}

struct Case {
  Thing thing;
  std::string_view yaml;
  std::string_view error;
};

TEST(ProxySchema, EachErrorIsOneSentenceWithItsPlace) {
  const std::vector<Case> cases = {
      {Thing::proxy, "[]",
       "1:1: it must be a map of keys (accepted: access_log, access_log_file, access_log_format, "
       "access_log_fields, max_kept_bytes, dns_resolvers, drain_time, drain_delay, "
       "threads, zone, tracing, "
       "admin, retry_budget, concurrency)"},
      {Thing::proxy, "thread: 1",
       "1:1: unknown key \"thread\" in it; did you mean threads? (accepted: access_log, "
       "access_log_file, access_log_format, access_log_fields, max_kept_bytes, dns_resolvers, "
       "drain_time, drain_delay, threads, zone, tracing, admin, retry_budget, concurrency)"},
      {Thing::proxy, "threads: 1\nconcurrency: 2",
       "2:1: concurrency is given twice, first in line 1"},
      {Thing::proxy, "threads: 257",
       "1:10: threads must be a whole number from 1 to 256, or auto, not \"257\""},
      {Thing::proxy, "access_log: al",
       "1:13: access_log must be one of off, failures, all, not \"al\"; did you mean all?"},
      {Thing::proxy, "access_log_format: xml",
       "1:20: access_log_format must be one of json, combined, not \"xml\""},
      {Thing::proxy, "access_log_fields: [time, referrer]",
       "1:20: access_log_fields has no word \"referrer\"; did you mean referer? (accepted: time, "
       "method, path, authority, route, cluster, replica, status, grpc_status, verdict, attempts, "
       "duration_ms, upstream_ms, bytes_in, bytes_out, traceparent, closed, client, protocol, "
       "user_agent, request_id, trace_id, referer)"},
      {Thing::proxy, "tracing: {collector: 'collector:4318'}",
       "1:22: collector must be a URL such as http://127.0.0.1:4318, not \"collector:4318\": a URL "
       "begins with "
       "http:// or https://"},
      {Thing::proxy, "tracing: {sampling: 101}",
       "1:21: sampling must be a percentage from 0 to 100 with at most two decimals, not \"101\""},
      {Thing::proxy, "tracing: {service_name: \"a\\u00e9\"}",
       "1:25: service_name must be 1 to 256 printable ASCII characters, not "
       "\"a\\xc3\\xa9\""},
      {Thing::proxy, "tracing: {failures_per_second: -1}",
       "1:32: failures_per_second must be a whole number from 0 to 100000, not \"-1\""},
      {Thing::proxy, "tracing: {timeout: 0s}",
       "1:20: timeout must be a duration from 10ms to 1m, such as 250ms, 2s or 1.5m, not \"0s\""},
      {Thing::proxy, "tracing: {interval: 2m}",
       "1:21: interval must be a duration from 10ms to 1m, such as 250ms, 2s or 1.5m, not \"2m\""},
      {Thing::proxy, "tracing: {max_batch_size: 0}",
       "1:27: max_batch_size must be a whole number from 1 to 10000, not \"0\""},
      {Thing::proxy, "tracing: {max_queue_size: 1}",
       "1:27: max_queue_size must be a whole number from 16 to 1000000, not \"1\""},
      {Thing::proxy, "admin: yes", "1:8: admin must be on, off or a map of keys, not \"yes\""},
      {Thing::proxy, "admin: {adress: a}",
       "1:9: unknown key \"adress\" in admin; did you mean address? (accepted: address, "
       "token_file)"},
      {Thing::proxy, "admin: {address: 9901}",
       "1:18: address must be ADDRESS:PORT, such as 127.0.0.1:8080, [::1]:8080, or :8080 for "
       "127.0.0.1, not \"9901\": it has no port"},
      {Thing::proxy, "retry_budget: {budget_percent: 2000}",
       "1:32: budget_percent must be a percentage from 0 to 1000 with at most two decimals, not "
       "\"2000\""},
      {Thing::proxy,
       "access_log_file:", "1:1: access_log_file must be the name of a file, not nothing"},
      {Thing::listener, "address: [1]",
       "1:10: address must be ADDRESS:PORT, such as 127.0.0.1:8080, [::1]:8080, or :8080 for "
       "127.0.0.1, or a Unix socket such as unix:/run/damper.sock, not a list"},
      {Thing::listener, "tls:",
       "1:1: tls must be a map of keys (accepted: certificate_file, key_file, certificates, "
       "reject_unknown_names, client_ca_file, require_client_certificate, min_version, "
       "max_version, cipher_suites, curves, session_timeout, certificate_chain, private_key, "
       "tls_minimum_protocol_version, tls_maximum_protocol_version, ecdh_curves, trusted_ca)"},
      {Thing::listener, "idle_timeout: 0s",
       "1:15: idle_timeout must be a duration from 1ns to 720h, such as 250ms, 2s or 1.5m, not "
       "\"0s\""},
      {Thing::listener, "max_request_headers: 64KB",
       "1:22: max_request_headers must be a number of bytes from 1KiB to 1MiB, such as 4096, 64KiB "
       "or 1MiB, not \"64KB\""},
      {Thing::cluster, "endpoints: []",
       "1:12: endpoints must be a list of 1 to 256, each a URL such as http://10.0.0.1:9000, "
       "or unix:/run/app.sock, or http+srv://_http._tcp.shop.example, not an empty list"},
      {Thing::cluster, "endpoints: {a: b}",
       "1:12: endpoints must be a list of 1 to 256, each a URL such as http://10.0.0.1:9000, "
       "or unix:/run/app.sock, or http+srv://_http._tcp.shop.example, not a map"},
      {Thing::cluster, "endpoints: [http://a, ftp://b]",
       "1:23: endpoints must be a URL such as http://10.0.0.1:9000, or unix:/run/app.sock, or "
       "http+srv://_http._tcp.shop.example, not \"ftp://b\": a URL begins with http:// or "
       "https://"},
      {Thing::cluster, "protocol: h2",
       "1:11: protocol must be one of auto, http1, http2, not \"h2\""},
      {Thing::cluster, "circuit_breakers: {max_requests: 1}",
       "1:20: unknown key \"max_requests\" in circuit_breakers (accepted: max_connections, "
       "max_pending_requests, retry_budget)"},
      {Thing::cluster, "max_connections: 1\ncircuit_breakers: {max_connections: 1}",
       "2:20: circuit_breakers.max_connections is given twice, first in line 1"},
      {Thing::route, "match: {hosts: []}",
       "1:16: hosts must be a list of 1 to 256, each a host such as shop.example or "
       "*.shop.example, without a port, not an empty list"},
      {Thing::route, "match: {hosts: ['*']}",
       "1:17: hosts must be a host such as shop.example or *.shop.example, without a port, not "
       "\"*\": leave hosts out to take every host"},
      {Thing::route, "match: {prefix: api}",
       "1:17: prefix must be a path from / on, without a query, not \"api\""},
      {Thing::route, "match: {methods: [get]}",
       "1:19: methods must be a method in capitals, such as GET, not \"get\""},
      {Thing::route, "match: {headers: {Host: a}}",
       "1:19: a header must be the name of a header field, such as x-canary, not \"Host\": hosts "
       "is "
       "for that"},
      {Thing::route, "match: {headers: {x-a: ' b'}}",
       "1:24: x-a must be a field's value: printable characters, no space at its ends, not \" b\""},
      {Thing::route, "match: {headers: [{name: a, present_match: false}]}",
       "1:19: headers must be a map from names to values, without a value for any, or a list of "
       "{name: NAME, exact_match: VALUE} or {name: NAME, present_match: true}"},
      {Thing::route, "match: {headers: x}",
       "1:18: headers must be a map from names to values, without a value for any, or a list of "
       "{name: NAME, exact_match: VALUE} or {name: NAME, present_match: true}"},
      {Thing::route, "cluster: a b",
       "1:10: cluster must be 1 to 100 letters, digits or . _ - / :, not \"a b\""},
      {Thing::route, "request_buffer: 17MiB",
       "1:17: request_buffer must be a number of bytes from 0 to 16MiB, such as 4096, 64KiB or "
       "1MiB, not \"17MiB\""},
      {Thing::route, "request_headers_to_add: {Content-Length: 5}",
       "1:26: request_headers_to_add must be the name of a header field, such as x-team, not "
       "\"Content-Length\": the codec writes the fields of a connection itself"},
      {Thing::route, "response_headers_to_set: {damper-verdict: x}",
       "1:27: response_headers_to_set must be the name of a header field, such as x-team, not "
       "\"damper-verdict\": the proxy writes this field itself"},
      {Thing::route, "request_headers_to_set: {host: x}",
       "1:26: request_headers_to_set must be the name of a header field, such as x-team, not "
       "\"host\": host_rewrite is for that"},
      {Thing::route, "request_headers_to_remove: [te]",
       "1:29: request_headers_to_remove must be the name of a header field, such as x-team, not "
       "\"te\": the codec writes the fields of a connection itself"},
      {Thing::route, "response_headers_to_add: [x]",
       "1:26: response_headers_to_add must be a map from names to values, at most 256"},
      {Thing::route, "response_headers_to_add: {x-a: '%COUNTRY%'}",
       "1:32: x-a must be a field's value: printable characters, no space at its ends, "
       "%CLIENT_ADDRESS%, %REQUEST_ID%, %HOST% or %ROUTE% for a variable, and %% for a percent "
       "sign, not \"%COUNTRY%\": there is no variable %COUNTRY%"},
      {Thing::route, "direct_response: {status: 199}",
       "1:27: status must be a whole number from 200 to 599, not \"199\""},
      {Thing::route, "redirect: {host: 'a/b'}",
       "1:18: host must be a host such as shop.example or 10.0.0.1:8080, not \"a/b\": an endpoint "
       "has neither path nor query"},
      {Thing::route, "redirect: {scheme: ftp}", "1:20: scheme must be http or https, not \"ftp\""},
      {Thing::route, "rate_limit: {requests_per_second: 0}",
       "1:35: requests_per_second must be a number from 0.001 to 100000000, with at most three "
       "decimals, not \"0\""},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(read_as(one.thing, one.yaml), "p.yaml:" + std::string(one.error)) << one.yaml;
  }
  std::string long_list = "endpoints: [http://a";
  for (int i = 0; i < 256; ++i) long_list += ", http://a" + std::to_string(i);
  EXPECT_EQ(read_as(Thing::cluster, long_list + "]"),
            "p.yaml:1:12: endpoints must be a list of 1 to 256, each a URL such as "
            "http://10.0.0.1:9000, or unix:/run/app.sock, or http+srv://_http._tcp.shop.example, "
            "not a list of 257");
}

TEST(ProxySchema, HeadersAreAMapOrEnvoysList) {
  for (const std::string_view yaml :
       {"match: {headers: {X-A: 1, x-b: }}",
        "match: {headers: [{name: x-a, exact_match: 1}, {name: x-b, present_match: true}]}"}) {
    RouteConfig route;
    const auto tree = config::parse_yaml(yaml, "p.yaml");
    EXPECT_FALSE(config::Reader("p.yaml").read(route_schema(), *tree, {1, 1}, "it", route));
    ASSERT_EQ(route.match.headers.size(), 2U);
    EXPECT_EQ(route.match.headers[0].name, "x-a");
    EXPECT_EQ(route.match.headers[0].value, "1");
    EXPECT_EQ(route.match.headers[1].value, std::nullopt);
  }
}

TEST(ProxySchema, ASecondMapGoesOverTheFirstAndWhatItDoesNotSayStays) {
  RouteConfig route;
  config::Reading reading;
  const auto read = [&](std::string_view yaml) {
    const auto tree = config::parse_yaml(yaml, "p.yaml");
    EXPECT_FALSE(
        config::Reader("p.yaml").read(route_schema(), *tree, {9, 9}, "it", route, &reading));
  };
  read("{request_buffer: 1KiB, rate_limit: {requests_per_second: 5, burst: 6}}");
  read("{response_buffer: 2KiB, rate_limit: {burst: 7}}");
  EXPECT_EQ(route.request_buffer, 1024U);
  EXPECT_EQ(route.response_buffer, 2048U);
  EXPECT_EQ(route.rate_limit->rate_per_second, 5);
  EXPECT_EQ(route.rate_limit->burst, 7);
  EXPECT_EQ(route_schema().place_of(reading, "rate_limit.burst"), (config::SourceLocation{1, 45}));
  EXPECT_EQ(route_schema().place_of(reading, "cluster"), (config::SourceLocation{9, 9}));
  read("{rate_limit: off}");
  EXPECT_FALSE(route.rate_limit);
}

}  // namespace
}  // namespace damper::proxy
