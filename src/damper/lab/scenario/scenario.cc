#include "damper/lab/scenario/scenario.h"

#include <algorithm>

namespace damper::lab {
namespace {

template <class Things>
std::optional<std::size_t> position(const Things& things, std::string_view name) {
  const auto found = std::find_if(things.begin(), things.end(),
                                  [&](const auto& thing) { return thing.name == name; });
  if (found == things.end()) return std::nullopt;
  return static_cast<std::size_t>(found - things.begin());
}

}  // namespace

std::optional<std::size_t> Scenario::find_service(std::string_view wanted) const {
  return position(services, wanted);
}

std::optional<std::size_t> Scenario::find_clients(std::string_view wanted) const {
  return position(clients, wanted);
}

std::string_view Scenario::first_called() const {
  if (!clients.empty()) return clients.front().calls;
  return controllers.empty() ? std::string_view() : controllers.front().calls;
}

engine::RequeuePolicy ControllersSpec::requeue_policy() const {
  engine::RequeuePolicy policy = retries;
  policy.overload_base = std::min(policy.overload_base, policy.backoff.cap);
  policy.rate.reset();
  if (rate_limit > 0) policy.rate = {.rate_per_second = rate_limit, .burst = burst};
  return policy;
}

const policy::Route* Scenario::route_for(std::string_view service) const {
  if (const policy::Route* route = policy.find(service)) return route;
  if (policy.routes.size() != 1 || find_service(policy.routes.front().name)) return nullptr;
  return &policy.routes.front();
}

engine::Policy Scenario::policy_for(std::string_view service) const {
  const policy::Route* route = route_for(service);
  return route == nullptr ? engine::Policy{} : route->settings.policy;
}

}  // namespace damper::lab
