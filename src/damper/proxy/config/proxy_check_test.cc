#include "damper/proxy/config/proxy_check.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "damper/proxy/config/proxy_schema.h"

namespace damper::proxy {
namespace {

constexpr std::string_view kTop =
    "listeners: {l: {address: ':80'}}\nclusters: {c: {endpoints: http://a}}\n";

std::string error_of(std::string_view text, const Flags& flags = {}) {
  const auto config = load_proxy(text, "p.yaml", flags);
  return config ? "ok" : to_string(config.error());
}
// With a listener and a cluster in lines 1 and 2.
std::string error_with(std::string_view rest) {
  return error_of(std::string(kTop) + std::string(rest));
}

std::string notes_with(std::string_view text) {
  const auto config = load_proxy(text, "p.yaml");
  EXPECT_TRUE(config) << to_string(config.error());
  std::string notes;
  for (std::size_t i = 0; config && i < config->notes.size(); ++i) {
    notes += to_string(config->notes[i]) + '\n';
  }
  return notes;
}

TEST(ProxyCheck, ALimitByClientIsANumberOrOff) {
  constexpr std::string_view kBegin =
      "listeners: {l: {address: ':80', max_connections_per_client: ";
  constexpr std::string_view kEnd = "}}\nclusters: {c: {endpoints: http://a}}\n";
  const auto error = [&](std::string_view value) {
    return error_of(std::string(kBegin) + std::string(value) + std::string(kEnd));
  };
  EXPECT_EQ(error("100"), "ok");
  EXPECT_EQ(error("off"), "ok");
  EXPECT_EQ(error("1000001").substr(0, 58),
            "p.yaml:1:61: max_connections_per_client must be a whole nu");
}

TEST(ProxyCheck, HealthChecksAreChecked) {
  const auto with = [](const std::string& checks, const std::string& more = "") {
    return "listeners: {l: {address: ':80'}}\nclusters: {c: {endpoints: http://a" + more +
           ", health_checks: " + checks + "}}\n";
  };
  const auto error = [&](const std::string& checks, const std::string& more = "") {
    const std::string text = error_of(with(checks, more));
    return text == "ok" ? text : text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(error("on"), "ok");
  EXPECT_EQ(error("{type: grpc, service_name: a.B, host: 'x:80', panic_threshold: 0}"), "ok");
  EXPECT_EQ(error("{type: grpc}", ", protocol: http1"),
            "cluster c has health_checks of type grpc, which needs HTTP/2, but protocol http1");
  EXPECT_EQ(
      error("{expected_statuses: [200, 2xx]}").substr(0, 90),
      "expected_statuses must be a status such as 200, or a range such as 200-299, not \"2xx\"");
  EXPECT_NE(error("{expected_statuses: 299-200}").find("the second status is below the first"),
            std::string::npos);
  for (const std::string bad :
       {"{type: udp}", "{path: ready}", "{service: 'a b'}", "{interval: 1ms}", "{timeout: 0s}",
        "{interval_jitter: 2h}", "{unhealthy_interval: 0s}", "{unhealthy_threshold: 0}",
        "{healthy_threshold: 101}", "{panic_threshold: 101}", "{host: 'a/b'}", "{send: x}"}) {
    EXPECT_NE(error_of(with(bad)), "ok") << bad;
  }
  EXPECT_EQ(error("{path: '/healthz?full=1'}"), "ok");
  EXPECT_EQ(error("{path: '/health z'}"),
            "path must be a path from / on, with a query or without, not \"/health z\"");
  const auto loaded = load_proxy(with("{expected_statuses: [200-204, 404]}"), "p.yaml");
  ASSERT_TRUE(loaded);
  const HealthCheckOptions& options = *loaded->clusters[0].health_check;
  EXPECT_TRUE(is_expected(options.expected_statuses, 204));
  EXPECT_TRUE(is_expected(options.expected_statuses, 404));
  EXPECT_FALSE(is_expected(options.expected_statuses, 205));
  EXPECT_NE(notes_with(with("{interval: 1s, timeout: 2s}")).find("a timeout over its interval"),
            std::string::npos);
}

TEST(ProxyCheck, WhatIsWrongBetweenThingsIsOneSentenceWithItsPlace) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"route: {cluster: cc}",
       "3:18: route default goes to the cluster \"cc\", which there is not; did you mean c?"},
      {"route: {match: {path: /a, prefix: /a}}", "3:35: route default has both path and prefix"},
      {"route: {prefix_rewrite: /b}",
       "3:25: route default has prefix_rewrite but no match.prefix whose place it could take"},
      {"route: {admission_control: {kind: aimd, min: 10, initial: 5}}",
       "3:35: route default: admission_control: limit.initial is 5; it must be from 10 to 1000"},
      {"route: {admission_control: {queue_interval: 5ms, queue_target: 6ms}}",
       "3:1: route default: admission_control: queue.target is 6ms; it must be "},
      {"route: {admission_control: {queue_interval: 31s}}",
       "3:45: queue_interval must be a duration from 1ms to 30s, such as "},
      {"route: {client_rate_limit: {max_clients: 8}}",
       "3:42: max_clients must be a whole number from 16 to 1000000, not \"8\""},
      {"route: {client_rate_limit: {header: host}}", "3:37: header must be the name of a head"},
      {"route: {client_rate_limit: {requests_per_second: 0}}",
       "3:50: requests_per_second must be a number from 0.00"},
      {"defaults: {match: {path: /a}}",
       "3:12: match cannot stand in defaults: each route has its own"},
      {"access_log_fields: []",
       "3:20: access_log_fields must be a list of one or more of time, method, path, "},
      {"access_log_fields: ''",
       "3:20: access_log_fields must be a list of one or more of time, method, path, "},
      {"drain_delay: 2h", "3:14: drain_delay must be a duration from 0s to 1h, such as "},
      {"route: {request_headers_to_set: {x-a: 1, X-A: 2}}",
       "3:33: route default has the field x-a twice in request_headers_to_set"},
      {"route: {request_headers_to_add: {x-a: 1, x-b: 1, X-A: 2}}",
       "3:33: route default has the field x-a twice in request_headers_to_add"},
      {"route: {response_headers_to_set: {x-a: 1, X-A: 2}}",
       "3:34: route default has the field x-a twice in response_headers_to_set"},
      {"route: {response_headers_to_add: {x-a: 1, X-A: 2}}",
       "3:34: route default has the field x-a twice in response_headers_to_add"},
      {"route: {request_headers_to_remove: [x-a, X-A]}",
       "3:36: route default has the field x-a twice in request_headers_to_remove"},
      {"defaults: {response_headers_to_remove: [x-a, x-b, X-a]}",
       "3:40: route default has the field x-a twice in response_headers_to_remove"},
      {"admin: {address: '0.0.0.0:9901'}",
       "3:18: admin listens on 0.0.0.0:9901, which is not loopback, and so needs a token_file"},
      {"admin: {address: ':80'}",
       "3:18: admin cannot listen on 127.0.0.1:80: listener l does already"},
      {"route: {}\nroutes: {a: {}}",
       "4:1: routes cannot stand beside route: a file has one of route, routes and dependencies"},
      {"routes: {}", "3:1: routes must be a map from names to routes"},
      {"routes: {a b: {}}",
       "3:10: a name must be 1 to 100 letters, digits or . _ - / :, not \"a b\""},
      {"route: {timeout: 1x}",
       "3:18: timeout must be a duration from 1ns to 720h, such as 250ms, 2s or 1.5m, not \"1x\""},
      {"route: {facts: {calls: [x]}}", "3:24: "},
      {"listener: {}",
       "3:1: unknown key \"listener\" in the file; did you mean "
       "listeners? (accepted: listeners, clusters, route, routes, dependencies, "
       "defaults, access_log, access_log_file, access_log_format, access_log_fields, "
       "max_kept_bytes, dns_resolvers, drain_time, drain_delay, threads, zone, tracing, admin, "
       "retry_budget, "
       "concurrency)"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_EQ(error_with(text).substr(0, 7 + error.size()), "p.yaml:" + std::string(error)) << text;
  }
  EXPECT_EQ(error_with("route: {}"), "ok");
  EXPECT_EQ(error_with(""), "ok");
}

TEST(ProxyCheck, AMisspeltWordOfARouteFindsTheProxysWordsAndThePolicys) {
  const std::string error = error_with("route: {clutser: c}");
  EXPECT_EQ(error.substr(0, error.find(" (")),
            "p.yaml:3:9: unknown key \"clutser\" in route; did you mean cluster?");
  for (const std::string_view word : {"match", "rate_limit", "retry_policy", "timeout"}) {
    EXPECT_NE(error.find(word), std::string::npos) << word;
  }
  EXPECT_NE(error_with("routes: {a: {timeot: 1s}}").find("did you mean timeout?"),
            std::string::npos);
}

TEST(ProxyCheck, OfSeveralErrorsTheFirstInTheFileIsTold) {
  EXPECT_EQ(error_with("route:\n  timeout: x\n  cluster: a b").substr(0, 19),
            "p.yaml:4:12: timeou");
  EXPECT_EQ(error_with("route:\n  cluster: a b\n  timeout: x").substr(0, 19),
            "p.yaml:4:12: cluste");
}

TEST(ProxyCheck, ListenersAndClustersAreHeldAgainstEachOther) {
  const std::string clusters = "clusters: {c: {endpoints: http://a}}\n";
  const std::string listeners = "listeners: {l: {address: ':80'}}\n";
  const std::vector<std::pair<std::string, std::string_view>> cases = {
      {"", "p.yaml:1:1: the file has no listeners: say where to listen, or use --listen"},
      {"word", "p.yaml:1:1: the file must be a map of keys (accepted: listeners, "},
      {"route: {}", "p.yaml:1:1: the file has no listeners: say where to listen, or use --listen"},
      {listeners, "p.yaml:1:1: the file has no clusters: say where requests go, or use --to"},
      {clusters + "listeners: []", "p.yaml:2:1: listeners must be a map from names to listeners"},
      {clusters + "listeners: {a b: {}}",
       "p.yaml:2:13: a name must be 1 to 100 letters, digits or . _ - / :, not \"a b\""},
      {clusters + "listeners: {l: {}}", "p.yaml:2:13: listener l needs the key address"},
      {clusters + "listeners: {l: {adress: ':80'}}",
       "p.yaml:2:17: unknown key \"adress\" in listener l; did you mean address? (accepted: "},
      {clusters + "listeners: {l: {address: ':80', trust: [10.0.0.0/8, all]}}",
       "p.yaml:2:40: listener l: trust: \"all\" stands alone, without networks"},
      {clusters + "listeners: {l: {address: ':80', trust: 10.0.0.1/8}}",
       "p.yaml:2:40: trust must be auto, none, all, or a network such as "
       "10.0.0.0/8 or ::1, not \"10.0.0.1/8\": its length is out of bounds, or it has bits after"},
      {clusters + "listeners: {l: {address: ':80', proxy_protocol: [10.0.0.0/8, all]}}",
       "p.yaml:2:49: listener l: proxy_protocol: \"all\" stands alone, without networks"},
      {clusters + "listeners: {l: {address: ':80', proxy_protocol: auto}}",
       "p.yaml:2:49: proxy_protocol must be none, all, or a network such as 10.0.0.0/8 or ::1, not "
       "\"auto\""},
      {clusters + "listeners: {l: {address: ':80', trust: everyone}}",
       "p.yaml:2:40: trust must be auto, none, all, or a network such as "
       "10.0.0.0/8 or ::1, not \"everyone\""},
      {clusters + "listeners: {l: {address: ':80', protocol: http3}}",
       "p.yaml:2:43: protocol must be one of auto, http1, http2, not \"http3\""},
      {clusters + "listeners: {l: {address: ':80', normalize_path: maybe}}",
       "p.yaml:2:49: normalize_path must be true or false, not \"maybe\""},
      {clusters + "listeners: {l: {address: ':80', escaped_slashes: unescape}}",
       "p.yaml:2:50: escaped_slashes must be one of keep, refuse, not \"unescape\""},
      {clusters + listeners + "defaults: {request_buffering: true, request_buffer: 0}",
       "p.yaml:3:31: route default has request_buffering, but request_buffer is 0: nothing can be "
       "kept"},
      {clusters + listeners + "max_kept_bytes: 1000",
       "p.yaml:3:17: max_kept_bytes must be a number of bytes from 1MiB to 1024GiB, or auto, such "
       "as 4096, 64KiB or 1MiB"},
      {clusters + listeners + "defaults: {trust_idempotency_key: 7}",
       "p.yaml:3:35: trust_idempotency_key must be true or false, not \"7\""},
      {clusters + "listeners: {l: {address: ':80'}, l: {address: ':81'}}",
       "p.yaml:2:34: key \"l\" is given twice, first in line 2"},
      {clusters + "listeners: {l: {address: ':80'}, m: {address: 'localhost:80'}}",
       "p.yaml:2:47: listener m cannot listen on 127.0.0.1:80: listener l does already"},
      {clusters + "listeners: {l: {address: ':0'}, m: {address: ':0'}}", "ok"},
      {clusters + "listeners: {l: {address: ':80', tls: {certificate_file: a}}}",
       "p.yaml:2:57: listener l has tls but not both of certificate_file and key_file"},
      {clusters + "listeners: {l: {address: ':80', tls: on}}",
       "p.yaml:2:13: listener l has tls but not both of certificate_file and key_file"},
      {clusters + "listeners: {l: {address: ':80', tls: {certificate_file: a, key_file: b, "
                  "require_client_certificate: true}}}",
       "p.yaml:2:101: listener l has require_client_certificate but no client_ca_file to check "
       "one"},
      {listeners + "clusters: {c: {protocol: http2}}",
       "p.yaml:2:12: cluster c needs the key endpoints"},
      {listeners + "clusters: {c: {endpoints: [http://a, 'http://A:80/']}}",
       "p.yaml:2:27: cluster c has the endpoint \"http://a\" twice"},
      {listeners + "clusters: {c: {endpoints: [http://a, https://b]}}",
       "p.yaml:2:27: cluster c has endpoints of http and of https: they must be of one"},
      {listeners + "clusters: {c: {endpoints: https://a, tls: {key_file: k}}}",
       "p.yaml:2:54: cluster c has one of certificate_file and key_file: both are needed"},
      {listeners + "clusters: {c: {endpoints: http://a, outlier_detection: {base_ejection_time: "
                   "60s}}}",
       "p.yaml:2:77: cluster c: outlier_detection: "},
      {listeners + "clusters: {c: {endpoints: http://a}, d: {endpoints: http://b}}\nroute: {}",
       "p.yaml:3:1: route default needs a cluster, since there are 2"},
      {listeners + "clusters: {c: {endpoints: http://a}, d: {endpoints: http://b}}",
       "p.yaml:1:1: the file has no routes, and more than one cluster"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_EQ(error_of(text).substr(0, error.size()), error) << text;
  }
}

TEST(ProxyCheck, TooManyThingsAreRefused) {
  std::string listeners = "clusters: {c: {endpoints: http://a}}\nlisteners:\n";
  for (std::size_t i = 0; i <= kMostListeners; ++i) {
    listeners += "  l" + std::to_string(i) + ": {address: ':0'}\n";
  }
  EXPECT_EQ(error_of(listeners), "p.yaml:2:1: listeners has more than 64 entries");
  std::string routes(kTop);
  routes += "routes:\n";
  for (int i = 0; i <= 1000; ++i) routes += "  r" + std::to_string(i) + ": {}\n";
  EXPECT_EQ(error_of(routes), "p.yaml:3:1: routes has more than 1000 entries");
  EXPECT_EQ(error_of(std::string((1 << 20) + 1, ' ')),
            "p.yaml: is larger than 1 MiB; a policy file has at most 1048576 bytes");
  EXPECT_EQ(error_of("listeners: " + std::string(40, '[') + std::string(40, ']')),
            "p.yaml:1:43: the file is nested deeper than 32 levels");
}

TEST(ProxyCheck, FlagsAreHeldToTheSameRules) {
  const Flags to{.to = {"http://a"}};
  const std::vector<std::pair<Flags, std::string_view>> cases = {
      {{.listen = {"80"}, .to = {"http://a"}},
       "--listen: must be ADDRESS:PORT, such as 127.0.0.1:8080, [::1]:8080, or :8080 for "
       "127.0.0.1, or a Unix socket such as unix:/run/damper.sock, not \"80\": it has no port"},
      {{.listen = {":80"}, .to = {"a:80"}},
       "--to: must be a URL such as http://10.0.0.1:9000, or unix:/run/app.sock, or "
       "http+srv://_http._tcp.shop.example, not \"a:80\": a URL begins with http:// or https://"},
      {{.listen = {":80"}, .to = {"http://a"}, .admin = "x"},
       "--admin: must be ADDRESS:PORT, such as 127.0.0.1:8080, [::1]:8080, or :8080 for "
       "127.0.0.1, not \"x\": it has no port"},
      {{.listen = {":80"}},
       "p.yaml:1:1: the file has no clusters: say where requests go, or use --to"},
      {{.listen = std::vector<std::string>(65, ":0"), .to = {"http://a"}},
       "--listen: is given more than 64 times"},
      {{.listen = {":80"}, .to = std::vector<std::string>(257, "http://a")},
       "--to: is given more than 256 times"},
      {{.listen = {":80", ":80"}, .to = {"http://a"}},
       "p.yaml: listener default-2 cannot listen on 127.0.0.1:80: listener default does already"},
      {{.listen = {":80"}, .to = {"http://a"}, .admin = ":9901"}, "ok"},
      {{.listen = {":9901"}, .to = {"http://a"}}, "ok"},
      {{.listen = {":9901"}, .to = {"http://a"}, .default_admin = true},
       "p.yaml:1:1: admin cannot listen on 127.0.0.1:9901: listener default does already"},
      {{.listen = {"0.0.0.0:9901"}, .to = {"http://a"}, .default_admin = true},
       "p.yaml:1:1: admin cannot listen on 127.0.0.1:9901: listener default does on 0.0.0.0:9901, "
       "which is in part the same"},
      {{.listen = {":9901"}, .to = {"http://a"}, .admin_off = true, .default_admin = true}, "ok"},
      {{.listen = {":80"}, .to = {"http://a"}, .admin = "0.0.0.0:9901"},
       "p.yaml:1:1: admin listens on 0.0.0.0:9901, which is not loopback, and so needs a "
       "token_file"},
      {{.listen = {":80"}, .to = {"http://a"}, .admin = "0.0.0.0:9901", .token_file = "/t"}, "ok"},
  };
  for (const auto& [flags, error] : cases) EXPECT_EQ(error_of("", flags), error);
  EXPECT_EQ(error_of(kTop, {.listen = {":81"}}),
            "--listen: the file has listeners of its own: one of both is enough");
  EXPECT_EQ(error_of(kTop, to), "--to: the file has clusters of its own: one of both is enough");
  EXPECT_EQ(error_of("listeners: {l: {address: ':80'}}", to), "ok");
}

TEST(ProxyCheck, AdminPagesThatTheFileTurnsOffAreOffByDefaultToo) {
  const std::string text = std::string(kTop) + "\nadmin: off\n";
  EXPECT_FALSE(load_proxy(text, "p.yaml", {.default_admin = true})->admin);
  EXPECT_TRUE(load_proxy(kTop, "p.yaml", {.default_admin = true})->admin);
  EXPECT_TRUE(load_proxy(text, "p.yaml", {.admin = ":9902", .default_admin = true})->admin);
}

TEST(ProxyCheck, WhatIsOnlyStrangeIsANote) {
  EXPECT_EQ(notes_with("listeners: {l: {address: ':80'}}\n"
                       "clusters:\n"
                       "  c: {endpoints: http://a, tls: {ca_file: x}}\n"
                       "  d: {endpoints: http://b}\n"
                       "routes:\n"
                       "  a: {cluster: c, match: {prefix: /a}}\n"
                       "  b: {cluster: c, match: {path: /a/b}}\n"
                       "access_log: off\n"
                       "access_log_file: x\n"
                       "access_log_format: combined\n"
                       "access_log_fields: [time]\n"),
            "p.yaml:7:3: route b is never reached: route a before it takes all of its requests\n"
            "p.yaml:3:43: tls of cluster c is not used: its endpoints are of http\n"
            "p.yaml:4:3: cluster d is not used: no route goes to it\n"
            "p.yaml:9:18: access_log_file is not used: access_log is off\n"
            "p.yaml:11:20: access_log_fields is not used: access_log_format is combined\n");
  EXPECT_EQ(notes_with(std::string(kTop) + "route: {outlier_detection: {interval: 5s}}"),
            "p.yaml:3:9: outlier_detection is read as circuit_breaker: one breaker for the "
            "dependency, not an ejection of single hosts\n");
}

TEST(ProxyCheck, AKeyThatNothingUsesIsANote) {
  const auto notes = [](std::string_view cluster, std::string_view route) {
    return notes_with(
        "listeners: {l: {address: ':80'}}\n"
        "clusters:\n"
        "  c: {endpoints: http://a" +
        std::string(cluster) + "}\nroutes:\n  r: {cluster: c" + std::string(route) + "}\n");
  };
  EXPECT_EQ(notes(", lb_policy: consistent_hash", ", hash_policy: {client_address: true}"), "");
  EXPECT_EQ(notes("", ", hash_policy: {client_address: true}"),
            "p.yaml:5:3: hash_policy of route r is not used: it has no weighted_clusters, and its "
            "cluster has no lb_policy: consistent_hash\n");
  EXPECT_EQ(notes(", lb_policy: consistent_hash", ""),
            "p.yaml:3:39: consistent_hash of cluster c is not used: no route to it has a "
            "hash_policy, so its requests have no key\n");
}

TEST(ProxyCheck, AKeyOfForwardingIsANoteWithoutIt) {
  const auto notes = [](std::string_view route) {
    return notes_with(std::string(kTop) + "defaults: {max_tunnels: 3}\nroutes:\n  r: {" +
                      std::string(route) + "}\n");
  };
  EXPECT_EQ(notes("health_page: on"), "p.yaml:2:12: cluster c is not used: no route goes to it\n");
  EXPECT_EQ(notes("health_page: on, match: {path: /h}, rate_limit: on, client_rate_limit: on, "
                  "response_headers_to_set: {a: b}, response_headers_to_add: {a: b}, "
                  "response_headers_to_remove: [a]"),
            "p.yaml:2:12: cluster c is not used: no route goes to it\n");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"upgrades: []", "5:49"},
      {"max_tunnels: 5", "5:52"},
      {"request_buffering: true", "5:58"},
      {"request_buffer: 1", "5:55"},
      {"response_buffer: 1", "5:56"},
      {"trust_idempotency_key: false", "5:62"},
      {"assume_safe: true", "5:52"},
      {"assume_idempotent: true", "5:58"},
      {"host_rewrite: a", "5:53"},
      {"admission_control: on", "5:39"},
      {"admission_control: {max_wait: 1s}", "5:39"},
      {"hash_policy: {client_address: true}", "5:39"},
      {"request_headers_to_set: {a: b}", "5:63"},
      {"timeout: 1s", "5:48"},
      {"retry_policy: {num_retries: 2, per_try_timeout: 1s}", "5:67"}};
  for (const auto& [key, place] : cases) {
    EXPECT_EQ(notes("direct_response: {status: 204}, " + key),
              "p.yaml:" + place + ": " + key.substr(0, key.find(':')) +
                  " of route r is not used: the route forwards nothing\n"
                  "p.yaml:2:12: cluster c is not used: no route goes to it\n")
        << key;
  }
}

TEST(ProxyCheck, AKeyWithoutItsCompanionIsANote) {
  const auto notes = [](std::string_view listener, std::string_view cluster,
                        std::string_view rest = "") {
    return notes_with("listeners: {l: {" + std::string(listener) + "}}\n" +
                      "clusters: {c: {endpoints: " + std::string(cluster) + "}}\n" +
                      std::string(rest));
  };
  const std::string here = "address: ':80'";
  EXPECT_EQ(notes(here, "http://a, hash_balance_factor: 150"),
            "p.yaml:2:58: hash_balance_factor of cluster c is not used: lb_policy is not "
            "consistent_hash\n");
  EXPECT_EQ(notes(here, "http://a, health_checks: {type: grpc, path: /a}"),
            "p.yaml:2:71: health_checks.path of cluster c is not used: type is grpc\n");
  EXPECT_EQ(notes(here, "http://a, health_checks: {type: tcp, expected_statuses: 204}"),
            "p.yaml:2:83: health_checks.expected_statuses of cluster c is not used: type is tcp\n");
  EXPECT_EQ(notes(here, "http://a, health_checks: {type: tcp, host: a}"),
            "p.yaml:2:70: health_checks.host of cluster c is not used: type is tcp\n");
  EXPECT_EQ(notes(here, "http://a, health_checks: {service: a.B}"),
            "p.yaml:2:62: health_checks.service of cluster c is not used: type is http\n");
  EXPECT_EQ(notes(here, "http://a, health_checks: {path: /a, host: b, expected_statuses: 204}"),
            "");
  EXPECT_EQ(notes(here, "http://a, health_checks: {type: grpc, host: b, service: a.B}"), "");
  EXPECT_EQ(notes(here, "http://a, tls: {sni: b}"),
            "p.yaml:2:48: tls of cluster c is not used: its endpoints are of http\n");
  EXPECT_EQ(notes(here, "https://a, tls: {sni: b}"), "");
  EXPECT_EQ(notes("address: 'unix:/s', max_connections_per_client: 9", "http://a"),
            "p.yaml:1:65: max_connections_per_client of listener l is not used: the clients of a "
            "Unix socket have no address, and proxy_protocol is none\n");
  EXPECT_EQ(
      notes("address: 'unix:/s', max_connections_per_client: 9, proxy_protocol: all", "http://a"),
      "");
  EXPECT_EQ(notes(here, "http://a", "route: {health_page: {min_healthy: 50}}").substr(0, 94),
            "p.yaml:3:36: health_page.min_healthy of route default is not used: health_page has no "
            "clusters");
  EXPECT_EQ(
      notes("address: '0.0.0.0:80'", "http://a",
            "route: {match: {headers: [{name: X-Envoy-Internal, present_match: true}]}}"),
      "p.yaml:3:1: match.headers of route default has x-envoy-internal, which is removed from "
      "requests of peers that trust of listener l does not list\n");
  EXPECT_EQ(notes("address: '0.0.0.0:80', trust: all", "http://a",
                  "route: {match: {headers: [{name: X-Envoy-Internal, present_match: true}]}}"),
            "");
  EXPECT_EQ(
      notes("address: ':80', max_concurrent_streams: 101", "http://a"),
      "p.yaml:1:57: listener l has 101 max_concurrent_streams: a client that resets as many at "
      "short deadlines is closed as a flood, unless max_resets_per_second, 50, is at least "
      "half of it\n");
  EXPECT_EQ(notes(here, "http://a", "tracing: {max_batch_size: 600, max_queue_size: 500}"),
            "p.yaml:3:27: max_batch_size of tracing is 600, which is never reached: max_queue_size "
            "is 500\n");
  EXPECT_EQ(notes(here, "http://a", "tracing: {max_queue_size: 500}"), "");
  EXPECT_EQ(notes(here, "http://a", "tracing: {ca_file: /x}"),
            "p.yaml:3:20: ca_file of tracing is not used: the collector is of http\n");
  EXPECT_EQ(notes(here, "http://a", "tracing: {collector: 'https://b', ca_file: /x}"), "");
}

TEST(ProxyCheck, ARouteCoversWhatIsNarrowerInEveryWord) {
  const RouteMatch all{};
  const RouteMatch api{.prefix = "/api"};
  EXPECT_TRUE(covers(all, api));
  EXPECT_FALSE(covers(api, all));
  EXPECT_TRUE(covers(api, {.path = "/api/x"}));
  EXPECT_FALSE(covers(api, {.prefix = "/apis"}));
  EXPECT_FALSE(covers({.path = "/api"}, api));
  EXPECT_TRUE(covers({.hosts = {"*.x", "y"}}, {.hosts = {"a.x", "*.b.x", "y", "*.x"}}));
  EXPECT_FALSE(covers({.hosts = {"*.x"}}, {.hosts = {"x"}}));
  EXPECT_FALSE(covers({.hosts = {"a.x"}}, {.hosts = {"*.x"}}));
  EXPECT_FALSE(covers({.hosts = {"a.x"}}, all));
  EXPECT_TRUE(covers({.methods = {"GET", "PUT"}}, {.methods = {"PUT"}}));
  EXPECT_FALSE(covers({.methods = {"GET"}}, {.methods = {"GET", "PUT"}}));
  EXPECT_FALSE(covers({.methods = {"GET"}}, all));
  const RouteMatch has{.headers = {{.name = "a"}}};
  const RouteMatch is{.headers = {{.name = "a", .value = "1"}, {.name = "b"}}};
  EXPECT_TRUE(covers(has, is));
  EXPECT_FALSE(covers(is, has));
}

}  // namespace
}  // namespace damper::proxy
