#include "damper/webhooks/api/routes.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::webhooks {
namespace {

TEST(Routes, APathIsFoundWithItsArguments) {
  const RouteMatch match = find_route("GET", "/v1/applications/acme/endpoints/ep_1/secret");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.route->operation, Operation::get_secret);
  EXPECT_EQ(match.arguments.application, "acme");
  EXPECT_EQ(match.arguments.id, "ep_1");
  EXPECT_EQ(find_route("HEAD", "/healthz").route->operation, Operation::get_health);
}

TEST(Routes, EveryRouteIsFoundByItsOwnPath) {
  for (const Route& route : all_routes()) {
    EXPECT_EQ(find_route(route.method, route.path).route, &route) << route.name;
    EXPECT_TRUE(route.path.find("{application}") == route.path.npos || route.scope) << route.name;
    EXPECT_TRUE(route.body == nullptr || route.method != "GET") << route.name;
  }
}

TEST(Routes, AnotherMethodGetsTheOnesThereAre) {
  const RouteMatch match = find_route("PUT", "/v1/applications/a/endpoints/b");
  EXPECT_EQ(match.route, nullptr);
  EXPECT_EQ(match.allow, "GET, HEAD, PATCH, DELETE");
}

TEST(Routes, WhatIsNotAPathIsNotFound) {
  for (const char* const path :
       {"", "/", "v1/stats", "/v1", "/v1/stats/", "/v1//stats", "/v1/applications/",
        "/v1/applications//endpoints", "/v1/applications/a/endpoints/", "/v1/applications/a/b",
        "/healthz/x", "*", "//"}) {
    const RouteMatch match = find_route("GET", path);
    EXPECT_EQ(match.route, nullptr) << path;
    EXPECT_TRUE(match.allow.empty()) << path;
  }
}

}  // namespace
}  // namespace damper::webhooks
