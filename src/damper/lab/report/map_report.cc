// The part of map_report.h for terminals.
#include "damper/lab/report/map_report.h"

#include <array>
#include <cmath>
#include <optional>
#include <ostream>

#include "damper/base/text/chart_svg.h"
#include "damper/base/text/html_page.h"
#include "damper/base/text/plain_text.h"

namespace damper::lab {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::array<const char*, 6> kSigns = {"?", "✓", "·", "▒", "▓", "█"};  // by Region

std::string cell_text(const MapResult& map, std::size_t trigger, std::size_t load) {
  const Proportion collapsed = map.cell(trigger, load).collapsed;
  const char* const sign = kSigns[static_cast<std::size_t>(region_of(map, trigger, load))];
  const std::string percent = collapsed.k == 0 ? "" : text::for_people(100 * collapsed.share());
  return percent + text::padded_left(sign, 2);
}

std::string load_text(const MapResult& map, const std::optional<double>& load) {
  return load ? text::for_people(*load) + text::printable(map.load_unit) : "-";
}

void print_borders(std::ostream& out, const MapResult& map, const text::Painter& paint) {
  if (map.borders.empty()) return;
  std::vector<std::vector<std::string>> rows = {
      {"trigger", "none collapsed up to", "most collapsed from"}};
  for (const Border& border : map.borders) {
    rows.push_back({text::printable(trigger_text(map, border.trigger)), load_text(map, border.calm),
                    load_text(map, border.metastable)});
  }
  out << '\n';
  text::print_table(out, rows, kWidth, paint);
}

// "Safe up to 148/s: 0 of 160 runs collapsed, P at most 0.042; not shown at 149/s."
std::string end_text(const MapResult& map, const std::optional<BorderEnd>& end, bool safe) {
  if (!end) {
    return safe ? "No swept load was shown to be safe, P(collapse) < 0.05."
                : "At no swept load was collapse shown to be sure, P(collapse) > 0.95.";
  }
  const Interval interval = end->collapsed.interval(kLooksZ);
  return (safe ? "Safe up to " : "Collapse is sure from ") + text::for_people(end->load) +
         map.load_unit + (safe ? "" : " on") + ": " + text::with_commas(end->collapsed.k) + " of " +
         text::with_commas(end->collapsed.n) + " runs collapsed, P(collapse) " +
         text::fixed_text(interval.low, 3) + " to " + text::fixed_text(interval.high, 3) +
         (end->next ? "; not shown at " + text::for_people(*end->next) + map.load_unit
                    : "; the end of the sweep") +
         '.';
}

std::vector<std::string> border_lines(const MapResult& map) {
  if (!map.sure) return {};
  std::vector<std::string> lines = {"With " + trigger_text(map, map.sure->trigger) + ':',
                                    end_text(map, map.sure->safe, true),
                                    end_text(map, map.sure->sure, false)};
  if (map.sure->cut_short) {
    lines.push_back("The search ended after " + text::with_commas(map.sure->runs) +
                    " runs; --border-runs allows more.");
  }
  return lines;
}

// "Capacity C: not known (shop: ...); at most 300/s."
std::string bound_text(const MapResult& map) {
  return "Capacity C: not known (" + map.capacity_doubt + "); at most " +
         text::for_people(map.capacity_at_most) + map.load_unit + '.';
}

constexpr double kRowHeight = 34;
constexpr double kTop = 24;                // for the words above the lines
constexpr std::size_t kMostNumbered = 16;  // columns whose cells have room for a number
constexpr std::size_t kMostLoadLabels = 12;

// A place on the axis of columns, as SVG understands it at any width.
std::string percent_of(double columns, const MapResult& map) {
  const double share = columns / static_cast<double>(map.loads.size());
  return text::for_programs(std::round(share * 1e5) / 1e3, "0") + '%';
}

double top_of(const MapResult& map, std::size_t trigger) {
  return kTop + static_cast<double>(map.triggers.size() - 1 - trigger) * kRowHeight;
}

std::string draw_cell(const MapResult& map, std::size_t trigger, std::size_t load) {
  return "<rect class=\"cell " + std::string(name(region_of(map, trigger, load))) + "\" x=\"" +
         percent_of(static_cast<double>(load), map) + "\" y=\"" +
         text::coordinate(top_of(map, trigger)) + "\" width=\"" + percent_of(1, map) +
         "\" height=\"" + text::coordinate(kRowHeight) + "\" rx=\"4\"><title>" +
         text::html_text(describe_cell(map, trigger, load)) + "</title></rect>";
}

std::string draw_number(const MapResult& map, std::size_t trigger, std::size_t load) {
  const Proportion collapsed = map.cell(trigger, load).collapsed;
  if (collapsed.n == 0 || map.loads.size() > kMostNumbered) return "";
  return "<text class=\"cell\" x=\"" + percent_of(static_cast<double>(load) + 0.5, map) +
         "\" y=\"" + text::coordinate(top_of(map, trigger) + kRowHeight / 2) + "\">" +
         text::for_people(std::round(100 * collapsed.share())) + "</text>";
}

// A line at a load, with its name above.
std::string draw_bound(const MapResult& map, double load, const char* words) {
  const auto column = load > 0 ? column_of(map.loads, load) : std::nullopt;
  if (!column) return "";
  const std::string x = percent_of(*column, map);
  const double bottom = kTop + static_cast<double>(map.triggers.size()) * kRowHeight;
  return "<line class=\"bound\" x1=\"" + x + "\" x2=\"" + x + "\" y1=\"" +
         text::coordinate(kTop - 8) + "\" y2=\"" + text::coordinate(bottom) +
         "\"/><text class=\"bound\" x=\"" + x + "\" y=\"" + text::coordinate(kTop - 12) + "\">" +
         words + " = " + text::for_people(load) + text::html_text(map.load_unit) + "</text>";
}

std::string text_or_dash(const std::optional<double>& number, const std::string& unit) {
  return number ? text::for_people(*number) + unit : "-";
}

void print_borders(std::ostream& out, const MapResult& map) {
  if (map.borders.empty()) return;
  std::vector<std::vector<text::HtmlCell>> rows = {
      {{"trigger"}, {"none collapsed up to"}, {"most collapsed from"}}};
  for (const Border& border : map.borders) {
    rows.push_back({{trigger_text(map, border.trigger)},
                    {text_or_dash(border.calm, map.load_unit)},
                    {text_or_dash(border.metastable, map.load_unit)}});
  }
  text::begin_section(out, "Borders",
                      "Of the runs of the sweep: the highest load at and under which none "
                      "collapsed, and the lowest "
                      "one at which more than half do (95 % interval).");
  for (const std::string& line : border_lines(map)) {
    out << "<p class=\"note\">" << text::html_text(line) << "</p>\n";
  }
  text::print_html_table(out, "Borders", rows);
  out << "</section>\n";
}

void print_cells(std::ostream& out, const MapResult& map) {
  std::vector<std::vector<text::HtmlCell>> rows = {
      {{"load"}, {"trigger"}, {"region"}, {"collapsed"}, {"runs"}, {"probability"}}};
  for (std::size_t trigger = 0; trigger < map.triggers.size(); ++trigger) {
    for (std::size_t load = 0; load < map.loads.size(); ++load) {
      const MapCell cell = map.cell(trigger, load);
      rows.push_back({{text::for_people(cell.load) + map.load_unit},
                      {trigger_text(map, cell.trigger)},
                      {std::string(name(region_of(map, trigger, load)))},
                      {text::with_commas(cell.collapsed.k)},
                      {text::with_commas(cell.collapsed.n)},
                      {to_text(cell.collapsed)}});
    }
  }
  out << "<details><summary>All cells, with 95 % intervals (Wilson)</summary>\n";
  text::print_html_table(out, "Cells", rows);
  out << "</details>\n";
}

}  // namespace

void print_map_text(std::ostream& out, const MapResult& map, text::ReportStyle style) {
  const text::Painter paint(style);
  out << paint(text::Ink::strong, text::printable(map.title)) << '\n';
  for (const std::string& line : text::wrapped(map.about, kWidth - 10)) out << line << '\n';
  out << "\nLoad to the right, the trigger" << (map.trigger_name.empty() ? "" : " (")
      << text::printable(map.trigger_name) << (map.trigger_name.empty() ? "" : ")")
      << " upwards; the number is the % of runs that collapsed.\n"
         "█ sure: P > 95 %  ▓ metastable: P > 50 %  ▒ vulnerable  · none collapsed  ✓ safe: P < 5 %"
         "\n\n";
  std::vector<std::vector<std::string>> rows = {{""}};
  for (const double load : map.loads) {
    rows[0].push_back(text::for_people(load) + text::printable(map.load_unit));
  }
  for (std::size_t trigger = map.triggers.size(); trigger-- > 0;) {
    rows.push_back({text::printable(trigger_text(map, map.triggers[trigger]))});
    for (std::size_t load = 0; load < map.loads.size(); ++load) {
      rows.back().push_back(cell_text(map, trigger, load));
    }
  }
  text::print_table(out, rows, kWidth, paint);
  print_borders(out, map, paint);
  for (const std::string& line : border_lines(map)) out << text::printable(line) << '\n';
  if (map.capacity > 0 || map.hidden_capacity > 0 || map.capacity_at_most > 0) out << '\n';
  if (map.capacity_at_most > 0) out << text::printable(bound_text(map)) << '\n';
  if (map.capacity > 0) {
    out << "Capacity C: " << text::for_people(map.capacity) << text::printable(map.load_unit)
        << ".\n";
  }
  if (map.hidden_capacity > 0) {
    out << "Hidden capacity C / w: " << text::for_people(map.hidden_capacity)
        << text::printable(map.load_unit) << ": stable below, whatever the trigger.\n";
  }
  if (!map.command.empty()) out << "\nAgain: " << text::printable(map.command) << '\n';
  if (map.interrupted) {
    out << '\n'
        << paint(text::Ink::warning, "Interrupted: not every cell has all its runs.") << '\n';
  }
}

std::string draw_heat_map(const MapResult& map) {
  if (map.loads.empty() || map.triggers.empty()) return "";
  const double bottom = kTop + static_cast<double>(map.triggers.size()) * kRowHeight;
  std::string svg =
      "<svg class=\"chart\" role=\"img\" aria-label=\"Load against trigger; the "
      "table below has every cell\" width=\"100%\" height=\"" +
      text::coordinate(bottom + 24) + "\">";
  std::string numbers;
  for (std::size_t trigger = 0; trigger < map.triggers.size(); ++trigger) {
    svg += "<text class=\"value\" x=\"-8\" y=\"" +
           text::coordinate(top_of(map, trigger) + kRowHeight / 2) + "\">" +
           text::html_text(trigger_text(map, map.triggers[trigger])) + "</text>";
    for (std::size_t load = 0; load < map.loads.size(); ++load) {
      svg += draw_cell(map, trigger, load);
      numbers += draw_number(map, trigger, load);
    }
  }
  const std::size_t step = (map.loads.size() + kMostLoadLabels - 1) / kMostLoadLabels;
  for (std::size_t load = 0; load < map.loads.size(); load += step) {
    svg += "<text class=\"time\" x=\"" + percent_of(static_cast<double>(load) + 0.5, map) +
           "\" y=\"" + text::coordinate(bottom + 16) + "\">" + text::for_people(map.loads[load]) +
           "</text>";
  }
  svg += draw_bound(map, map.hidden_capacity, "C / w") + draw_bound(map, map.capacity, "C");
  return svg + numbers + "</svg>";
}

void print_map_html(std::ostream& out, const MapResult& map) {
  text::begin_page(out, map.title, map.about);
  if (map.interrupted) {
    out << "<section class=\"interrupted\">Interrupted: not every cell has all its runs."
           "</section>\n";
  }
  text::begin_section(out, "Where it goes metastable",
                      "Load" + (map.load_unit.empty() ? "" : " (" + map.load_unit + ")") +
                          " to the right, the trigger" +
                          (map.trigger_name.empty() ? "" : " (" + map.trigger_name + ")") +
                          " upwards; the number is the % of runs that were still down at the end "
                          "though the trigger was gone.");
  out << "<ul class=\"keys\"><li><span class=\"swatch safe\"></span>safe: P(collapse) &lt; 5 % by "
         "the 95 % interval</li><li><span class=\"swatch calm\"></span>no run collapsed, too few "
         "to "
         "call it safe</li><li><span class=\"swatch vulnerable\"></span>vulnerable: some did, or "
         "another trigger tips this load</li><li><span class=\"swatch "
         "metastable\"></span>metastable: "
         "P &gt; 50 %</li><li><span class=\"swatch sure\"></span>sure: P &gt; 95 %</li></ul>\n<div "
         "class=\"map\"><figure>"
      << draw_heat_map(map) << "</figure></div>\n";
  if (map.hidden_capacity > 0) {
    out << "<p class=\"note\">C is the capacity, w the worst amplification by retries: under C / w "
           "no trigger can keep the system down.</p>\n";
  }
  if (map.capacity_at_most > 0) {
    out << "<p class=\"note\">" << text::html_text(bound_text(map)) << "</p>\n";
  }
  print_cells(out, map);
  out << "</section>\n";
  print_borders(out, map);
  text::begin_section(out, "Run it again", "");
  text::print_command(out, map.command);
  out << "</section>\n";
  text::end_page(out, map.version);
}

}  // namespace damper::lab
