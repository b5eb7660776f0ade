#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "damper/admit/quota.h"
#include "damper/admit/retry_budget.h"
#include "damper/admit/switches.h"
#include "damper/admit/token_bucket.h"
#include "damper/engine/dependency.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/data/forced_replicas.h"
#include "damper/proxy/health/cluster_health.h"
#include "damper/proxy/split/weighted_split.h"
#include "damper/run/dependency.h"

namespace damper::proxy {

// The budget of a process without a configured one: ten retries for each request and ten thousand
// a second beyond, which is more than the routes below it can spend. It is there all the same, so
// that a reload can make it a real one.
[[nodiscard]] inline admit::RetryBudgetOptions unlimited_budget() noexcept {
  return {.percent = Percent(1000), .reserve = 1000, .min_per_second = 10'000};
}

// A SharedCluster is what all loops share of a cluster: the budget of its routes together, inside
// the process's, its switches, the replicas that an operator holds, and the verdicts of health
// checks. It lives on, by its name, through reloads.
//
// Thread safety: all methods may be called concurrently, reload() with all but itself.
class SharedCluster {
 public:
  // The process's budget outlives it.
  SharedCluster(const ClusterConfig& config, admit::RetryBudget* process, Instant /*now*/)
      : name_(config.name),
        budget_(config.retry_budget.value_or(unlimited_budget()), process),
        switches_(&damper::switches()) {}
  void reload(const ClusterConfig& config, Instant now) {
    budget_.reload(config.retry_budget.value_or(unlimited_budget()), now);
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] admit::RetryBudget& budget() noexcept { return budget_; }
  [[nodiscard]] admit::Switches& switches() noexcept { return switches_; }
  [[nodiscard]] const std::shared_ptr<ForcedReplicas>& forced() const noexcept { return forced_; }
  [[nodiscard]] const std::shared_ptr<ClusterHealth>& health() const noexcept { return health_; }

 private:
  const std::string name_;
  admit::RetryBudget budget_;
  admit::Switches switches_;  // under damper::switches()
  const std::shared_ptr<ForcedReplicas> forced_ = std::make_shared<ForcedReplicas>();
  const std::shared_ptr<ClusterHealth> health_ = std::make_shared<ClusterHealth>();
};

// The rate_limit of a route, if it has one: of all its clusters together.
//
// Thread safety: all methods may be called concurrently, reload() with all but itself.
class RouteRate {
 public:
  explicit RouteRate(const RouteConfig& config)
      : is_on_(config.rate_limit.has_value()),
        bucket_(config.rate_limit.value_or(admit::TokenBucketOptions{})) {}
  void reload(const RouteConfig& config, Instant now) noexcept {
    if (config.rate_limit) bucket_.reload(*config.rate_limit, now);
    is_on_.store(config.rate_limit.has_value(), std::memory_order_relaxed);
  }
  // Whether it has room; how long until it has. Always, without one.
  [[nodiscard]] bool try_take(Instant now) noexcept {
    return !is_on_.load(std::memory_order_relaxed) || bucket_.try_take(now);
  }
  [[nodiscard]] Duration wait(Instant now) const noexcept {
    return is_on_.load(std::memory_order_relaxed) ? bucket_.wait(now) : Duration{0};
  }

 private:
  std::atomic<bool> is_on_;
  admit::TokenBucket bucket_;
};

// A SharedRoute is what all loops share of a route and a cluster of it: everything that its calls
// have in common. It lives on, by the names of both, through reloads: budget, breaker, limit and
// latencies are continuous. A route that moves to another cluster is a new one: what is known of
// the one says nothing of the other.
//
// Each of the weighted_clusters of a route has a SharedRoute of its own, called ROUTE@CLUSTER: a
// cluster that fails opens no breaker, spends no budget and lowers no limit of the others. Only the
// rate_limit, which counts requests whatever becomes of them, is the route's; it is continuous by
// the route's name.
//
// Thread safety: all methods may be called concurrently, reload() with all but itself.
class SharedRoute {
 public:
  // `rate`: that of the route's other clusters; nullptr: there is none yet.
  SharedRoute(const RouteConfig& config, std::shared_ptr<SharedCluster> cluster, Instant /*now*/,
              std::shared_ptr<RouteRate> rate = nullptr)
      : cluster_(std::move(cluster)),
        route_(config.name),
        dependency_(config.weighted_clusters.empty() ? config.name
                                                     : split_name(config.name, cluster_->name()),
                    config.settings.policy,
                    {.budget = &cluster_->budget(), .switches = &cluster_->switches()}),
        rate_(rate != nullptr ? std::move(rate) : std::make_shared<RouteRate>(config)),
        tunnels_(config.max_tunnels) {}
  void reload(const RouteConfig& config, Instant now) {
    dependency_.reload(config.settings.policy, now);
    rate_->reload(config, now);
  }

  // Tunnels that are open stay open.
  void set_max_tunnels(std::size_t most) noexcept { tunnels_.reload(most); }

  // ROUTE, or ROUTE@CLUSTER.
  [[nodiscard]] const std::string& name() const noexcept { return dependency_.name(); }
  [[nodiscard]] const std::string& route() const noexcept { return route_; }
  // Whether an order for this name is one for it: its own, or the route's.
  [[nodiscard]] bool is_called(std::string_view name) const noexcept {
    return name == dependency_.name() || name == route_;
  }
  [[nodiscard]] engine::Dependency& dependency() noexcept { return dependency_; }
  [[nodiscard]] const std::shared_ptr<SharedCluster>& shared_cluster() const noexcept {
    return cluster_;
  }
  [[nodiscard]] SharedCluster& cluster() noexcept { return *cluster_; }
  [[nodiscard]] const std::shared_ptr<RouteRate>& rate() const noexcept { return rate_; }
  [[nodiscard]] bool try_take(Instant now) noexcept { return rate_->try_take(now); }
  [[nodiscard]] Duration rate_wait(Instant now) const noexcept { return rate_->wait(now); }
  // A tunnel, or a request for one, from its head on. False: there are max_tunnels.
  [[nodiscard]] bool try_take_tunnel() noexcept {
    if (tunnels_.try_take() > 0) return true;
    refused_tunnels_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  void release_tunnel() noexcept { tunnels_.give_back(); }
  [[nodiscard]] const admit::Quota& tunnels() const noexcept { return tunnels_; }
  [[nodiscard]] std::uint64_t refused_tunnels() const noexcept {
    return refused_tunnels_.load(std::memory_order_relaxed);
  }

 private:
  std::shared_ptr<SharedCluster> cluster_;
  const std::string route_;
  engine::Dependency dependency_;
  const std::shared_ptr<RouteRate> rate_;
  admit::Quota tunnels_;
  std::atomic<std::uint64_t> refused_tunnels_{0};
};

}  // namespace damper::proxy
