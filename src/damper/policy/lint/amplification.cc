#include "damper/policy/lint/amplification.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/base/text/words.h"
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

constexpr std::size_t kMostShown = 10;  // routes of a cycle that an error names

config::Error error_at(const PolicyFile& file, const Route& route, std::string sentence) {
  return {file.file, place_of(route, block_schema().position("facts.calls")), std::move(sentence)};
}

std::optional<config::Error> find_unknown(const PolicyFile& file) {
  std::vector<std::string_view> known;
  for (const Route& route : file.routes) {
    if (!route.name.empty()) known.push_back(route.name);
  }
  std::sort(known.begin(), known.end());
  for (const Route& route : file.routes) {
    if (!route.settings.facts) continue;
    for (const std::string& name : route.settings.facts->calls) {
      if (std::binary_search(known.begin(), known.end(), name)) continue;
      return error_at(file, route,
                      "calls names " + text::in_quotes(name) + ", which is no route of this file" +
                          text::suggestion(name, known));
    }
  }
  return std::nullopt;
}

// From a route that callers_first() left out, the way up always leads into a cycle.
std::vector<std::size_t> cycle_above(const std::vector<std::vector<std::size_t>>& calls,
                                     const std::vector<bool>& ordered, std::size_t start) {
  std::vector<std::size_t> way;
  std::size_t at = start;
  while (std::find(way.begin(), way.end(), at) == way.end()) {
    way.push_back(at);
    for (std::size_t caller = 0; caller < calls.size(); ++caller) {
      const auto& called = calls[caller];
      if (ordered[caller] || std::find(called.begin(), called.end(), at) == called.end()) continue;
      at = caller;
      break;
    }
  }
  way.erase(way.begin(), std::find(way.begin(), way.end(), at));
  way.push_back(at);
  std::reverse(way.begin(), way.end());
  return way;
}

// The worst way to arrive at a layer: how many attempts of one request, and from which caller.
struct Arrival {
  double attempts = 0;  // 0: there is no such way.
  std::optional<std::size_t> from{};
};

// The traffic of a layer. The index is whether a layer above owns the retries: of requests that
// arrive, and of requests that are sent.
struct Traffic {
  std::array<Arrival, 2> in;
  std::array<double, 2> out{};
  std::array<bool, 2> owned_in{};  // how the worst of `out` had arrived
};

// Whether this layer multiplies what arrives.
bool retries(const Layer& layer, bool owned) {
  return layer.attempts > 1 && !(owned && layer.carries);
}

// Whether the layers below see an owner of the retries.
bool owned_below(const Layer& layer, bool owned) {
  return layer.carries && (owned || layer.attempts > 1);
}

void pass(const Layer& layer, Traffic& traffic) {
  for (const bool owned : {false, true}) {
    const double arrived = traffic.in[owned].attempts;
    const double sent =
        std::min(arrived * (retries(layer, owned) ? layer.attempts : 1), kMostAmplified);
    const bool below = owned_below(layer, owned);
    if (sent <= traffic.out[below]) continue;
    traffic.out[below] = sent;
    traffic.owned_in[below] = owned;
  }
}

// The worst path to the layer, walked back from its end.
Amplified trace(std::span<const Layer> layers, const std::vector<Traffic>& flows, std::size_t end) {
  bool out = flows[end].out[1] > flows[end].out[0];
  Amplified found{.attempts = flows[end].out[out], .path = {}, .retrying = {}};
  for (std::optional<std::size_t> at = end; at;) {
    const bool owned = flows[*at].owned_in[out];
    found.path.push_back(*at);
    if (retries(layers[*at], owned)) found.retrying.push_back(*at);
    at = flows[*at].in[owned].from;
    out = owned;  // What arrives owned was sent on as owned.
  }
  std::reverse(found.path.begin(), found.path.end());
  std::reverse(found.retrying.begin(), found.retrying.end());
  return found;
}

}  // namespace

std::vector<std::vector<std::size_t>> calls(std::span<const Route> routes) {
  std::map<std::string_view, std::size_t> positions;
  for (std::size_t i = 0; i < routes.size(); ++i) positions.emplace(routes[i].name, i);
  std::vector<std::vector<std::size_t>> found(routes.size());
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (!routes[i].settings.facts) continue;
    for (const std::string& name : routes[i].settings.facts->calls) {
      const auto called = positions.find(name);
      if (called == positions.end()) continue;
      if (std::find(found[i].begin(), found[i].end(), called->second) == found[i].end()) {
        found[i].push_back(called->second);
      }
    }
  }
  return found;
}

std::vector<std::size_t> callers_first(const std::vector<std::vector<std::size_t>>& calls) {
  std::vector<std::size_t> callers(calls.size());
  for (const auto& called : calls) {
    for (const std::size_t i : called) ++callers[i];
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (callers[i] == 0) order.push_back(i);
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const std::size_t i : calls[order[next]]) {
      if (--callers[i] == 0) order.push_back(i);
    }
  }
  return order;
}

std::optional<config::Error> check_calls(const PolicyFile& file) {
  if (auto unknown = find_unknown(file)) return unknown;
  const auto called = calls(file.routes);
  const std::vector<std::size_t> order = callers_first(called);
  if (order.size() == file.routes.size()) return std::nullopt;
  std::vector<bool> ordered(file.routes.size());
  for (const std::size_t i : order) ordered[i] = true;
  const auto start =
      static_cast<std::size_t>(std::find(ordered.begin(), ordered.end(), false) - ordered.begin());
  const std::vector<std::size_t> cycle = cycle_above(called, ordered, start);
  std::string way;
  for (std::size_t i = 0; i < std::min(cycle.size(), kMostShown); ++i) {
    way += (i == 0 ? "" : " > ") + file.routes[cycle[i]].name;
  }
  if (cycle.size() > kMostShown) way += " > ...";
  return error_at(file, file.routes[cycle.front()],
                  "calls goes round in a circle: " + way + "; a service cannot be below itself");
}

int most_extra_attempts(const Settings& settings) {
  const engine::CallPolicy& call = settings.policy.call;
  const int extra = call.max_attempts - 1;
  return call.retryable == decide::OutcomeSet{} ? std::min(extra, int{call.hedge.max_hedges})
                                                : extra;
}

bool has_no_budget(const Settings& settings) {
  const Percent percent = settings.policy.budget.percent;
  const int extra = most_extra_attempts(settings);
  return extra > 0 && (percent.hundredths() >= extra * Percent::kDenominator ||
                       percent.hundredths() >= Percent::kMost);
}

double worst_attempts(const Settings& settings) {
  const engine::Policy& policy = settings.policy;
  const double extra = most_extra_attempts(settings);
  const double load = settings.facts ? settings.facts->load : 0;
  double share = policy.budget.percent.ratio();
  if (policy.budget.min_per_second > 0) {
    const double floor = static_cast<double>(policy.budget.min_per_second) *
                         static_cast<double>(settings.facts ? settings.facts->clients : 1);
    share = load > 0 ? share + floor / load : extra;
  }
  const bool only_hedges = policy.call.retryable == decide::OutcomeSet{};
  if (only_hedges) share = std::min(share, policy.call.hedge.ratio.ratio());
  return 1 + std::min(extra, share);
}

double hidden_capacity(double capacity, double attempts) {
  DAMPER_CHECK(attempts >= 1);
  return capacity / attempts;
}

std::vector<Layer> layers_of(std::span<const Route> routes) {
  auto called = calls(routes);
  std::vector<Layer> layers(routes.size());
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const Settings& settings = routes[i].settings;
    layers[i].attempts = worst_attempts(settings);
    layers[i].carries = !settings.facts || settings.facts->ownership;
    layers[i].calls = std::move(called[i]);
  }
  return layers;
}

std::vector<Amplified> amplify(std::span<const Layer> layers) {
  std::vector<std::vector<std::size_t>> called(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) called[i] = layers[i].calls;
  const std::vector<std::size_t> order = callers_first(called);
  std::vector<Traffic> flows(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) flows[i].in[false].attempts = 1;
  std::vector<bool> ordered(layers.size());
  for (const std::size_t i : order) {
    ordered[i] = true;
    pass(layers[i], flows[i]);
    for (const std::size_t below : called[i]) {
      for (const bool owned : {false, true}) {
        Arrival& in = flows[below].in[owned];
        if (flows[i].out[owned] > in.attempts) in = {flows[i].out[owned], i};
      }
    }
  }
  std::vector<Amplified> found(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!ordered[i]) {  // In a cycle or below one: alone.
      flows[i] = {};
      flows[i].in[false].attempts = 1;
      pass(layers[i], flows[i]);
    }
    found[i] = trace(layers, flows, i);
  }
  return found;
}

}  // namespace damper::policy
