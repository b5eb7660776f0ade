#include "damper/lab/runs/map_result.h"

#include "damper/base/text/plain_text.h"

namespace damper::lab {

MapCell MapResult::cell(std::size_t trigger, std::size_t load) const {
  const std::size_t at = trigger * loads.size() + load;
  if (at < cells.size()) return cells[at];
  return {loads[load], triggers[trigger], {}};
}

Region region_of(const MapResult& map, std::size_t trigger, std::size_t load) {
  const Proportion here = map.cell(trigger, load).collapsed;
  if (here.n == 0) return Region::unknown;
  if (here.interval().low > 0.5) return Region::metastable;
  if (here.interval().high >= 0.5) return Region::vulnerable;
  for (std::size_t other = 0; other < map.triggers.size(); ++other) {
    if (map.cell(other, load).collapsed.k > 0) return Region::vulnerable;
  }
  return Region::safe;
}

std::vector<Border> find_borders(const MapResult& map) {
  std::vector<Border> borders;
  for (std::size_t trigger = 0; trigger < map.triggers.size(); ++trigger) {
    Border border{.trigger = map.triggers[trigger]};
    bool safe = true;  // so far
    for (std::size_t load = 0; load < map.loads.size(); ++load) {
      const Proportion collapsed = map.cell(trigger, load).collapsed;
      if (collapsed.n == 0) {
        safe = false;
        continue;
      }
      safe = safe && collapsed.k == 0;
      if (safe) border.safe = map.loads[load];
      if (!border.collapsed && collapsed.interval().low > 0.5) border.collapsed = map.loads[load];
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

std::string describe_cell(const MapResult& map, std::size_t trigger, std::size_t load) {
  const MapCell cell = map.cell(trigger, load);
  const std::string place = text::for_people(cell.load) + map.load_unit + ", " +
                            text::for_people(cell.trigger) + map.trigger_unit + ": ";
  if (cell.collapsed.n == 0) return place + "not run";
  return place + text::with_commas(cell.collapsed.k) + " of " +
         text::with_commas(cell.collapsed.n) + " collapsed, " + to_text(cell.collapsed) + ", " +
         std::string(name(region_of(map, trigger, load)));
}

}  // namespace damper::lab
