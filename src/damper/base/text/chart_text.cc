#include "damper/base/text/chart_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "damper/base/check.h"
#include "damper/base/text/plain_text.h"

namespace damper::text {
namespace {

constexpr std::array<std::string_view, 6> kCodes = {"36", "31", "32", "33", "1", "2"};  // ANSI

constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// Indexed by the half blocks of the whole, then of the part.
constexpr std::array<std::array<std::string_view, 3>, 3> kParts = {
    {{" ", " ", " "}, {"░", "▄", "▄"}, {"░", "▓", "█"}}};

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

std::span<const double> group_at(std::span<const double> values, std::size_t at,
                                 std::size_t group) {
  if (at >= values.size()) return {};
  return values.subspan(at, std::min(group, values.size() - at));
}

// The number of half blocks; at least one for a value over 0.
std::int64_t halves(double value, double top, int rows) {
  const auto count = static_cast<std::int64_t>(std::floor(value * rows * 2 / top + 0.5));
  return value > 0 ? std::max<std::int64_t>(count, 1) : 0;
}

}  // namespace

std::string Painter::operator()(Ink ink, std::string_view text) const {
  if (!style_.colour || text.empty()) return std::string(text);
  return "\x1b[" + std::string(kCodes[static_cast<std::size_t>(ink)]) + "m" + std::string(text) +
         "\x1b[0m";
}

int chart_group(std::size_t values, int columns) {
  const auto most = static_cast<std::size_t>(columns);
  return static_cast<int>(std::max<std::size_t>((values + most - 1) / most, 1));
}

std::vector<std::string> draw_columns(std::span<const double> values, int group, double top,
                                      int rows) {
  std::vector<std::string> lines(static_cast<std::size_t>(rows));
  const auto step = static_cast<std::size_t>(group);
  for (std::size_t i = 0; i < values.size(); i += step) {
    const double tallest = std::ranges::max(group_at(values, i, step));
    auto eighths = static_cast<std::int64_t>(std::floor(tallest * rows * 8 / top + 0.5));
    if (tallest > 0) eighths = std::max<std::int64_t>(eighths, 1);
    for (int row = 0; row < rows; ++row) {
      const std::int64_t above = eighths - std::int64_t{8} * (rows - 1 - row);
      lines[static_cast<std::size_t>(row)] +=
          kBlocks[static_cast<std::size_t>(std::clamp<std::int64_t>(above, 0, 8))];
    }
  }
  return lines;
}

std::vector<std::string> draw_parts(std::span<const double> parts, std::span<const double> wholes,
                                    int group, double top, int rows) {
  std::vector<std::string> lines(static_cast<std::size_t>(rows));
  const auto step = static_cast<std::size_t>(group);
  for (std::size_t i = 0; i < wholes.size(); i += step) {
    const std::int64_t whole = halves(mean_of(group_at(wholes, i, step)), top, rows);
    const std::int64_t part = std::min(whole, halves(mean_of(group_at(parts, i, step)), top, rows));
    for (int row = 0; row < rows; ++row) {
      const std::int64_t below = std::int64_t{2} * (rows - 1 - row);
      const auto in_part = static_cast<std::size_t>(std::clamp<std::int64_t>(part - below, 0, 2));
      const auto in_whole = static_cast<std::size_t>(std::clamp<std::int64_t>(whole - below, 0, 2));
      lines[static_cast<std::size_t>(row)] += kParts[in_whole][in_part];
    }
  }
  return lines;
}

void print_chart(std::ostream& out, const std::vector<std::string>& lines, std::string_view top,
                 Ink ink, const Painter& paint) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out << padded_left(i == 0 ? top : "", kChartScale) << "│"
        << paint(ink, without_trailing_spaces(lines[i])) << '\n';
  }
}

void print_axis(std::ostream& out, std::size_t columns, Duration length,
                std::span<const MarkedTime> marks, const Painter& paint) {
  out << padded_left("0", kChartScale) << "└";
  std::string under = "0s";
  const auto mark = [&](std::size_t at, const std::string& text) {
    if (text.empty() || (at > 0 && text_width(under) >= at)) return;
    under = at == 0 ? text : padded_right(under, at) + text;
  };
  const auto edge = [&](std::size_t column) {
    return length * static_cast<std::int64_t>(column) / static_cast<std::int64_t>(columns);
  };
  std::vector<bool> thick(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    for (const MarkedTime& marked : marks) {
      const auto is_marked = [&](std::size_t column) {
        return edge(column) < marked.to && edge(column + 1) > marked.from;
      };
      if (is_marked(i)) thick[i] = true;
      if (is_marked(i) && (i == 0 || !is_marked(i - 1))) mark(i, marked.begin);
      if (!is_marked(i) && i > 0 && is_marked(i - 1)) mark(i, marked.end);
    }
  }
  for (std::size_t i = 0; i < columns;) {
    std::size_t end = i;
    std::string piece;
    for (; end < columns && thick[end] == thick[i]; ++end) piece += thick[i] ? "━" : "─";
    out << (thick[i] ? paint(Ink::alarm, piece) : piece);
    i = end;
  }
  out << '\n' << std::string(kChartScale + 1, ' ') << under << '\n';
}

void print_table(std::ostream& out, const std::vector<std::vector<std::string>>& rows,
                 std::size_t width, const Painter& paint) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], text_width(row[i]));
    }
  }
  for (std::size_t first = 1; first < widths.size();) {
    std::size_t last = first;
    std::size_t used = 2 + widths[0] + 2 + widths[first];
    while (last + 1 < widths.size() && used + 2 + widths[last + 1] <= width) {
      used += 2 + widths[++last];
    }
    if (first > 1) out << '\n';
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::string line = "  " + padded_right(rows[i].empty() ? "" : rows[i][0], widths[0]);
      for (std::size_t j = first; j <= last; ++j) {
        line += "  " + padded_left(j < rows[i].size() ? rows[i][j] : "", widths[j]);
      }
      line = without_trailing_spaces(std::move(line));
      out << (i == 0 ? paint(Ink::strong, line) : line) << '\n';
    }
    first = last + 1;
  }
}

std::vector<double> reduced(std::span<const double> values, std::size_t most, Reduction reduction) {
  DAMPER_CHECK(most > 0);
  const std::size_t group = std::max<std::size_t>((values.size() + most - 1) / most, 1);
  std::vector<double> out;
  for (std::size_t i = 0; i < values.size(); i += group) {
    double greatest = std::nan("");
    double sum = 0;
    double count = 0;
    for (const double value : values.subspan(i, std::min(group, values.size() - i))) {
      if (std::isnan(value)) continue;
      greatest = count == 0 ? value : std::max(greatest, value);
      sum += value;
      ++count;
    }
    out.push_back(count == 0 || reduction == Reduction::greatest ? greatest : sum / count);
  }
  return out;
}

}  // namespace damper::text
