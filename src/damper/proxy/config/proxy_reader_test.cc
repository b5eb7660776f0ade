#include "damper/proxy/config/proxy_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace damper::proxy {
namespace {

// What is wrong with the thing, or "ok".
std::string read_as(Thing thing, std::string_view yaml) {
  ProxyConfig proxy;
  ListenerConfig listener{.name = "l"};
  ClusterConfig cluster{.name = "c", .endpoints = {}};
  RouteConfig route{.name = "r", .cluster = {}};
  const auto tree = config::parse_yaml(yaml, "p.yaml");
  if (!tree) return to_string(tree.error());
  Said said;
  const auto wrong =
      read_thing(thing, {&proxy, &listener, &cluster, &route}, *tree, {1, 1}, "it", "p.yaml", said);
  return wrong ? to_string(*wrong) : "ok";
}

struct Case {
  Thing thing;
  std::string_view yaml;
  std::string_view error;
};

TEST(ProxyReader, EachErrorIsOneSentenceWithItsPlace) {
  const std::vector<Case> cases = {
      {Thing::proxy, "[]",
       "1:1: it must be a map of keys (accepted: access_log, access_log_file, drain_time, threads, "
       "admin, retry_budget, concurrency)"},
      {Thing::proxy, "thread: 1",
       "1:1: unknown key \"thread\" in it; did you mean threads? (accepted: access_log, "
       "access_log_file, drain_time, threads, admin, retry_budget, concurrency)"},
      {Thing::proxy, "threads: 1\nconcurrency: 2",
       "2:1: concurrency is given twice, first in line 1"},
      {Thing::proxy, "threads: 257",
       "1:10: threads must be a whole number from 1 to 256, or auto, not \"257\""},
      {Thing::proxy, "access_log: al",
       "1:13: access_log must be one of off, failures, all, not \"al\"; did you mean all?"},
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
       "127.0.0.1, not a list"},
      {Thing::listener, "tls:",
       "1:1: tls must be a map of keys (accepted: certificate_file, key_file, client_ca_file, "
       "require_client_certificate, certificate_chain, private_key, trusted_ca)"},
      {Thing::listener, "idle_timeout: 0s",
       "1:15: idle_timeout must be a duration from 1ns to 720h, such as 250ms, 2s or 1.5m, not "
       "\"0s\""},
      {Thing::listener, "max_request_headers: 64KB",
       "1:22: max_request_headers must be a number of bytes from 1KiB to 1MiB, such as 4096, 64KiB "
       "or 1MiB, not \"64KB\""},
      {Thing::cluster, "endpoints: []",
       "1:12: endpoints must be a list of 1 to 256, each a URL such as http://10.0.0.1:9000, not "
       "an "
       "empty list"},
      {Thing::cluster, "endpoints: {a: b}",
       "1:12: endpoints must be a list of 1 to 256, each a URL such as http://10.0.0.1:9000, not "
       "this map"},
      {Thing::cluster, "endpoints: [http://a, ftp://b]",
       "1:23: endpoints must be a URL such as http://10.0.0.1:9000, not \"ftp://b\": a URL begins "
       "with http:// or https://"},
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
       "{name: NAME, exact_match: VALUE} or {name: NAME, present_match: true}, not this map"},
      {Thing::route, "match: {headers: x}",
       "1:18: headers must be a map from names to values, without a value for any, or a list of "
       "{name: NAME, exact_match: VALUE} or {name: NAME, present_match: true}, not a word"},
      {Thing::route, "cluster: a b",
       "1:10: cluster must be 1 to 100 letters, digits or . _ - / :, not \"a b\""},
      {Thing::route, "request_buffer: 17MiB",
       "1:17: request_buffer must be a number of bytes from 0 to 16MiB, such as 4096, 64KiB or "
       "1MiB, not \"17MiB\""},
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
            "http://10.0.0.1:9000, not a longer list");
}

TEST(ProxyReader, HeadersAreAMapOrEnvoysList) {
  for (const std::string_view yaml :
       {"match: {headers: {X-A: 1, x-b: }}",
        "match: {headers: [{name: x-a, exact_match: 1}, {name: x-b, present_match: true}]}"}) {
    RouteConfig route{.name = "r", .cluster = {}};
    const auto tree = config::parse_yaml(yaml, "p.yaml");
    Said said;
    EXPECT_FALSE(read_thing(Thing::route, {.route = &route}, *tree, {1, 1}, "it", "p.yaml", said));
    ASSERT_EQ(route.match.headers.size(), 2U);
    EXPECT_EQ(route.match.headers[0].name, "x-a");
    EXPECT_EQ(route.match.headers[0].value, "1");
    EXPECT_EQ(route.match.headers[1].value, std::nullopt);
  }
}

TEST(ProxyReader, ASecondMapGoesOverTheFirstAndWhatItDoesNotSayStays) {
  RouteConfig route{.name = "r", .cluster = {}};
  Said said;
  const auto read = [&](std::string_view yaml) {
    const auto tree = config::parse_yaml(yaml, "p.yaml");
    EXPECT_FALSE(read_thing(Thing::route, {.route = &route}, *tree, {1, 1}, "it", "p.yaml", said));
  };
  read("{request_buffer: 1KiB, rate_limit: {requests_per_second: 5, burst: 6}}");
  read("{response_buffer: 2KiB, rate_limit: {burst: 7}}");
  EXPECT_EQ(route.request_buffer, 1024U);
  EXPECT_EQ(route.response_buffer, 2048U);
  EXPECT_EQ(route.rate_limit->rate_per_second, 5);
  EXPECT_EQ(route.rate_limit->burst, 7);
  read("{rate_limit: off}");
  EXPECT_FALSE(route.rate_limit);
  EXPECT_EQ(said.at(Thing::route, "rate_limit.burst"), (config::SourceLocation{1, 45}));
  EXPECT_EQ(said.at(Thing::route, "cluster"), said.place);
}

TEST(ProxyReader, AMapIsSplitByItsKeys) {
  const auto tree = config::parse_yaml("{a: 1, b: 2, c: 3}", "p.yaml");
  constexpr std::string_view kWords[] = {"b", "x"};
  const Halves halves = split(*tree, kWords);
  ASSERT_EQ(halves.among.pairs(), 1U);
  EXPECT_EQ(halves.among.value(0).text, "2");
  ASSERT_EQ(halves.others.pairs(), 2U);
  EXPECT_EQ(halves.others.key(1).text, "c");
  EXPECT_EQ(split(*config::parse_yaml("word", "p.yaml"), kWords).others.text, "word");
}

}  // namespace
}  // namespace damper::proxy
