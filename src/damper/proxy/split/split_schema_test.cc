#include "damper/proxy/split/split_schema.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::proxy {
namespace {

constexpr std::string_view kTop =
    "listeners: {l: {address: ':80'}}\n"
    "clusters: {a: {endpoints: http://a}, b: {endpoints: http://b}}\n";

std::string error_of(const std::string& rest) {
  const auto config = load_proxy(std::string(kTop) + rest, "p.yaml");
  return config ? "ok" : to_string(config.error());
}
// Of a route whose keys are these; their column is one more.
std::string error_with(const std::string& keys) { return error_of("route: {" + keys + "}\n"); }

TEST(SplitSchema, WeightsAndKeyAreRead) {
  const auto config =
      load_proxy(std::string(kTop) +
                     "defaults: {cluster: a}\n"
                     "routes:\n"
                     "  shop:\n"
                     "    match: {prefix: /shop}\n"
                     "    weighted_clusters: [{cluster: a, weight: 90}, {name: b, weight: 10}]\n"
                     "    hash_policy: {cookie: id, ttl: 1h, path: /shop}\n"
                     "  rest: {}\n",
                 "p.yaml");
  ASSERT_TRUE(config) << to_string(config.error());
  const RouteConfig& shop = config->routes[0];
  EXPECT_EQ(shop.cluster, "");  // A route's own weighted_clusters replace the cluster of defaults.
  ASSERT_EQ(shop.weighted_clusters.size(), 2U);
  EXPECT_EQ(shop.weighted_clusters[1], (ClusterWeight{"b", 10}));
  ASSERT_TRUE(shop.hash_policy);
  EXPECT_EQ(*shop.hash_policy,
            (HashPolicy{.cookie = "id", .ttl = std::chrono::hours(1), .path = "/shop"}));
  EXPECT_EQ(config->routes[1].cluster, "a");
  EXPECT_TRUE(config->routes[1].weighted_clusters.empty());
  EXPECT_TRUE(config->notes.empty());

  const std::string printed = print_proxy(*config);
  const auto again = load_proxy(printed, "p.yaml");
  ASSERT_TRUE(again) << to_string(again.error()) << printed;
  EXPECT_EQ(print_proxy(*again), printed);
  EXPECT_EQ(again->routes[0].weighted_clusters, shop.weighted_clusters);
  EXPECT_EQ(again->routes[0].hash_policy, shop.hash_policy);
}

TEST(SplitSchema, AClusterReplacesTheWeightsOfTheDefaults) {
  const auto config = load_proxy(
      std::string(kTop) +
          "defaults: {weighted_clusters: [{cluster: a, weight: 1}, {cluster: b, weight: 1}]}\n"
          "routes:\n"
          "  one: {match: {prefix: /one}, cluster: b}\n"
          "  page: {match: {prefix: /page}, direct_response: {status: 200}}\n"
          "  rest: {}\n",
      "p.yaml");
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->routes[0].cluster, "b");
  EXPECT_TRUE(config->routes[0].weighted_clusters.empty());
  EXPECT_TRUE(config->routes[1].weighted_clusters.empty());
  EXPECT_EQ(config->routes[2].weighted_clusters.size(), 2U);
}

TEST(SplitSchema, WrongWeightsAreASentenceWithThePlace) {
  const auto error = [](const std::string& weights) {
    return error_with("weighted_clusters: " + weights);
  };
  const std::string list =
      "weighted_clusters must be a list of 1 to 16 {cluster: NAME, weight: NUMBER}";
  EXPECT_EQ(error("[{cluster: a, weight: 0}, {cluster: b, weight: 1000000}]"), "ok");
  EXPECT_EQ(error("a"), "p.yaml:3:28: " + list);
  EXPECT_EQ(error("[]"), "p.yaml:3:28: " + list);
  EXPECT_EQ(error("[{cluster: a, weight: 1}, {cluster: b}]"), "p.yaml:3:54: " + list);
  EXPECT_EQ(error("[{cluster: a, weight: 1, wieght: 1}]"), "p.yaml:3:29: " + list);
  EXPECT_EQ(error("[{cluster: a, weight: -1}]"),
            "p.yaml:3:50: weight must be a whole number from 0 to 1000000, not \"-1\"");
  EXPECT_EQ(error("[{cluster: a, weight: 1000001}]"),
            "p.yaml:3:50: weight must be a whole number from 0 to 1000000, not \"1000001\"");
  EXPECT_EQ(error("[{cluster: 'a b', weight: 1}]"),
            "p.yaml:3:39: cluster must be 1 to 100 letters, digits or . _ - / :, not \"a b\"");
  EXPECT_EQ(error("[{cluster: a, weight: 1}, {cluster: a, weight: 1}]"),
            "p.yaml:3:28: weighted_clusters has the cluster \"a\" twice");
  EXPECT_EQ(error("[{cluster: a, weight: 0}, {cluster: b, weight: 0}]"),
            "p.yaml:3:28: weighted_clusters has no weight over 0");
  EXPECT_EQ(error("[{cluster: a, weight: 1}, {cluster: c, weight: 1}]"),
            "p.yaml:3:28: route default has weighted_clusters with the cluster \"c\", which there "
            "is not");
  EXPECT_EQ(error("[{cluster: a, weight: 1}], cluster: b"),
            "p.yaml:3:28: route default has cluster and weighted_clusters");
  EXPECT_EQ(error("[{cluster: a, weight: 1}], direct_response: {status: 200}"),
            "p.yaml:3:28: route default has weighted_clusters, but answers itself and forwards "
            "nothing");
  std::string many;
  for (int i = 0; i < 17; ++i) many += "{cluster: c" + std::to_string(i) + ", weight: 1}, ";
  EXPECT_EQ(error("[" + many + "]"), "p.yaml:3:28: " + list);
}

TEST(SplitSchema, AWrongKeyIsASentenceWithThePlace) {
  const auto error = [](const std::string& policy) {
    return error_with("cluster: a, hash_policy: " + policy);
  };
  EXPECT_EQ(error("{header: X-User}"), "ok");
  EXPECT_EQ(error("{cookie: id, ttl: 0s}"), "ok");
  EXPECT_EQ(error("{cookie: id, ttl: off}"), "ok");
  EXPECT_EQ(error("{client_address: true}"), "ok");
  const std::string one =
      "route default: hash_policy must have exactly one of header, cookie and client_address";
  EXPECT_EQ(error("{header: x, cookie: y}"), "p.yaml:3:54: " + one);
  EXPECT_TRUE(error("on").ends_with(one)) << error("on");
  EXPECT_EQ(error("{header: x, ttl: 1h}"),
            "p.yaml:3:51: route default: hash_policy has a ttl but no cookie");
  EXPECT_EQ(error("{cookie: x, path: /a}"),
            "p.yaml:3:52: route default: hash_policy has a path but no cookie with a ttl, which "
            "would be made");
  EXPECT_EQ(error("{header: host}"),
            "p.yaml:3:43: header must be the name of a header field, such as x-canary, not "
            "\"host\": hosts is for that");
  EXPECT_EQ(error("{cookie: 'a;b'}"),
            "p.yaml:3:43: cookie must be the name of a cookie, such as damper-canary, not \"a;b\"");
  EXPECT_EQ(error("{cookie: a, ttl: 0s, path: '/a;b'}"),
            "p.yaml:3:61: path must be a path from / on, without a query and ;, not \"/a;b\"");
  EXPECT_EQ(error("{cookie: a, ttl: soon}").substr(0, 34), "p.yaml:3:51: ttl must be a duratio");
  EXPECT_EQ(error("{client_address: maybe}"),
            "p.yaml:3:51: client_address must be true or false, not \"maybe\"");
  EXPECT_EQ(error("{key: x}").substr(0, 30), "p.yaml:3:35: unknown key \"key\"");
}

}  // namespace
}  // namespace damper::proxy
