#include "damper/proxy/config/route_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "damper/base/random.h"

namespace damper::proxy {
namespace {

RouteConfig route(RouteMatch match) {
  return {.name = "r", .match = std::move(match), .cluster = "c"};
}
http::Head get(std::string_view target, std::string_view authority = "shop.example",
               std::string_view method = "GET") {
  return {.method = method, .authority = authority, .target = target};
}

TEST(RouteMatcher, TheFirstThatFitsHasIt) {
  const std::vector<RouteConfig> routes = {route({.path = "/a/b"}), route({.prefix = "/a"}),
                                           route({.prefix = "/a/b"}), route({})};
  const RouteMatcher matcher(routes);
  EXPECT_EQ(matcher.find(get("/a/b")), 0U);
  EXPECT_EQ(matcher.find(get("/a/b/c")), 1U);
  EXPECT_EQ(matcher.find(get("/x")), 3U);
  EXPECT_EQ(RouteMatcher({}).find(get("/")), std::nullopt);
}

TEST(RouteMatcher, NoRouteIsFoundWhenNoneFits) {
  const std::vector<RouteConfig> routes = {route({.path = "/a"}), route({.methods = {"PUT"}})};
  EXPECT_EQ(RouteMatcher(routes).find(get("/b")), std::nullopt);
}

TEST(RouteMatcher, AHostFitsWhateverItsCaseAndPort) {
  const RouteMatch match{.hosts = {"shop.example", "[::1]"}};
  for (const std::string_view host : {"shop.example", "SHOP.example", "shop.example:8080",
                                      "shop.example.", "shop.example.:80", "[::1]", "[::1]:80"}) {
    EXPECT_TRUE(matches(match, get("/", host))) << host;
  }
  for (const std::string_view host :
       {"", "xshop.example", "a.shop.example", "shop.exampl", ":80", "shop.example..", "[::2]"}) {
    EXPECT_FALSE(matches(match, get("/", host))) << host;
  }
}

TEST(RouteMatcher, AStarIsEveryNameBelowAndNotTheNameItself) {
  const RouteMatch match{.hosts = {"*.shop.example"}};
  EXPECT_TRUE(matches(match, get("/", "a.shop.example")));
  EXPECT_TRUE(matches(match, get("/", "A.B.Shop.Example:443")));
  for (const std::string_view host : {"shop.example", "xshop.example", ".shop.example"}) {
    EXPECT_FALSE(matches(match, get("/", host))) << host;
  }
}

TEST(RouteMatcher, APrefixEndsAtASlash) {
  const RouteMatch match{.prefix = "/api"};
  for (const std::string_view path : {"/api", "/api/", "/api/x", "/api?x", "/api/../x"}) {
    EXPECT_TRUE(matches(match, get(path))) << path;
  }
  for (const std::string_view path :
       {"/apis", "/ap", "/", "/x/api", "/API", "/%61pi", "/api%2fx"}) {
    EXPECT_FALSE(matches(match, get(path))) << path;
  }
  EXPECT_TRUE(matches({.prefix = "/api/"}, get("/api/x")));
  EXPECT_FALSE(matches({.prefix = "/api/"}, get("/api")));
  EXPECT_TRUE(matches({.prefix = "/"}, get("/anything")));
}

TEST(RouteMatcher, APathIsTheWholePathWithoutTheQuery) {
  const RouteMatch match{.path = "/a"};
  EXPECT_TRUE(matches(match, get("/a")));
  EXPECT_TRUE(matches(match, get("/a?b=/c")));
  EXPECT_FALSE(matches(match, get("/a/")));
  EXPECT_FALSE(matches(match, get("/b?/a")));
}

TEST(RouteMatcher, WhatIsNoPathIsForRoutesThatDoNotAskForOne) {
  for (const std::string_view target : {"*", "shop.example:443"}) {
    EXPECT_FALSE(matches({.prefix = "/"}, get(target)));
    EXPECT_TRUE(matches({}, get(target)));
  }
}

TEST(RouteMatcher, MethodsAreToldApartByCase) {
  const RouteMatch match{.methods = {"GET", "HEAD"}};
  EXPECT_TRUE(matches(match, get("/", "a", "HEAD")));
  EXPECT_FALSE(matches(match, get("/", "a", "head")));
  EXPECT_FALSE(matches(match, get("/", "a", "POST")));
}

TEST(RouteMatcher, EveryHeaderHasToBeThereAndAnyOfItsFieldsMayFit) {
  const RouteMatch match{.headers = {{.name = "x-user"}, {.name = "x-canary", .value = "1"}}};
  const std::array<http::Field, 3> fields = {
      {{"X-Canary", "0"}, {"X-CANARY", "1"}, {"x-user", ""}}};
  http::Head request = get("/");
  request.fields = fields;
  EXPECT_TRUE(matches(match, request));
  request.fields = std::span(fields).first(2);  // no x-user
  EXPECT_FALSE(matches(match, request));
  request.fields = std::span(fields).last(1);  // no x-canary
  EXPECT_FALSE(matches(match, request));
  const std::array<http::Field, 2> longer = {{{"x-user", "a"}, {"x-canary", "11"}}};
  request.fields = longer;
  EXPECT_FALSE(matches(match, request));
}

// The rules again, as slowly and plainly as they can be said.
bool plainly(const RouteMatch& match, const http::Head& request) {
  std::string host(request.authority);
  for (char& c : host) c = static_cast<char>(std::tolower(c));
  host = host.substr(0, host.find(':'));
  const std::string path(request.target.substr(0, request.target.find('?')));
  bool host_fits = match.hosts.empty();
  for (const std::string& pattern : match.hosts) {
    if (pattern == host) host_fits = true;
    if (pattern[0] == '*' && host.size() >= pattern.size() &&
        host.substr(host.size() - pattern.size() + 1) == pattern.substr(1)) {
      host_fits = true;
    }
  }
  bool prefix_fits = match.prefix.empty() || path == match.prefix;
  std::string with_slash = match.prefix;
  if (!with_slash.ends_with('/')) with_slash += '/';
  if (path.rfind(with_slash, 0) == 0) prefix_fits = true;
  bool method_fits = match.methods.empty();
  for (const std::string& method : match.methods) method_fits |= method == request.method;
  bool headers_fit = true;
  for (const RouteMatch::Header& header : match.headers) {
    const auto value = http::find(request.fields, header.name);
    if (!value || (header.value && *value != *header.value)) headers_fit = false;
  }
  return host_fits && prefix_fits && method_fits && headers_fit &&
         (match.path.empty() || match.path == path);
}

TEST(RouteMatcher, FindsWhatThePlainRulesFind) {
  constexpr std::array<std::string_view, 4> kHosts = {"a.b", "*.b", "*.a.b", "c"};
  constexpr std::array<std::string_view, 6> kAuthorities = {"a.b", "A.B:80", "x.a.b",
                                                            "b",   "c",      "d"};
  constexpr std::array<std::string_view, 5> kPaths = {"/", "/a", "/a/", "/a/b", "/ab"};
  constexpr std::array<std::string_view, 7> kTargets = {"/",      "/a?x", "/a/", "/a/b",
                                                        "/a/b/c", "/ab",  "*"};
  constexpr std::array<std::string_view, 2> kMethods = {"GET", "PUT"};
  constexpr std::array<http::Field, 2> kFields = {{{"X-A", "1"}, {"X-B", "2"}}};
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    Random random(seed);
    const auto chance = [&] { return random.draw() < 0.4; };
    const auto one = [&](const auto& all) { return std::string(all[random.bits() % all.size()]); };
    std::vector<RouteConfig> routes;
    for (std::size_t i = 0; i < 3; ++i) {
      RouteMatch match;
      if (chance()) match.hosts = {one(kHosts), one(kHosts)};
      if (chance()) (chance() ? match.path : match.prefix) = one(kPaths);
      if (chance()) match.methods = {one(kMethods)};
      if (chance()) match.headers.push_back({.name = chance() ? "x-a" : "x-b"});
      if (chance() && !match.headers.empty()) match.headers[0].value = "1";
      routes.push_back(route(match));
    }
    const std::string target = one(kTargets);
    const std::string authority = one(kAuthorities);
    const std::string method = one(kMethods);
    http::Head request = get(target, authority, method);
    request.fields = std::span(kFields).first(random.bits() % 3);
    const auto expected = std::find_if(routes.begin(), routes.end(), [&](const RouteConfig& r) {
      return plainly(r.match, request);
    });
    const auto position = RouteMatcher(routes).find(request);
    ASSERT_EQ(position.value_or(routes.size()), static_cast<std::size_t>(expected - routes.begin()))
        << "seed " << seed;
    if (position) ++found;
  }
  EXPECT_GT(found, 1000U);
  EXPECT_LT(found, 4900U);
}

}  // namespace
}  // namespace damper::proxy
