#include "damper/proxy/request/direct_answer.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/base/random.h"
#include "damper/proxy/request/proxied_request_testing.h"

namespace damper::proxy {
namespace {

std::string location(const Redirect& to, std::string_view authority, std::string_view target,
                     bool secure = false) {
  RouteConfig route;
  route.match.prefix = "/go";
  route.redirect = to;
  return redirect_location({.method = "GET", .authority = authority, .target = target}, route,
                           secure);
}

TEST(RedirectLocation, AnEmptyPartIsThatOfTheRequest) {
  EXPECT_EQ(location({.scheme = "https"}, "a.example", "/go/x?y=1"), "https://a.example/go/x?y=1");
  EXPECT_EQ(location({.host = "b.example:81"}, "a.example", "/go"), "http://b.example:81/go");
  EXPECT_EQ(location({.host = "b.example"}, "a.example", "/go", true), "https://b.example/go");
  EXPECT_EQ(location({.path = "/new"}, "a.example", "/go/x?y=1"), "http://a.example/new?y=1");
  EXPECT_EQ(location({.prefix = "/new"}, "a.example", "/go/x?y=1"), "http://a.example/new/x?y=1");
  EXPECT_EQ(location({.path = "/new", .strip_query = true}, "a.example", "/go?y=1"),
            "http://a.example/new");
}

TEST(RedirectLocation, TheDefaultPortOfAReplacedSchemeIsDropped) {
  EXPECT_EQ(location({.scheme = "https"}, "a.example:80", "/"), "https://a.example/");
  EXPECT_EQ(location({.scheme = "https"}, "a.example:8080", "/"), "https://a.example:8080/");
  EXPECT_EQ(location({.path = "/n"}, "a.example:80", "/"), "http://a.example:80/n");
}

// What browsers take for another host: "//host", "/\host", "/%09/host".
TEST(RedirectLocation, NoPathIsTakenForAHost) {
  EXPECT_EQ(location({.prefix = "/"}, "a.example", "/go//evil.example"),
            "http://a.example//evil.example");
  EXPECT_EQ(location({.prefix = "/"}, "", "/go//evil.example"), "/evil.example");
  EXPECT_EQ(location({.prefix = "/"}, "", "/go/\\/evil.example"), "/evil.example");
  EXPECT_EQ(location({.scheme = "https"}, "a.example", "/\\evil.example"),
            "https://a.example/%5Cevil.example");
  EXPECT_EQ(location({.scheme = "https"}, "a.example", "/go\"<x>?\r\nx: y"),
            "https://a.example/go%22%3Cx%3E?%0D%0Ax:%20y");
  EXPECT_EQ(location({.scheme = "https"}, "a.example", "*"), "https://a.example/");
}

TEST(RedirectLocation, AHostThatIsNoneIsNotRepeated) {
  for (const std::string_view host : {"a%0d", "a,b", "a:99999", "[::1", "a;b", "!"}) {
    EXPECT_EQ(location({.path = "/n"}, host, "/"), "") << host;
  }
}

TEST(RedirectLocation, NoTargetBringsAControlOrAQuoteIntoIt) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string target = "/";
    for (std::uint64_t n = random.bits() % 20; n > 0; --n) {
      target += static_cast<char>(random.bits() % 256);
    }
    for (const std::string_view host : {"a.example", ""}) {
      const std::string url = location({.prefix = "/"}, host, target);
      EXPECT_TRUE(url.starts_with(host.empty() ? "/" : "http://a.example/")) << target;
      EXPECT_FALSE(host.empty() && url.starts_with("//")) << target;
      for (const char c : url) {
        EXPECT_TRUE(c > ' ' && c < 127 && c != '"' && c != '\\' && c != '<') << target;
      }
    }
  }
}

TEST(DirectAnswer, NothingIsForwarded) {
  Stage stage;
  Backend& backend = stage.add();
  stage.route.direct_response = {.status = 418, .body = "tea\n", .content_type = "text/x"};
  stage.route.response_fields.set = {{"x-from", "%ROUTE%"}};
  stage.begin();
  const auto response = stage.get();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 418);
  EXPECT_EQ(response->body, "tea\n");
  EXPECT_EQ(response->fields.find("content-type"), "text/x");
  EXPECT_EQ(response->fields.find("x-from"), stage.route.name);
  EXPECT_EQ(backend.requests(), 0U);
  EXPECT_EQ(stage.record().status, 418);
  EXPECT_EQ(stage.record().verdict, Verdict::success);
  EXPECT_EQ(stage.record().bytes_out, 4U);
  ASSERT_TRUE(stage.fetch(stage.make("HEAD", "/")));
  EXPECT_EQ(stage.record().method, "HEAD");
  EXPECT_EQ(stage.record().bytes_out, 0U);
}

TEST(DirectAnswer, TheBodyOfARefusalIsCounted) {
  Stage stage;
  stage.add();
  stage.route.match.prefix = "/shop";
  stage.begin();
  const auto response = stage.get("/other");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "damper: no route\n");
  EXPECT_EQ(stage.record().bytes_out, 17U);
  ASSERT_TRUE(stage.fetch(stage.make("HEAD", "/other")));
  EXPECT_EQ(stage.record().bytes_out, 0U);
}

TEST(DirectAnswer, AClientHasItsRateAndTheRouteHasIts) {
  const auto each = [](const auto& answers) {
    Stage stage;
    stage.add();
    answers(stage.route);
    stage.route.client_rate_limit = {
        .rates = {.bucket = {.rate_per_second = 0.001, .burst = 1}, .max_clients = 16},
        .header = "x-api-key"};
    stage.route.rate_limit = {.rate_per_second = 0.001, .burst = 2};
    stage.begin();
    std::string statuses;
    for (const std::string key : {"alice", "alice", "bob", "carol"}) {
      http::FieldList fields;
      fields.add("x-api-key", key);
      const auto response = stage.fetch(stage.make("GET", "/", {}, fields));
      statuses += std::to_string(response->status) + ' ';
    }
    return statuses;
  };
  // A refused client takes nothing of the route's rate.
  EXPECT_EQ(each([](RouteConfig& route) { route.direct_response.emplace(); }), "200 429 200 429 ");
  EXPECT_EQ(each([](RouteConfig& route) { route.redirect = {.host = "b.example"}; }),
            "301 429 301 429 ");
  EXPECT_EQ(each([](RouteConfig& route) { route.health_page.emplace(); }), "200 429 200 429 ");
}

TEST(HealthPage, SaysWhetherTheProxyServes) {
  Stage stage;
  Backend& backend = stage.add();
  stage.route.health_page.emplace();
  stage.begin();
  const auto serves = stage.get();
  EXPECT_EQ(serves->status, 200);
  EXPECT_EQ(serves->body, "ok\n");
  EXPECT_EQ(stage.record().bytes_out, 3U);
  EXPECT_EQ(serves->fields.find("cache-control"), "no-store");
  stage.sink->set_draining();
  const auto drains = stage.get();
  EXPECT_EQ(drains->status, 503);
  EXPECT_EQ(drains->body, "draining\n");
  EXPECT_EQ(backend.requests(), 0U);
}

// With the replicas of a cluster: of four, some are ejected by hand.
TEST(HealthPage, FailsWithoutAClusterThatItNames) {
  RouteConfig config;
  http::Loop loop;
  ClusterConfig cluster;
  cluster.name = "shops";
  for (int port = 9001; port <= 9004; ++port) {
    cluster.endpoints.push_back("http://127.0.0.1:" + std::to_string(port));
  }
  const std::optional<http::TlsSettings> no_tls;
  const Addresses none;
  const auto forced = std::make_shared<ForcedReplicas>();
  const auto upstream = std::make_shared<Upstream>(
      loop,
      Upstream::Setting{.config = cluster, .tls = no_tls, .addresses = none, .forced = forced});
  LoopRoute route;
  route.config = &config;
  route.watched = {upstream};
  const auto find = [&](Percent least, int ejected) {
    config.health_page = {.clusters = {"shops"}, .min_healthy = least};
    for (int port = 9001; port <= 9004; ++port) {
      const std::string replica = "http://127.0.0.1:" + std::to_string(port);
      forced->set(
          replica,
          {.force = port - 9001 < ejected ? admit::BreakerForce::open : admit::BreakerForce::none,
           .length = std::chrono::hours(1),
           .reason = "a test"},
          loop.now());
      upstream->look_at_forced(replica);
    }
    return find_health(route, false, loop.now());
  };
  EXPECT_EQ(find(Percent(50), 2).status, 200);
  EXPECT_EQ(find(Percent(50), 3).status, 503);
  EXPECT_EQ(find(Percent(50), 3).text, "cluster shops: 1 of 4 replicas can be used\n");
  EXPECT_EQ(find(Percent(1), 3).status, 200);
  EXPECT_EQ(find(Percent(1), 4).status, 503);
  EXPECT_EQ(find_health(route, true, loop.now()).text, "draining\n");
}

TEST(HealthPage, FailsWithoutAReplica) {
  RouteConfig config;
  config.health_page = {.clusters = {"shops"}, .min_healthy = Percent(1)};
  http::Loop loop;
  ClusterConfig cluster;
  cluster.name = "shops";
  cluster.endpoints = {"http://not-resolved.example:80"};
  const std::optional<http::TlsSettings> no_tls;
  const Addresses none;
  const auto upstream = std::make_shared<Upstream>(
      loop, Upstream::Setting{.config = cluster, .tls = no_tls, .addresses = none});
  LoopRoute route;
  route.config = &config;
  route.watched = {upstream};
  EXPECT_EQ(find_health(route, false, loop.now()).text,
            "cluster shops: 0 of 0 replicas can be used\n");
}

}  // namespace
}  // namespace damper::proxy
