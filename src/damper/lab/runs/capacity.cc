#include "damper/lab/runs/capacity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "damper/base/random.h"
#include "damper/engine/policy.h"
#include "damper/lab/runs/interval.h"

namespace damper::lab {
namespace {

constexpr double kMostHandover = 0.02;   // of the busy time
constexpr double kMostTimedOut = 0.005;  // the same
constexpr double kMostError = 0.007;     // standard error of the mean, by the mean
constexpr std::int64_t kMostDraws = 1'000'000;
constexpr std::int64_t kMostSamples = 40'000;
constexpr std::int64_t kLeastSamples = 200;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e9; }

// The mean of the samples, rounded down to multiples of the grain.
double mean_seconds(const ServiceSpec& service) {
  const double mean = seconds(service.service_time.mean());
  if (service.grain <= Duration{0}) return mean;
  constexpr int kStrata = 1000;
  double cut = 0;  // What is cut off is at most a grain, so that no tail makes this mean uncertain.
  for (int i = 0; i < kStrata; ++i) {
    cut += seconds(service.service_time.quantile((i + 0.5) / kStrata) % service.grain);
  }
  return std::max(mean - cut / kStrata, 0.0);
}

// How long the workers of one service are busy with a request.
class Busy {
 public:
  Busy(const Scenario& scenario, std::size_t service) : scenario_(scenario), at_(service) {
    for (const ServiceSpec& each : scenario.services) {
      std::vector<std::size_t>& called = calls_.emplace_back();
      for (const CallSpec& call : each.calls)
        called.push_back(*scenario.find_service(call.service));
      timeouts_.push_back(seconds(engine::longest_attempt(scenario.policy_for(each.name).call)));
    }
  }

  [[nodiscard]] Capacity capacity() {
    const ServiceSpec& service = spec(at_);
    if (service.workers == 0) return {};
    std::int32_t workers = service.workers;
    if (service.limit && service.limit->kind == admit::LimitKind::fixed) {
      workers = std::min(workers, service.limit->initial);
    } else if (service.limit) {
      doubt("its concurrency limit adapts");
    }
    if (service.optimistic) doubt("an attempt reads and writes its row");
    const double own = mean_seconds(service) + seconds(service.per_request) * workers;
    const double calls = (1 - service.errors) * mean_of_calls();
    double busy = own + calls;
    if (seconds(service.handover) > kMostHandover * busy) {
      doubt("requests that arrive in a handover do not wait for it");
    } else {
      busy += seconds(service.handover);
    }
    if (timed_out_ > kMostTimedOut * busy) doubt("calls of its workers time out");
    if (error_ > kMostError * busy) doubt("the times of its calls vary too much");
    if (busy <= 0) return {};
    const double most = static_cast<double>(service.replicas) * workers / busy;
    if (why_.empty()) return {.known = most};
    // A call that fails or times out does not keep its worker for as long.
    const double least = own + (may_fail_ ? 0 : (1 - service.errors) * least_calls_);
    if (least <= 0) return {.why = why_};
    return {.at_most = static_cast<double>(service.replicas) * workers / least, .why = why_};
  }

 private:
  [[nodiscard]] const ServiceSpec& spec(std::size_t at) const { return scenario_.services[at]; }

  void doubt(const std::string& why) {
    if (why_.empty()) why_ = why;
  }

  // The most requests that can be in flight to the service, retries not counted.
  [[nodiscard]] double most_in_flight(std::size_t at) const {
    double most = 0;
    for (const ClientsSpec& clients : scenario_.clients) {
      if (scenario_.find_service(clients.calls) != at) continue;
      if (clients.loop == Loop::open) return kUnbounded;
      most += static_cast<double>(clients.count);
    }
    for (const ControllersSpec& controllers : scenario_.controllers) {
      if (scenario_.find_service(controllers.calls) != at) continue;
      most += static_cast<double>(controllers.count) * controllers.workers;
    }
    for (std::size_t i = 0; i < scenario_.services.size(); ++i) {
      const ServiceSpec& caller = spec(i);
      for (std::size_t n = 0; n < calls_[i].size(); ++n) {
        if (calls_[i][n] != at) continue;
        const double in_work = most_in_flight(i);
        if (in_work == 0) continue;  // It is never called.
        const double workers = static_cast<double>(caller.replicas) * caller.workers;
        most += caller.calls[n].times * (caller.workers > 0 ? std::min(workers, in_work) : in_work);
      }
    }
    return most;
  }

  // Why a call to the service does not take the sum of its parts.
  void doubt_call(std::size_t at) {
    const ServiceSpec& called = spec(at);
    if (called.workers > 0 && most_in_flight(at) > called.workers) {
      doubt("its workers wait for " + called.name + ", where requests may queue");
    }
    if (called.per_request > Duration{0}) {
      doubt("its workers wait for " + called.name + ", which depends on the load");
    }
    if (called.errors > 0 || called.loss > 0 || called.optimistic || called.limit ||
        called.fails_after > Duration{0}) {
      may_fail_ = true;
      doubt("its workers wait for " + called.name + ", where requests may fail");
    }
    const engine::Policy policy = scenario_.policy_for(called.name);
    if (policy.call.hedge.max_hedges > 0 || policy.call.adaptive_timeout.on || policy.limit ||
        policy.attempt_rate) {
      may_fail_ = true;
      doubt("calls to " + called.name + " are hedged, limited, or have an adaptive timeout");
    }
    for (const std::size_t below : calls_[at]) doubt_call(below);
  }

  // Draws of one sample.
  [[nodiscard]] std::int64_t draws_of(std::size_t at) const {
    std::int64_t draws = 0;
    for (std::size_t n = 0; n < calls_[at].size(); ++n) {
      draws += spec(at).calls[n].times * (3 + draws_of(calls_[at][n]));
    }
    return draws;
  }

  // One sample of the slowest call of the service, and the same with the timeouts of the policy.
  struct Slowest {
    double latency = 0;
    double cut = 0;
  };
  Slowest sample_calls(std::size_t at) {
    Slowest slowest;
    for (std::size_t n = 0; n < calls_[at].size(); ++n) {
      const std::size_t below = calls_[at][n];
      const ServiceSpec& called = spec(below);
      for (std::int32_t i = 0; i < spec(at).calls[n].times; ++i) {
        Duration takes = called.service_time.sample(random_);
        if (called.grain > Duration{0}) takes -= takes % called.grain;
        double own = seconds(takes);
        own += seconds(called.network.sample(random_));
        own += seconds(called.network.sample(random_));
        const Slowest its = sample_calls(below);
        if (own + its.latency > timeouts_[below]) timed_out_ += own + its.latency;
        slowest.latency = std::max(slowest.latency, own + its.latency);
        slowest.cut = std::max(slowest.cut, std::min(own + its.cut, timeouts_[below]));
      }
    }
    return slowest;
  }

  // The sum of the means, where each service on the way makes at most one call; else nothing.
  [[nodiscard]] std::optional<double> sum_of_means(std::size_t at) const {
    const ServiceSpec& service = spec(at);
    if (service.calls.empty()) return 0;
    if (service.calls.size() > 1 || service.calls.front().times > 1) return std::nullopt;
    const ServiceSpec& called = spec(calls_[at].front());
    const auto below = sum_of_means(calls_[at].front());
    if (!below) return std::nullopt;
    return mean_seconds(called) + 2 * seconds(called.network.mean()) + *below;
  }

  double mean_of_calls() {
    if (calls_[at_].empty()) return 0;
    for (const std::size_t below : calls_[at_]) doubt_call(below);
    if (std::ranges::any_of(scenario_.clients, [](const ClientsSpec& clients) {
          return clients.answer != decide::Outcome::success;
        })) {
      doubt("requests of some clients fail without calls");
    }
    const std::int64_t samples =
        std::clamp(kMostDraws / draws_of(at_), kLeastSamples, kMostSamples);
    Summary slowest;
    Summary cut;
    for (std::int64_t i = 0; i < samples; ++i) {
      const Slowest sample = sample_calls(at_);
      slowest.add(sample.latency);
      cut.add(sample.cut);
    }
    timed_out_ /= static_cast<double>(samples);
    const auto exact = sum_of_means(at_);
    if (!exact) error_ = slowest.sem();
    const double mean = exact.value_or(slowest.mean());
    least_calls_ = timed_out_ > 0 ? cut.mean() : mean;
    return mean;
  }

  const Scenario& scenario_;
  const std::size_t at_;
  std::vector<std::vector<std::size_t>> calls_;  // by service: those of its `calls`
  std::vector<double> timeouts_;                 // seconds of an attempt, by called service
  Random random_{1};
  double timed_out_ = 0;    // seconds of attempts that take too long, by request
  double least_calls_ = 0;  // the mean of the slowest call, cut off by timeouts
  bool may_fail_ = false;   // calls may end early
  double error_ = 0;        // standard error of the mean, in seconds
  std::string why_;
};

}  // namespace

Capacity capacity_of(const Scenario& scenario, std::size_t service) {
  return Busy(scenario, service).capacity();
}

}  // namespace damper::lab
