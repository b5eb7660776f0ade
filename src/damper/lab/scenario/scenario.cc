#include "damper/lab/scenario/scenario.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "damper/base/bounds.h"
#include "damper/base/duration_text.h"
#include "damper/base/text/words.h"
#include "damper/lab/runs/measure.h"
#include "damper/lab/scenario/scenario_schema.h"

namespace damper::lab {
namespace {

template <class Things>
std::optional<std::size_t> position(const Things& things, std::string_view name) {
  const auto found = std::find_if(things.begin(), things.end(),
                                  [&](const auto& thing) { return thing.name == name; });
  if (found == things.end()) return std::nullopt;
  return static_cast<std::size_t>(found - things.begin());
}

using config::Error;
using config::SourceLocation;
using text::in_quotes;
using Names = std::vector<std::string_view>;
using Wrong = std::optional<Error>;

template <class Things>
Names names_of(const Things& things) {
  Names names;
  for (const auto& thing : things) names.emplace_back(thing.name);
  return names;
}

class Checker {
 public:
  explicit Checker(const Scenario& scenario) : scenario_(scenario) {}

  [[nodiscard]] Wrong find() {
    if (auto wrong = check_whole()) return wrong;
    for (const ServiceSpec& service : scenario_.services) {
      if (auto wrong = check_service(service)) return wrong;
    }
    if (auto wrong = check_circles()) return wrong;
    for (const ClientsSpec& clients : scenario_.clients) {
      if (auto wrong = check_clients(clients)) return wrong;
    }
    for (const ControllersSpec& controllers : scenario_.controllers) {
      if (auto wrong = check_controllers(controllers)) return wrong;
    }
    if (auto wrong = check_totals()) return wrong;
    for (const FaultSpec& fault : scenario_.faults) {
      if (auto wrong = check_fault(fault)) return wrong;
    }
    for (const Expectation& promise : scenario_.expect) {
      if (auto wrong = check_promise(promise)) return wrong;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] Error error(SourceLocation place, std::string sentence) const {
    return {.file = scenario_.file, .place = place, .sentence = std::move(sentence)};
  }

  template <class T>
  [[nodiscard]] Wrong check_bounds(const T& thing, SourceLocation place,
                                   const std::string& called) const {
    if (auto sentence = schema<T>().find_error(thing))
      return error(place, called + ": " + *sentence);
    return std::nullopt;
  }

  template <class Things>
  [[nodiscard]] Wrong check_names(const Things& things, std::string_view what,
                                  std::size_t most) const {
    if (things.empty() || things.size() > most) {
      return error({1, 1}, "the scenario must have 1 to " + std::to_string(most) + ' ' +
                               std::string(what) + ", not " + std::to_string(things.size()));
    }
    Names names = names_of(things);
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
      return error({1, 1}, "two " + std::string(what) + " are called " + in_quotes(*twice));
    }
    for (const auto& thing : things) {
      if (auto wrong = config::find_error("a name", kName, thing.name)) {
        return error(thing.place, *std::move(wrong));
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] Wrong check_whole() const {
    if (auto wrong = check_bounds(scenario_, {1, 1}, "the scenario")) return wrong;
    if (auto wrong = check_names(scenario_.services, "services", kMostServices)) return wrong;
    if (scenario_.clients.empty() && scenario_.controllers.empty()) {
      return error({1, 1}, "the scenario needs clients, controllers or both");
    }
    if (!scenario_.clients.empty()) {
      if (auto wrong = check_names(scenario_.clients, "clients", kMostClients)) return wrong;
    }
    if (!scenario_.controllers.empty()) {
      if (auto wrong = check_names(scenario_.controllers, "controllers", kMostControllers)) {
        return wrong;
      }
    }
    const auto check_size = [&](std::size_t size, std::string_view what,
                                std::size_t most) -> Wrong {
      if (size <= most) return std::nullopt;
      return error({1, 1},
                   "the scenario has more than " + std::to_string(most) + ' ' + std::string(what));
    };
    if (auto wrong = check_size(scenario_.faults.size(), "faults", kMostFaults)) return wrong;
    if (auto wrong = check_size(scenario_.expect.size(), "promises", kMostExpectations)) {
      return wrong;
    }
    const auto recorded = static_cast<std::int64_t>(
        scenario_.services.size() + scenario_.clients.size() + scenario_.controllers.size());
    const std::int64_t ticks = (scenario_.length / scenario_.bucket + 1) * recorded;
    if (ticks > kMostTicks) {
      const Duration least = scenario_.length / (kMostTicks / recorded - 1) + Duration{1};
      return error({1, 1},
                   "a run of " + format_duration(scenario_.length) + " has too many buckets of " +
                       format_duration(scenario_.bucket) + ": make bucket at least " +
                       format_duration(std::chrono::ceil<std::chrono::milliseconds>(least)));
    }
    return std::nullopt;
  }

  [[nodiscard]] Error unknown(std::string_view what, std::string_view name, const Names& known,
                              SourceLocation place, const std::string& called) const {
    return error(place, called + ": there is no " + std::string(what) + ' ' + in_quotes(name) +
                            text::suggestion(name, known) + " (accepted: " + text::joined(known) +
                            ")");
  }

  [[nodiscard]] Wrong check_service(const ServiceSpec& service) const {
    const std::string called = "service " + service.name;
    if (auto wrong = check_bounds(service, service.place, called)) return wrong;
    if (service.queue == Discipline::shed) {
      admit::ShedQueueOptions options = service.shed;
      options.capacity = service.queue_bound;
      if (auto sentence = admit::find_error(options)) {
        return error(service.place, called + ": queue: " + *sentence);
      }
    }
    if (service.limit) {
      if (auto sentence = admit::find_error(*service.limit)) {
        return error(service.place, called + ": limit: " + *sentence);
      }
    }
    if (service.calls.size() > kMostCalls) {
      return error(service.place,
                   called + " makes more than " + std::to_string(kMostCalls) + " calls");
    }
    for (const CallSpec& call : service.calls) {
      if (auto wrong = check_bounds(call, call.place, called)) return wrong;
      if (scenario_.find_service(call.service)) continue;
      return unknown("service", call.service, names_of(scenario_.services), call.place, called);
    }
    return std::nullopt;
  }

  // What is within its bounds one by one, and too much together.
  [[nodiscard]] Wrong check_totals() const {
    std::int64_t clients = 0;
    std::int64_t callers = 0;
    for (const ClientsSpec& group : scenario_.clients) {
      clients += group.count;
      callers += group.processes;
      if (clients > kMostClientsTogether) {
        return error(group.place, "there are more than " + std::to_string(kMostClientsTogether) +
                                      " clients in all groups together");
      }
      if (callers > kMostCallers) return error(group.place, too_many_callers());
    }
    std::int64_t keys = 0;
    for (const ControllersSpec& group : scenario_.controllers) {
      callers += group.count;
      keys += std::int64_t{group.count} * group.keys;
      if (callers > kMostCallers) return error(group.place, too_many_callers());
      if (keys > kMostKeysTogether) {
        return error(group.place, "there are more than " + std::to_string(kMostKeysTogether) +
                                      " keys of all controllers together");
      }
    }
    for (const ServiceSpec& service : scenario_.services) {
      callers += service.replicas * static_cast<std::int64_t>(service.calls.size());
      if (callers > kMostCallers) return error(service.place, too_many_callers());
    }
    return std::nullopt;
  }
  [[nodiscard]] static std::string too_many_callers() {
    return "there are more than " + std::to_string(kMostCallers) +
           " processes, controllers and calling replicas, each with a budget of its own; let more "
           "clients share a process";
  }

  // Follows the calls in depth. `path` are the services on the way; `fan_out_` of a service is how
  // many calls one request to it causes, once all that it calls is known.
  [[nodiscard]] Wrong follow(std::size_t at, std::vector<std::size_t>& path) {
    const ServiceSpec& service = scenario_.services[at];
    path.push_back(at);
    std::int64_t fan_out = 0;
    for (const CallSpec& call : service.calls) {
      const std::size_t next = *scenario_.find_service(call.service);
      if (const auto seen = std::find(path.begin(), path.end(), next); seen != path.end()) {
        std::string circle;
        for (auto step = seen; step != path.end(); ++step) {
          circle += scenario_.services[*step].name + " -> ";
        }
        return error(call.place, "services call each other in a circle: " + circle + call.service);
      }
      if (fan_out_[next] < 0) {
        if (auto wrong = follow(next, path)) return wrong;
      }
      fan_out += call.times * (1 + fan_out_[next]);
      if (fan_out > kMostFanOut) {
        return error(call.place, "a request to " + service.name + " causes more than " +
                                     std::to_string(kMostFanOut) + " calls");
      }
    }
    path.pop_back();
    fan_out_[at] = fan_out;
    return std::nullopt;
  }

  [[nodiscard]] Wrong check_circles() {
    fan_out_.assign(scenario_.services.size(), -1);
    for (std::size_t i = 0; i < scenario_.services.size(); ++i) {
      std::vector<std::size_t> path;
      if (fan_out_[i] >= 0) continue;
      if (auto wrong = follow(i, path)) return wrong;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> find_sharing_error(const ClientsSpec& clients) const {
    if (clients.shares.empty()) return std::nullopt;
    const auto at = scenario_.find_clients(clients.shares);
    if (!at || &scenario_.clients[*at] >= &clients) {
      return "shares must name an earlier group, not " + in_quotes(clients.shares);
    }
    const ClientsSpec& home = scenario_.clients[*at];
    if (home.calls == clients.calls && home.processes == clients.processes && home.shares.empty()) {
      return std::nullopt;
    }
    return "shares: " + in_quotes(clients.shares) +
           " must call the same service, have as many processes, and share with no other group";
  }

  [[nodiscard]] Wrong check_clients(const ClientsSpec& clients) const {
    const std::string called = "clients " + clients.name;
    if (auto wrong = check_bounds(clients, clients.place, called)) return wrong;
    if (!scenario_.find_service(clients.calls)) {
      return unknown("service", clients.calls, names_of(scenario_.services), clients.calls_place,
                     called);
    }
    const auto wrong = [&](const std::string& sentence) {
      return error(clients.place, called + ": " + sentence);
    };
    if (clients.processes > clients.count) {
      return wrong("processes (" + std::to_string(clients.processes) + ") must be at most count (" +
                   std::to_string(clients.count) + ")");
    }
    if (auto sentence = find_sharing_error(clients)) return wrong(*sentence);
    const bool rated = clients.has_rate();
    const bool paced = clients.loop == Loop::open && !rated;
    const std::string way = clients.loop == Loop::open
                                ? std::string(kPatternNames[clients.arrivals]) + " arrivals"
                                : "a " + std::string(kLoopNames[clients.loop]) + " loop";
    if (rated && clients.rate <= 0) return wrong(way + " need the key rate");
    if (!rated && clients.rate > 0) return wrong("rate is not for " + way);
    if (paced && clients.every <= Duration{0}) return wrong(way + " need the key every");
    if (!paced && clients.every > Duration{0}) return wrong("every is not for " + way);
    return std::nullopt;
  }

  [[nodiscard]] Wrong check_controllers(const ControllersSpec& controllers) const {
    const std::string called = "controllers " + controllers.name;
    if (auto wrong = check_bounds(controllers, controllers.place, called)) return wrong;
    if (!scenario_.find_service(controllers.calls)) {
      return unknown("service", controllers.calls, names_of(scenario_.services),
                     controllers.calls_place, called);
    }
    const auto wrong = [&](const std::string& sentence) {
      return error(controllers.place, called + ": " + sentence);
    };
    if (controllers.retries.backoff.base > controllers.retries.backoff.cap) {
      return wrong("base_interval is " + format_duration(controllers.retries.backoff.base) +
                   "; it must be at most max_interval, which is " +
                   format_duration(controllers.retries.backoff.cap));
    }
    if (auto sentence = engine::find_error(controllers.requeue_policy())) return wrong(*sentence);
    const auto check_most = [&](std::string_view what, std::int32_t some) -> Wrong {
      if (some <= controllers.keys) return std::nullopt;
      return wrong(std::string(what) + " (" + std::to_string(some) + ") must be at most keys (" +
                   std::to_string(controllers.keys) + ")");
    };
    if (auto too_many = check_most("hot_keys", controllers.hot_keys)) return too_many;
    if (auto too_many = check_most("broken_keys", controllers.broken_keys)) return too_many;
    if (controllers.hot_share > 0 && controllers.hot_keys == 0) {
      return wrong("hot_share needs the key hot_keys");
    }
    if (controllers.events <= 0 && controllers.resync <= Duration{0}) {
      return wrong("they need the key events, resync or both");
    }
    return std::nullopt;
  }

  [[nodiscard]] Wrong check_fault(const FaultSpec& fault) const {
    const std::string called = "fault " + std::string(kFaultNames[fault.kind]);
    if (auto wrong = check_bounds(fault, fault.place, called)) return wrong;
    const auto wrong = [&](const std::string& sentence) {
      return error(fault.place, called + ": " + sentence);
    };
    if (fault.at >= scenario_.length) {
      return wrong("it begins at " + format_duration(fault.at) + ", after the end of the run (" +
                   format_duration(scenario_.length) + ")");
    }
    if (fault.length <= Duration{0}) return wrong("it has no length");
    if (fault.requests > 0 && fault.kind != FaultKind::slow) {
      return wrong("requests is for the kind slow alone");
    }
    const FaultTraits& traits = fault.traits();
    if (traits.size == FaultTraits::Size::share && fault.amount > 1) {
      return wrong("amount is " + bound_text(fault.amount) + "; it must be a share from 0 to 1");
    }
    if (traits.size == FaultTraits::Size::factor && fault.amount < 0.001) {
      return wrong("amount is " + bound_text(fault.amount) +
                   "; it must be a factor from 0.001 to 1000");
    }
    return traits.on_clients ? check_spike(fault, called) : check_place(fault, called);
  }

  [[nodiscard]] Wrong check_spike(const FaultSpec& fault, const std::string& called) const {
    const auto clients = scenario_.find_clients(fault.on);
    if (!clients) {
      return unknown("group of clients", fault.on, names_of(scenario_.clients), fault.place,
                     called);
    }
    if (!scenario_.clients[*clients].has_rate()) {
      return error(fault.place, called + ": it needs clients with poisson or metered arrivals");
    }
    if (!fault.replicas.empty()) {
      return error(fault.place, called + ": clients have no replicas");
    }
    return std::nullopt;
  }

  [[nodiscard]] Wrong check_place(const FaultSpec& fault, const std::string& called) const {
    const auto service = scenario_.find_service(fault.on);
    if (!service) {
      return unknown("service", fault.on, names_of(scenario_.services), fault.place, called);
    }
    const ServiceSpec& spec = scenario_.services[*service];
    for (const std::int32_t replica : fault.replicas) {
      if (replica < spec.replicas) continue;
      return error(fault.place, called + ": " + spec.name + " has no replica " +
                                    std::to_string(replica) + ": they count from 0 to " +
                                    std::to_string(spec.replicas - 1));
    }
    if (fault.kind == FaultKind::capacity && spec.workers == 0) {
      return error(fault.place, called + ": " + spec.name + " has a worker for every request");
    }
    // Workers that are left are rounded up (replica.cc).
    if (fault.kind == FaultKind::capacity && fault.amount < 1 &&
        std::ceil(spec.workers * fault.amount - 1e-9) >= spec.workers) {
      return error(fault.place, called + ": amount is " + bound_text(fault.amount) +
                                    ", which leaves all " + std::to_string(spec.workers) +
                                    " workers of " + spec.name +
                                    ", since they are rounded up; use 0, or slow for a slower one");
    }
    return std::nullopt;
  }

  [[nodiscard]] Wrong check_promise(const Expectation& promise) const {
    if (auto wrong = check_bounds(promise, promise.place, "a promise")) return wrong;
    if (find_measure(promise.measure) == nullptr) {
      return unknown("measure", promise.measure, names_of(measures()), promise.place, "a promise");
    }
    if (!promise.at_least && !promise.at_most) {
      return error(promise.place, "a promise needs at_least, at_most or both");
    }
    if (promise.at_least && promise.at_most && *promise.at_least > *promise.at_most) {
      return error(promise.place, "no number is at_least and at_most that");
    }
    return std::nullopt;
  }

  const Scenario& scenario_;
  std::vector<std::int64_t> fan_out_;
};

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

Wrong find_error(const Scenario& scenario) { return Checker(scenario).find(); }

}  // namespace damper::lab
