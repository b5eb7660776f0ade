#include "damper/lab/runs/facts_of.h"

#include <algorithm>
#include <optional>

#include "damper/base/portable_math.h"
#include "damper/lab/runs/capacity.h"
#include "damper/policy/file/facts.h"
#include "damper/policy/file/schema.h"

namespace damper::lab {
namespace {

using policy::Facts;
using policy::Route;

double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e9; }

// Requests a second of a group; nothing when that depends on how it is served.
std::optional<double> rate_of(const ClientsSpec& clients) {
  if (clients.loop != Loop::open) return std::nullopt;
  switch (clients.arrivals) {
    case Pattern::poisson:
    case Pattern::metered: return clients.rate;
    case Pattern::constant:
    case Pattern::spread: return clients.count / seconds(clients.every);
    case Pattern::bursts: return clients.burst / seconds(clients.every);
  }
  return std::nullopt;
}

// The most runs a second that are no retries: each event is one, unless it is coalesced.
std::optional<double> rate_of(const ControllersSpec& controllers) {
  double rate = controllers.events;
  if (controllers.resync > Duration{0}) rate += controllers.keys / seconds(controllers.resync);
  if (controllers.rate_limit > 0) rate = std::min(rate, controllers.rate_limit);
  return controllers.count * rate;
}

// Computes the load of each service, and the facts for the linter.
class Survey {
 public:
  explicit Survey(const Scenario& scenario)
      : scenario_(scenario),
        demand_(scenario.services.size()),
        is_called_(scenario.services.size(), false) {
    for (const ClientsSpec& clients : scenario.clients) {
      send(*scenario.find_service(clients.calls), rate_of(clients), clients.processes);
    }
    for (const ControllersSpec& controllers : scenario.controllers) {
      const std::size_t at = *scenario.find_service(controllers.calls);
      send(at, rate_of(controllers), 0);
      is_called_[at] = true;
    }
    // Once for each service that is called, however many call it.
    std::vector<bool> counted(scenario.services.size(), false);
    for (const ClientsSpec& clients : scenario.clients) {
      count_callers(*scenario.find_service(clients.calls), counted);
    }
    for (const ControllersSpec& controllers : scenario.controllers) {
      count_callers(*scenario.find_service(controllers.calls), counted);
    }
  }

  [[nodiscard]] std::vector<Route> routes() const {
    std::vector<Route> routes;
    for (std::size_t i = 0; i < scenario_.services.size(); ++i) {
      if (demand_[i].clients > 0 || is_called_[i]) routes.push_back(route_to(i));
    }
    return routes;
  }

 private:
  struct Demand {
    std::optional<double> load = 0;
    std::int64_t clients = 0;  // 0: it has no callers
  };

  // Adds a stream of requests to the service, and to all that it calls for them.
  void send(std::size_t at, std::optional<double> rate, std::int64_t clients) {
    Demand& demand = demand_[at];
    demand.load = rate && demand.load ? std::optional(*demand.load + *rate) : std::nullopt;
    demand.clients += clients;
    for (const CallSpec& call : scenario_.services[at].calls) {
      send(*scenario_.find_service(call.service),
           rate ? std::optional(*rate * call.times) : std::nullopt, 0);
    }
  }

  void count_callers(std::size_t at, std::vector<bool>& counted) {
    if (counted[at]) return;
    counted[at] = true;
    const ServiceSpec& service = scenario_.services[at];
    for (const CallSpec& call : service.calls) {
      const std::size_t next = *scenario_.find_service(call.service);
      demand_[next].clients += service.replicas;
      count_callers(next, counted);
    }
  }

  // Whether a request may wait there, or at what it calls: then its latency depends on the load.
  [[nodiscard]] bool has_queue(const ServiceSpec& service) const {
    return service.workers > 0 ||
           std::any_of(service.calls.begin(), service.calls.end(), [this](const CallSpec& call) {
             return has_queue(scenario_.services[*scenario_.find_service(call.service)]);
           });
  }

  // How long the calls of a service take together, at the quantile.
  [[nodiscard]] Duration calls_at(const ServiceSpec& service, double quantile) const {
    Duration slowest{0};
    for (const CallSpec& call : service.calls) {
      const ServiceSpec& next = scenario_.services[*scenario_.find_service(call.service)];
      slowest = std::max(slowest, latency_at(next, math::pow(quantile, 1.0 / call.times)));
    }
    return slowest;
  }

  [[nodiscard]] Duration latency_at(const ServiceSpec& service, double quantile) const {
    const Duration both_ways = 2 * service.network.quantile(quantile);
    return std::min(
        service.service_time.quantile(quantile) + both_ways + calls_at(service, quantile),
        kLongest);
  }

  [[nodiscard]] Route route_to(std::size_t at) const {
    const ServiceSpec& service = scenario_.services[at];
    Route route;
    route.place = service.place;
    if (demand_[at].clients == 0) {  // Controllers alone call it: a run is one attempt.
      route.settings.policy.call.max_attempts = 1;
    } else if (const Route* found = scenario_.route_for(service.name)) {
      route = *found;
    }
    route.name = service.name;
    Facts facts;
    Capacity capacity = capacity_of(scenario_, at);
    facts.capacity = capacity.known;
    facts.capacity_at_most = capacity.at_most;
    facts.capacity_doubt = std::move(capacity.why);
    facts.load = demand_[at].load.value_or(0);
    facts.clients = demand_[at].clients;
    if (!has_queue(service)) {
      facts.latency = {.p50 = latency_at(service, 0.5),
                       .p99 = latency_at(service, 0.99),
                       .p999 = latency_at(service, 0.999)};
    }
    for (const CallSpec& call : service.calls) facts.calls.push_back(call.service);
    facts.ownership = scenario_.ownership;
    route.settings.facts = std::move(facts);
    return route;
  }

  const Scenario& scenario_;
  std::vector<Demand> demand_;
  std::vector<bool> is_called_;  // by controllers
};

}  // namespace

std::vector<Route> facts_of(const Scenario& scenario) { return Survey(scenario).routes(); }

}  // namespace damper::lab
