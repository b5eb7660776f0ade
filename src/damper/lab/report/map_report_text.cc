// The part of map_report.h for terminals.
#include "damper/lab/report/map_report.h"

#include <array>
#include <optional>
#include <ostream>

#include "damper/base/text/plain_text.h"

namespace damper::lab {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::array<const char*, 4> kSigns = {"?", "·", "▒", "█"};  // by Region

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
  std::vector<std::vector<std::string>> rows = {{"trigger", "safe up to", "collapses from"}};
  for (const Border& border : map.borders) {
    rows.push_back({text::for_people(border.trigger) + text::printable(map.trigger_unit),
                    load_text(map, border.safe), load_text(map, border.collapsed)});
  }
  out << '\n';
  text::print_table(out, rows, kWidth, paint);
}

}  // namespace

void print_map_text(std::ostream& out, const MapResult& map, text::ReportStyle style) {
  const text::Painter paint(style);
  out << paint(text::Ink::strong, text::printable(map.title)) << '\n';
  for (const std::string& line : text::wrapped(map.about, kWidth - 10)) out << line << '\n';
  out << "\nLoad to the right, the trigger" << (map.trigger_name.empty() ? "" : " (")
      << text::printable(map.trigger_name) << (map.trigger_name.empty() ? "" : ")")
      << " upwards; the number is the % of runs that collapsed.\n"
         "█ metastable: collapse is sure  ▒ vulnerable: it can happen at this load  · safe\n\n";
  std::vector<std::vector<std::string>> rows = {{""}};
  for (const double load : map.loads) {
    rows[0].push_back(text::for_people(load) + text::printable(map.load_unit));
  }
  for (std::size_t trigger = map.triggers.size(); trigger-- > 0;) {
    rows.push_back({text::for_people(map.triggers[trigger]) + text::printable(map.trigger_unit)});
    for (std::size_t load = 0; load < map.loads.size(); ++load) {
      rows.back().push_back(cell_text(map, trigger, load));
    }
  }
  text::print_table(out, rows, kWidth, paint);
  print_borders(out, map, paint);
  if (map.capacity > 0 || map.hidden_capacity > 0) out << '\n';
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

}  // namespace damper::lab
