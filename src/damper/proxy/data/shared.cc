#include "damper/proxy/data/shared.h"

#include <utility>

#include "damper/run/dependency.h"

namespace damper::proxy {

admit::RetryBudgetOptions unlimited_budget() noexcept {
  return {.percent = Percent(1000), .reserve = 1000, .min_per_second = 10'000};
}

SharedCluster::SharedCluster(const ClusterConfig& config, admit::RetryBudget* process,
                             Instant /*now*/)
    : name_(config.name),
      budget_(config.retry_budget.value_or(unlimited_budget()), process),
      switches_(&damper::switches()) {}

void SharedCluster::reload(const ClusterConfig& config, Instant now) {
  budget_.reload(config.retry_budget.value_or(unlimited_budget()), now);
}

SharedRoute::SharedRoute(const RouteConfig& config, std::shared_ptr<SharedCluster> cluster,
                         Instant /*now*/)
    : cluster_(std::move(cluster)),
      dependency_(config.name, config.settings.policy,
                  {.budget = &cluster_->budget(), .switches = &cluster_->switches()}),
      has_rate_(config.rate_limit.has_value()),
      rate_(config.rate_limit.value_or(admit::TokenBucketOptions{})) {}

void SharedRoute::reload(const RouteConfig& config, Instant now) {
  dependency_.reload(config.settings.policy, now);
  if (config.rate_limit) rate_.reload(*config.rate_limit, now);
  has_rate_.store(config.rate_limit.has_value(), std::memory_order_relaxed);
}

bool SharedRoute::try_take(Instant now) noexcept {
  return !has_rate_.load(std::memory_order_relaxed) || rate_.try_take(now);
}

Duration SharedRoute::rate_wait(Instant now) const noexcept {
  return has_rate_.load(std::memory_order_relaxed) ? rate_.wait(now) : Duration{0};
}

}  // namespace damper::proxy
