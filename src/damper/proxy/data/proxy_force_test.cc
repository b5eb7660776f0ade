#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "damper/proxy/data/proxy.h"
#include "damper/proxy/data/proxy_testing.h"

namespace damper::proxy {
namespace {

// Breakers that an operator holds, in a running proxy.

using http::RawClient;
using std::chrono::minutes;

const admit::BreakerForceSetting kOpen{
    .force = admit::BreakerForce::open, .length = minutes(30), .reason = "a test"};

ProxyConfig with_breaker(const std::vector<std::string>& endpoints) {
  ProxyConfig config = config_for(endpoints);
  config.routes[0].settings.policy.breaker.emplace();
  return config;
}

// Whether a request is refused by the breaker.
bool is_refused(std::uint16_t port) {
  RawClient client(port);
  client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
  return client.read_to("\r\n\r\n").find("damper-verdict: breaker_open") != std::string::npos;
}

bool is_good(std::uint16_t port) {
  RawClient client(port);
  client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
  return client.read_to("\r\n\r\n").starts_with("HTTP/1.1 200");
}

TEST(ProxyForce, ARouteIsRefusedUntilItsBreakerIsReset) {
  TestBackend one("one");
  const auto proxy = start(with_breaker({one.url()}));
  RawClient client(proxy->port("web"));
  EXPECT_TRUE(says(ask(client), "one"));
  EXPECT_EQ(proxy->force(SwitchScope::route("all"), "", kOpen), std::nullopt);
  EXPECT_TRUE(is_refused(proxy->port("web")));
  EXPECT_EQ(one.requests, 1);
  const auto forced = proxy->forced();
  ASSERT_EQ(forced.size(), 1U);
  EXPECT_EQ(forced[0].scope, SwitchScope::route("all"));
  EXPECT_EQ(forced[0].status.reason, "a test");
  EXPECT_EQ(forced[0].status.force, admit::BreakerForce::open);
  EXPECT_EQ(proxy->state().forced.size(), 1U);
  EXPECT_EQ(proxy->force(SwitchScope::cluster("backend"), "", {}), std::nullopt);  // Its routes.
  EXPECT_TRUE(says(ask(client), "one"));
  EXPECT_TRUE(proxy->forced().empty());
}

TEST(ProxyForce, WithoutABreakerItIsRefusedInASentence) {
  TestBackend one("one");
  const auto proxy = start(config_for({one.url()}));
  EXPECT_EQ(proxy->force(SwitchScope::route("all"), "", kOpen),
            "route \"all\" has no circuit_breaker");
  EXPECT_EQ(proxy->force(SwitchScope::cluster("backend"), "", kOpen),
            "no route of cluster \"backend\" has a circuit_breaker");
  EXPECT_EQ(proxy->force(SwitchScope::route("nobody"), "", kOpen),
            "there is no scope \"route/nobody\"");
  EXPECT_EQ(proxy->force(SwitchScope::cluster("nobody"), "a", kOpen),
            "there is no scope \"cluster/nobody\"");
  EXPECT_EQ(proxy->force(SwitchScope::cluster("backend"), "10.0.0.7:80", kOpen),
            "cluster \"backend\" has no replica \"10.0.0.7:80\" (there are: " + one.url() + ")");
}

TEST(ProxyForce, ARouteThatMovesToAnotherClusterStaysForced) {
  TestBackend one("one");
  ProxyConfig config = with_breaker({one.url()});
  config.clusters.push_back(cluster_of("other", {one.url()}));
  const auto proxy = start(config);
  ASSERT_EQ(proxy->force(SwitchScope::route("all"), "", kOpen), std::nullopt);
  config.routes[0].cluster = "other";
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_TRUE(is_refused(proxy->port("web")));
  EXPECT_EQ(proxy->forced().size(), 1U);
  ASSERT_EQ(proxy->force(SwitchScope::route("all"), "", {}), std::nullopt);
  config.routes[0].cluster = "backend";
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_TRUE(says(ask(proxy->port("web")), "one"));  // A reset is not undone.
}

TEST(ProxyForce, AResetReachesARouteThatHasNoBreakerAtPresent) {
  TestBackend one("one");
  const ProxyConfig config = with_breaker({one.url()});
  const auto proxy = start(config);
  ASSERT_EQ(proxy->force(SwitchScope::route("all"), "", kOpen), std::nullopt);
  ASSERT_FALSE(proxy->reload(config_for({one.url()})));
  EXPECT_EQ(proxy->force(SwitchScope::route("all"), "", {}), std::nullopt);
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_TRUE(is_good(proxy->port("web")));
}

TEST(ProxyForce, AHeldLastReplicaIsNoFailureOfTheService) {
  TestBackend one("one");
  const auto proxy = start(with_breaker({one.url()}));
  const SwitchScope cluster = SwitchScope::cluster("backend");
  const std::string address = one.url().substr(std::string("http://").size());
  ASSERT_EQ(proxy->force(cluster, address, kOpen), std::nullopt);
  ASSERT_TRUE(soon([&] {
    const ProxyState state = proxy->state();
    return state.clusters[0].replicas[0].ejected_on == state.loops;
  }));
  for (int i = 0; i < 60; ++i) EXPECT_FALSE(is_good(proxy->port("web")));
  EXPECT_EQ(one.requests, 0);
  EXPECT_FALSE(is_refused(proxy->port("web")));  // The route's breaker is closed.
  ASSERT_EQ(proxy->force(cluster, address, {}), std::nullopt);
  EXPECT_TRUE(soon([&] { return is_good(proxy->port("web")); }));
}

TEST(ProxyForce, AReplicaIsNotAskedOnAnyLoopAndReturnsForced) {
  TestBackend one("one");
  TestBackend two("two");
  ProxyConfig config = config_for({one.url(), two.url()});
  const auto proxy = start(config);
  const SwitchScope cluster = SwitchScope::cluster("backend");
  const std::string address = one.url().substr(std::string("http://").size());
  ASSERT_EQ(proxy->force(cluster, address, kOpen), std::nullopt);
  const auto ejected = [&] {
    const ProxyState state = proxy->state();
    for (const ReplicaState& replica : state.clusters[0].replicas) {
      if (replica.endpoint == one.url()) return replica.ejected_on == state.loops;
    }
    return false;
  };
  EXPECT_TRUE(soon(ejected));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(says(ask(proxy->port("web")), "two"));
  EXPECT_EQ(one.requests, 0);
  EXPECT_NE(proxy->registry().expose().find("damper_replica_forced{cluster=\"backend\",replica=\"" +
                                            one.url() + "\",state=\"open\"} 1\n"),
            std::string::npos);
  // It leaves and returns.
  config.clusters[0].endpoints = {two.url()};
  ASSERT_FALSE(proxy->reload(config));
  config.clusters[0].endpoints = {one.url(), two.url()};
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_TRUE(soon(ejected));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(says(ask(proxy->port("web")), "two"));
  EXPECT_EQ(one.requests, 0);

  ASSERT_EQ(proxy->force(cluster, one.url(), {}), std::nullopt);
  EXPECT_TRUE(soon([&] {
    (void)ask(proxy->port("web"));
    return one.requests > 0;
  }));
  EXPECT_TRUE(proxy->forced().empty());
}

}  // namespace
}  // namespace damper::proxy
