#include "damper/proxy/data/shared.h"

#include <gtest/gtest.h>

#include "damper/run/dependency.h"

namespace damper::proxy {
namespace {

using std::chrono::seconds;

constexpr Instant kStart{seconds(1000)};

ClusterConfig cluster_named(const std::string& name) {
  ClusterConfig config;
  config.name = name;
  return config;
}
RouteConfig route_named(const std::string& name) {
  RouteConfig config;
  config.name = name;
  return config;
}

TEST(Shared, ABudgetThatNobodyAskedForDoesNotRestrict) {
  admit::RetryBudget process(unlimited_budget());
  auto cluster = std::make_shared<SharedCluster>(cluster_named("c"), &process, kStart);
  RouteConfig config = route_named("r");
  config.settings.policy.budget = {.percent = Percent(1000), .reserve = 1000};
  SharedRoute route(config, cluster, kStart);
  admit::RetryBudget& budget = route.dependency().budget();
  for (int i = 0; i < 100; ++i) budget.on_request(kStart);
  int granted = 0;
  while (budget.try_withdraw(kStart)) ++granted;
  EXPECT_EQ(granted, 2000);  // All that the route's own allows.
}

TEST(Shared, ARouteSpendsInsideItsClusterInsideTheProcess) {
  admit::RetryBudget process({.percent = Percent(0), .reserve = 5});
  ClusterConfig config = cluster_named("c");
  config.retry_budget = admit::RetryBudgetOptions{.percent = Percent(0), .reserve = 3};
  auto cluster = std::make_shared<SharedCluster>(config, &process, kStart);
  RouteConfig wide = route_named("r");
  wide.settings.policy.budget.reserve = 100;
  SharedRoute one(wide, cluster, kStart);
  SharedRoute two(wide, cluster, kStart);
  EXPECT_TRUE(one.dependency().budget().try_withdraw(kStart));
  EXPECT_TRUE(two.dependency().budget().try_withdraw(kStart));
  EXPECT_TRUE(one.dependency().budget().try_withdraw(kStart));
  EXPECT_FALSE(one.dependency().budget().try_withdraw(kStart));  // The cluster's three.
  SharedCluster other(cluster_named("d"), &process, kStart);
  EXPECT_TRUE(other.budget().try_withdraw(kStart));
  EXPECT_TRUE(other.budget().try_withdraw(kStart));
  EXPECT_FALSE(other.budget().try_withdraw(kStart));  // The process's five.
}

TEST(Shared, SwitchesNestUnderTheProcess) {
  auto cluster = std::make_shared<SharedCluster>(cluster_named("c"), nullptr, kStart);
  SharedRoute route(route_named("r"), cluster, kStart);
  admit::Switches& switches = route.dependency().switches();
  EXPECT_FALSE(switches.retries_off(kStart));
  cluster->switches().set(admit::Switch::retries, {.off = true});
  EXPECT_TRUE(switches.retries_off(kStart));
  cluster->switches().clear(admit::Switch::retries);
  damper::switches().set(admit::Switch::retries, {.off = true});
  EXPECT_TRUE(switches.retries_off(kStart));
  damper::switches().clear(admit::Switch::retries);
  EXPECT_FALSE(switches.retries_off(kStart));
}

TEST(Shared, TheRateLimitIsThereWhenItIsAskedForAndKeepsItsFill) {
  auto cluster = std::make_shared<SharedCluster>(cluster_named("c"), nullptr, kStart);
  RouteConfig config = route_named("r");
  SharedRoute route(config, cluster, kStart);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(route.try_take(kStart));
  EXPECT_EQ(route.rate_wait(kStart), Duration{0});
  config.rate_limit = admit::TokenBucketOptions{.rate_per_second = 1, .burst = 2};
  route.reload(config, kStart);
  EXPECT_TRUE(route.try_take(kStart));
  EXPECT_TRUE(route.try_take(kStart));
  EXPECT_FALSE(route.try_take(kStart));
  EXPECT_EQ(route.rate_wait(kStart), seconds(1));
  route.reload(config, kStart);
  EXPECT_FALSE(route.try_take(kStart));
  config.rate_limit.reset();
  route.reload(config, kStart);
  EXPECT_TRUE(route.try_take(kStart));
}

}  // namespace
}  // namespace damper::proxy
