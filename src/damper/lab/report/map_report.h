#pragma once

#include <iosfwd>
#include <string>

#include "damper/base/text/chart_text.h"
#include "damper/lab/runs/map.h"

namespace damper::lab {

// A map in every format that a report has. Each is a function of the map alone.

// A table of cells, the largest trigger on top: █ sure, ▓ metastable, ▒ vulnerable, · none
// collapsed, ✓ safe, each with the percentage of runs that collapsed; then the borders of the
// sweep, the border of the largest trigger with its intervals, and C and C / w.
void print_map_text(std::ostream& out, const MapResult& map, text::ReportStyle style);

// One page that needs nothing else (html_page.h): the heat map with the lines of C and C / w, the
// borders, and every cell with its interval.
void print_map_html(std::ostream& out, const MapResult& map);

// One object on one line, its fields in this order:
//   kind             "map"
//   title, about, command, version, interrupted
//   load_unit, trigger_unit, trigger_name
//   trigger_scale    the number before the unit is the trigger times this
//   loads, triggers  the swept values, the mildest first
//   capacity, hidden_capacity   C and C / w; null when unknown
//   capacity_at_most, capacity_doubt   of an unknown C: a bound, and the reason
//   borders          [{trigger, none_collapsed_up_to, most_collapsed_from}] of the sweep; null when
//                    there is none
//   border           {trigger, runs, cut_short, safe, sure} of the largest trigger; safe and sure
//                    are {load, next_load, collapsed} or null, with the interval of border.h
//   cells            [{load, trigger, region, collapsed}], row by row; collapsed is {runs,
//                    collapsed, probability, low, high}, with Wilson's 95 % interval
void print_map_json(std::ostream& out, const MapResult& map);

// A row for each cell: load,trigger,region,runs,collapsed,probability,low,high
void print_map_csv(std::ostream& out, const MapResult& map);

// The heat map alone, as SVG.
[[nodiscard]] std::string draw_heat_map(const MapResult& map);

}  // namespace damper::lab
