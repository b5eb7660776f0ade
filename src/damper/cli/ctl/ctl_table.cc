#include "damper/cli/ctl/ctl_table.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "damper/base/check.h"
#include "damper/base/text/plain_text.h"
#include "damper/lab/runs/interval.h"

namespace damper::cli {
namespace {

constexpr std::size_t kWidest = 60;  // characters of a cell

}  // namespace

void Table::add(std::vector<Cell> cells) {
  DAMPER_CHECK(cells.size() == columns_.size());
  for (Cell& cell : cells) cell.text = text::printable(cell.text, kWidest);
  rows_.push_back(std::move(cells));
}

void Table::print(std::ostream& out, text::ReportStyle style, std::size_t most) const {
  const text::Painter paint(style);
  const std::size_t shown = std::min(most, rows_.size());
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = text::text_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, text::text_width(row[i].text));
    widths.push_back(width);
  }
  const auto put = [&](std::size_t i, const std::string& text, text::Ink ink) {
    const std::size_t room = widths[i] - std::min(widths[i], text::text_width(text));
    const std::string painted = ink == text::Ink::calm ? text : paint(ink, text);
    const bool last = i + 1 == columns_.size();
    out << "  ";
    if (columns_[i].side == Side::right) {
      out << std::string(room, ' ') << painted;
    } else {
      out << painted << (last ? "" : std::string(room, ' '));
    }
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) put(i, columns_[i].title, text::Ink::faint);
  out << '\n';
  for (std::size_t row = 0; row < shown; ++row) {
    for (std::size_t i = 0; i < columns_.size(); ++i) put(i, rows_[row][i].text, rows_[row][i].ink);
    out << '\n';
  }
  if (shown < rows_.size()) out << "  and " << rows_.size() - shown << " more\n";
}

std::string rough(Duration length) {
  if (length == kForever) return "forever";
  if (length <= Duration{0}) return "-";
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr Unit kUnits[] = {{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}, {1e-3, "ms"}};
  const double seconds = std::chrono::duration<double>(length).count();
  for (const Unit& unit : kUnits) {
    const double value = seconds / unit.seconds;
    if (value < 1) continue;
    // Whole from 10 on, and for what people count: 29m, 3h.
    const bool whole = value >= 9.95 || value == std::floor(value);
    return text::fixed_text(value, whole ? 0 : 1) + unit.name;
  }
  return text::fixed_text(seconds * 1e6, 0) + "us";
}

std::string share_text(double share) {
  const double tenths = std::floor(std::clamp(share, 0.0, 1.0) * 1000 + 1e-6);
  return text::fixed_text(tenths / 10, tenths == 1000 ? 0 : 1) + '%';
}

}  // namespace damper::cli
