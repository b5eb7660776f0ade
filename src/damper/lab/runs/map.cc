#include "damper/lab/runs/map.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/base/text/plain_text.h"
#include "damper/lab/runs/facts_of.h"
#include "damper/lab/runs/measure.h"
#include "damper/lab/runs/workers.h"
#include "damper/lab/world/world.h"
#include "damper/policy/lint/amplification.h"

namespace damper::lab {
namespace {

bool is_sized_by_amount(const FaultSpec& fault) {
  return fault.traits().size != FaultTraits::Size::length;
}

Duration seconds(double count) { return Duration{std::llround(count * 1e9)}; }

struct Point {
  double load = 0;
  double trigger = 0;
};

// Plays points, and counts the progress over all of them.
class Sweep {
 public:
  Sweep(const Scenario& scenario, const MapOptions& options)
      : scenario_(scenario), options_(options) {}

  // The collapsed runs of each point, of `runs` after the first `first`. The first run of every
  // point is played first, then the second, so that an interruption leaves the whole map, with
  // fewer runs.
  std::vector<Proportion> count(const std::vector<Point>& points, int first, int runs) {
    enum class Ended : char { unknown, well, collapsed };
    std::vector<Ended> ended(points.size() * static_cast<std::size_t>(runs));
    const std::size_t before = done_;
    planned_ += ended.size();
    const auto report = [&](std::size_t now, std::size_t) {
      if (options_.on_progress) options_.on_progress(before + now, planned_);
    };
    const std::size_t done =
        run_parallel({.count = ended.size(),
                      .threads = options_.threads,
                      .stop = options_.stop,
                      .on_progress = report},
                     [&](std::size_t index) {
                       const Point& point = points[index % points.size()];
                       const Scenario world = at_point(scenario_, point.load, point.trigger);
                       const Record record =
                           play(world, {.seed = options_.seed + static_cast<std::uint64_t>(first) +
                                                index / points.size(),
                                        .latency_over_time = false,
                                        .stop = options_.stop});
                       if (record.cut_short && is_stopped()) return;
                       ended[index] = is_collapsed(world, record) ? Ended::collapsed : Ended::well;
                     });
    done_ += done;
    std::vector<Proportion> counts(points.size());
    for (std::size_t i = 0; i < done; ++i) {
      if (ended[i] == Ended::unknown) continue;
      ++counts[i % points.size()].n;
      if (ended[i] == Ended::collapsed) ++counts[i % points.size()].k;
    }
    return counts;
  }

  [[nodiscard]] bool is_stopped() const {
    return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  }

 private:
  const Scenario& scenario_;
  const MapOptions& options_;
  std::size_t done_ = 0;
  std::size_t planned_ = 0;
};

// C and C / w in requests of the clients, of the service with the least of it, as the linter
// computes them. Unknown if there are other clients or controllers; bounded if the capacity of a
// service on the way is.
void add_capacity(const Scenario& scenario, MapResult& map) {
  if (scenario.clients.size() != 1 || !scenario.controllers.empty()) return;
  const std::vector<policy::Route> routes = facts_of(scenario);
  const std::vector<policy::Amplified> amplified = policy::amplify(policy::layers_of(routes));
  const double load = scenario.clients.front().has_rate() ? scenario.clients.front().rate : 0;
  double most = 0;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const auto& facts = routes[i].settings.facts;
    if (!facts || facts->load <= 0 || load <= 0) continue;
    const double bound = (facts->capacity + facts->capacity_at_most) * load / facts->load;
    if (bound <= 0) continue;
    most = most > 0 ? std::min(most, bound) : bound;
    if (facts->capacity <= 0) map.capacity_doubt = routes[i].name + ": " + facts->capacity_doubt;
    const double hidden = policy::hidden_capacity(bound, amplified[i].attempts);
    if (map.hidden_capacity > 0 && hidden >= map.hidden_capacity) continue;
    map.capacity = bound;
    map.hidden_capacity = hidden;
  }
  if (map.capacity_doubt.empty()) return;
  map.capacity = 0;
  map.hidden_capacity = 0;
  map.capacity_at_most = most;
}

}  // namespace

MapCell MapResult::cell(std::size_t trigger, std::size_t load) const {
  const std::size_t at = trigger * loads.size() + load;
  if (at < cells.size()) return cells[at];
  return {loads[load], triggers[trigger], {}};
}

Region region_of(const MapResult& map, std::size_t trigger, std::size_t load) {
  const Proportion here = map.cell(trigger, load).collapsed;
  if (here.n == 0) return Region::unknown;
  if (here.interval().low > kSure) return Region::sure;
  if (here.interval().low > 0.5) return Region::metastable;
  for (std::size_t other = 0; other < map.triggers.size(); ++other) {
    if (map.cell(other, load).collapsed.k > 0) return Region::vulnerable;
  }
  return here.interval().high < kSafe ? Region::safe : Region::calm;
}

std::vector<Border> find_borders(const MapResult& map) {
  std::vector<Border> borders;
  for (std::size_t trigger = 0; trigger < map.triggers.size(); ++trigger) {
    Border border{.trigger = map.triggers[trigger]};
    bool calm = true;  // so far
    for (std::size_t load = 0; load < map.loads.size(); ++load) {
      const Proportion collapsed = map.cell(trigger, load).collapsed;
      if (collapsed.n == 0) {
        calm = false;
        continue;
      }
      calm = calm && collapsed.k == 0;
      if (calm) border.calm = map.loads[load];
      if (!border.metastable && collapsed.interval().low > 0.5) border.metastable = map.loads[load];
    }
    borders.push_back(border);
  }
  return borders;
}

std::optional<double> column_of(const std::vector<double>& loads, double load) {
  if (loads.size() < 2) return std::nullopt;
  std::size_t i = 0;
  while (i + 2 < loads.size() && load > loads[i + 1]) ++i;
  const double column =
      static_cast<double>(i) + 0.5 + (load - loads[i]) / (loads[i + 1] - loads[i]);
  // Loads that are equal make no axis: what is not a number is not inside.
  const bool inside = column >= 0 && column <= static_cast<double>(loads.size());
  return inside ? std::optional(column) : std::nullopt;
}

std::string trigger_text(const MapResult& map, double trigger) {
  return text::for_people(trigger * map.trigger_scale) + map.trigger_unit;
}

std::string describe_cell(const MapResult& map, std::size_t trigger, std::size_t load) {
  const MapCell cell = map.cell(trigger, load);
  const std::string place =
      text::for_people(cell.load) + map.load_unit + ", " + trigger_text(map, cell.trigger) + ": ";
  if (cell.collapsed.n == 0) return place + "not run";
  return place + text::with_commas(cell.collapsed.k) + " of " +
         text::with_commas(cell.collapsed.n) + " collapsed, " + to_text(cell.collapsed) + ", " +
         std::string(name(region_of(map, trigger, load)));
}

Scenario at_point(const Scenario& scenario, double load, double trigger) {
  Scenario changed = scenario;
  if (scenario.map.length > Duration{0}) changed.length = scenario.map.length;
  ClientsSpec& clients = changed.clients.front();
  if (clients.has_rate()) {
    clients.rate = load;
  } else {
    const double sources = clients.arrivals == Pattern::bursts ? clients.burst : clients.count;
    clients.every = std::max(Duration{1}, seconds(sources / load));
  }
  FaultSpec& fault = changed.faults.front();
  if (is_sized_by_amount(fault)) {
    fault.amount = trigger;
    return changed;
  }
  const Duration length = seconds(trigger);
  changed.length += length - fault.length;
  fault.length = length;
  if (length == Duration{0}) changed.faults.erase(changed.faults.begin());
  return changed;
}

std::optional<config::Error> find_map_error(const Scenario& scenario) {
  const auto error = [&](config::SourceLocation place, std::string sentence) {
    return config::Error{scenario.file, place, std::move(sentence)};
  };
  if (scenario.clients.empty()) return error({}, "a map needs clients: the scenario has none");
  const ClientsSpec& clients = scenario.clients.front();
  if (clients.loop != Loop::open) {
    return error(clients.place, "a map needs clients with a load: the first clients, " +
                                    clients.name + ", have loop: " +
                                    std::string(kLoopNames[clients.loop]) + ", and open is needed");
  }
  if (scenario.faults.empty()) {
    return error({}, "a map needs a trigger: the scenario has no faults");
  }
  if (scenario.faults.front().requests > 0) {
    return error(scenario.faults.front().place,
                 "a map needs a trigger with a length or an amount: the first fault counts "
                 "requests");
  }
  if (scenario.map.loads.empty() || scenario.map.triggers.empty()) {
    return error({},
                 "the scenario has no sweep; add map: {load: {from: 100, to: 300, "
                 "step: 10}, trigger: [1, 2, 5, 10]}, or give --load and --trigger");
  }
  for (const double load : scenario.map.loads) {
    if (load >= 0.001 && load <= 1e7) continue;  // Not a number is neither.
    return error({}, "a load of a map is " + bound_text(load) +
                         "; it must be from 0.001 to 10000000 requests a second");
  }
  for (const double trigger : scenario.map.triggers) {
    if (trigger >= 0 && trigger <= 86'400) continue;
    return error({},
                 "a trigger of a map is " + bound_text(trigger) + "; it must be from 0 to 86400");
  }
  for (const double load : scenario.map.loads) {
    if (auto wrong = find_error(at_point(scenario, load, scenario.map.triggers.front()))) {
      return wrong;
    }
  }
  for (const double trigger : scenario.map.triggers) {
    if (auto wrong = find_error(at_point(scenario, scenario.map.loads.front(), trigger))) {
      return wrong;
    }
  }
  return std::nullopt;
}

MapResult draw_map(const Scenario& scenario, const MapOptions& options) {
  MapResult map;
  map.title = scenario.title();
  map.about = scenario.about;
  map.load_unit = "/s";
  const FaultSpec& fault = scenario.faults.front();
  const bool cut = fault.kind == FaultKind::capacity;  // Its amount is the share that is left.
  switch (fault.traits().size) {
    case FaultTraits::Size::length: map.trigger_unit = " s"; break;
    case FaultTraits::Size::factor: map.trigger_unit = " times"; break;
    case FaultTraits::Size::share:
      map.trigger_unit = cut ? " % left" : " %";
      map.trigger_scale = 100;
      break;
  }
  map.trigger_name = fault.on + ' ' + std::string(kFaultNames[fault.kind]);
  map.loads = scenario.map.loads;
  map.triggers = scenario.map.triggers;
  std::sort(map.loads.begin(), map.loads.end());
  std::sort(map.triggers.begin(), map.triggers.end());
  if (cut) std::reverse(map.triggers.begin(), map.triggers.end());
  std::vector<Point> points;
  for (const double trigger : map.triggers) {
    for (const double load : map.loads) points.push_back({load, trigger});
  }
  Sweep sweep(scenario, options);
  const std::vector<Proportion> counts = sweep.count(points, 0, options.runs);
  for (std::size_t i = 0; i < points.size(); ++i) {
    map.cells.push_back({points[i].load, points[i].trigger, counts[i]});
  }
  map.borders = find_borders(map);
  if (options.border_runs > 0 && !sweep.is_stopped()) {
    const double largest = map.triggers.back();
    map.sure = find_sure_border(map.loads, std::span(counts).last(map.loads.size()),
                                options.border_runs, [&](double load, int done, int runs) {
                                  return sweep.count({{load, largest}}, done, runs).front();
                                });
    map.sure->trigger = largest;
  }
  add_capacity(scenario, map);
  map.interrupted = sweep.is_stopped();
  return map;
}

}  // namespace damper::lab
