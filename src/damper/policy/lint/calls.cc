#include "damper/policy/lint/calls.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

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

}  // namespace damper::policy
