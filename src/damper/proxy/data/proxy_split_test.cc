#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "damper/proxy/data/proxy.h"
#include "damper/proxy/data/proxy_testing.h"

namespace damper::proxy {
namespace {

// A route with weighted clusters, in a running proxy.

using http::RawClient;
using std::chrono::minutes;

const admit::BreakerForceSetting kOpen{
    .force = admit::BreakerForce::open, .length = minutes(30), .reason = "a test"};

ProxyConfig split_over(const TestBackend& stable, const TestBackend& canary,
                       std::vector<ClusterWeight> weights) {
  ProxyConfig config = config_for({stable.url()});
  config.clusters[0].name = "stable";
  config.clusters.push_back(cluster_of("canary", {canary.url()}));
  config.routes[0].cluster.clear();
  config.routes[0].weighted_clusters = std::move(weights);
  config.routes[0].settings.policy.breaker.emplace();
  return config;
}

// Gets until both have answered, or one has 200 times.
std::string answering(Proxy& proxy, int requests = 200) {
  RawClient client(proxy.port("web"));
  bool stable = false;
  bool canary = false;
  for (int i = 0; i < requests && !(stable && canary); ++i) {
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    const std::string head = client.read_to("\r\n\r\n");
    if (head.find("breaker_open") != std::string::npos) {
      (void)client.read_to("\n");
      continue;
    }
    const std::string body = client.read_to("!");
    stable = stable || body.find("stable") != std::string::npos;
    canary = canary || body.find("canary") != std::string::npos;
  }
  return std::string(stable ? "stable " : "") + (canary ? "canary" : "");
}

TEST(ProxySplit, EachClusterHasAStateOfItsOwn) {
  TestBackend stable("stable");
  TestBackend canary("canary");
  const auto proxy = start(split_over(stable, canary, {{"stable", 3}, {"canary", 1}}));
  EXPECT_EQ(answering(*proxy), "stable canary");
  const ProxyState state = proxy->state();
  ASSERT_EQ(state.routes.size(), 2U);
  EXPECT_EQ(state.routes[0].name, "all@stable");
  EXPECT_EQ(state.routes[0].cluster, "stable");
  EXPECT_TRUE(state.routes[0].has_weight);
  EXPECT_EQ(state.routes[0].weight, 3U);
  EXPECT_EQ(state.routes[1].name, "all@canary");
  EXPECT_EQ(state.routes[1].weight, 1U);
  EXPECT_EQ(static_cast<int>(state.routes[0].tally.attempts), stable.requests.load());
  EXPECT_EQ(static_cast<int>(state.routes[1].tally.attempts), canary.requests.load());
}

TEST(ProxySplit, AnOrderForTheRouteIsOneForEachCluster) {
  TestBackend stable("stable");
  TestBackend canary("canary");
  ProxyConfig config = split_over(stable, canary, {{"stable", 1}});
  const auto proxy = start(config);
  ASSERT_EQ(proxy->force(SwitchScope::route("all"), "", kOpen), std::nullopt);
  EXPECT_EQ(answering(*proxy, 5), "");
  config.routes[0].weighted_clusters.push_back({"canary", 1});
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_EQ(answering(*proxy, 30), "");  // The new cluster is held as well.
  EXPECT_EQ(proxy->forced().size(), 2U);
  ASSERT_EQ(proxy->force(SwitchScope::route("all@canary"), "", {}), std::nullopt);
  EXPECT_EQ(answering(*proxy), "canary");
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_EQ(answering(*proxy), "canary");
  ASSERT_EQ(proxy->force(SwitchScope::route("all"), "", {}), std::nullopt);
  EXPECT_EQ(answering(*proxy), "stable canary");
  ASSERT_EQ(proxy->force(SwitchScope::cluster("canary"), "", kOpen), std::nullopt);
  EXPECT_EQ(answering(*proxy), "stable ");
  EXPECT_EQ(proxy->force(SwitchScope::route("all@gone"), "", kOpen),
            "there is no scope \"route/all@gone\"");
}

TEST(ProxySplit, ASwitchOfTheRouteIsOneOfEachCluster) {
  TestBackend stable("stable");
  TestBackend canary("canary");
  ProxyConfig config = split_over(stable, canary, {{"stable", 1}});
  const auto proxy = start(config);
  const auto off = [&](const std::string& route) {
    const auto scopes = proxy->switches();
    const auto found = std::find_if(scopes.begin(), scopes.end(), [&](const ScopeState& one) {
      return one.scope == SwitchScope::route(route);
    });
    return found != scopes.end() &&
           found->switches[static_cast<std::size_t>(admit::Switch::retries)].off;
  };
  const admit::SwitchSetting setting{.off = true, .reason = "a test"};
  ASSERT_FALSE(proxy->flip(SwitchScope::route("all"), admit::Switch::retries, setting));
  EXPECT_TRUE(off("all@stable"));
  config.routes[0].weighted_clusters.push_back({"canary", 1});
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_TRUE(off("all@stable"));
  EXPECT_TRUE(off("all@canary"));
  ASSERT_FALSE(proxy->flip(SwitchScope::route("all@stable"), admit::Switch::retries, {}));
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_FALSE(off("all@stable"));
  EXPECT_TRUE(off("all@canary"));
  ASSERT_FALSE(proxy->flip(SwitchScope::route("all"), admit::Switch::retries, {}));
  EXPECT_FALSE(off("all@canary"));
}

TEST(ProxySplit, TheRateLimitIsTheRoutes) {
  TestBackend stable("stable");
  TestBackend canary("canary");
  ProxyConfig config = split_over(stable, canary, {{"stable", 1}, {"canary", 1}});
  config.routes[0].rate_limit = {.rate_per_second = 0.001, .burst = 10};
  const auto proxy = start(config);
  const auto good = [&] {
    RawClient client(proxy->port("web"));
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    return client.read_to("\r\n\r\n").starts_with("HTTP/1.1 200");
  };
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(good()) << i;
  config.routes[0].weighted_clusters = {{"canary", 1}};
  ASSERT_FALSE(proxy->reload(config));  // It continues.
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(good()) << i;
  EXPECT_FALSE(good());
  config.routes[0].weighted_clusters = {{"stable", 1}};
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_FALSE(good());
}

TEST(ProxySplit, AReloadMovesTheShares) {
  TestBackend stable("stable");
  TestBackend canary("canary");
  ProxyConfig config = split_over(stable, canary, {{"stable", 1}, {"canary", 0}});
  const auto proxy = start(config);
  EXPECT_EQ(answering(*proxy, 50), "stable ");
  config.routes[0].weighted_clusters = {{"stable", 1}, {"canary", 1}};
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_EQ(answering(*proxy), "stable canary");
  config.routes[0].weighted_clusters = {{"stable", 0}, {"canary", 1}};
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_EQ(answering(*proxy, 50), "canary");
  config.routes[0].weighted_clusters.clear();
  config.routes[0].cluster = "stable";
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_EQ(answering(*proxy, 50), "stable ");
  EXPECT_EQ(proxy->state().routes[0].name, "all");
}

}  // namespace
}  // namespace damper::proxy
