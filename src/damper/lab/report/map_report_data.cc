// The parts of map_report.h for programs.
#include "damper/lab/report/map_report.h"

#include <cmath>
#include <ostream>

#include "damper/base/text/plain_text.h"
#include "damper/lab/report/json_writer.h"

namespace damper::lab {
namespace {

double known(double number) { return number > 0 ? number : std::nan(""); }

void write_list(JsonWriter& json, std::string_view key, const std::vector<double>& values) {
  json.open('[', key);
  for (const double value : values) json.element(value);
  json.close(']');
}

}  // namespace

void print_map_json(std::ostream& out, const MapResult& map) {
  JsonWriter json(out);
  json.open('{');
  json.field("kind", "map");
  json.field("title", map.title);
  json.field("about", map.about);
  json.field("command", map.command);
  json.field("version", map.version);
  json.field("interrupted", map.interrupted);
  json.field("load_unit", map.load_unit);
  json.field("trigger_unit", map.trigger_unit);
  json.field("trigger_name", map.trigger_name);
  write_list(json, "loads", map.loads);
  write_list(json, "triggers", map.triggers);
  json.field("capacity", known(map.capacity));
  json.field("hidden_capacity", known(map.hidden_capacity));
  json.open('[', "borders");
  for (const Border& border : map.borders) {
    json.open('{');
    json.field("trigger", border.trigger);
    json.field("highest_safe_load", border.safe.value_or(std::nan("")));
    json.field("lowest_collapsed_load", border.collapsed.value_or(std::nan("")));
    json.close('}');
  }
  json.close(']');
  json.open('[', "cells");
  for (std::size_t trigger = 0; trigger < map.triggers.size(); ++trigger) {
    for (std::size_t load = 0; load < map.loads.size(); ++load) {
      const MapCell cell = map.cell(trigger, load);
      json.open('{');
      json.field("load", cell.load);
      json.field("trigger", cell.trigger);
      json.field("region", name(region_of(map, trigger, load)));
      write_proportion(json, "collapsed", cell.collapsed);
      json.close('}');
    }
  }
  json.close(']');
  json.close('}');
  out << '\n';
}

void print_map_csv(std::ostream& out, const MapResult& map) {
  out << "load,trigger,region,runs,collapsed,probability,low,high\n";
  for (std::size_t trigger = 0; trigger < map.triggers.size(); ++trigger) {
    for (std::size_t load = 0; load < map.loads.size(); ++load) {
      const MapCell cell = map.cell(trigger, load);
      const Interval interval = cell.collapsed.interval();
      out << text::for_programs(cell.load, "") << ',' << text::for_programs(cell.trigger, "") << ','
          << name(region_of(map, trigger, load)) << ',' << cell.collapsed.n << ','
          << cell.collapsed.k << ','
          << text::for_programs(cell.collapsed.n == 0 ? std::nan("") : cell.collapsed.share(), "")
          << ',' << text::for_programs(interval.low, "") << ','
          << text::for_programs(interval.high, "") << '\n';
    }
  }
}

}  // namespace damper::lab
