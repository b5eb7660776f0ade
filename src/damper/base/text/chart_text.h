#ifndef DAMPER_BASE_TEXT_CHART_TEXT_H_
#define DAMPER_BASE_TEXT_CHART_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"

namespace damper::text {

// Charts for a terminal, of Unicode's blocks: readable as plain text, in colour if that is asked
// for.

struct ReportStyle {
  bool colour = false;
};

enum class Ink : std::uint8_t { calm, alarm, good, warning, strong, faint };

// A Painter puts what a terminal needs around a text, or nothing.
class Painter {
 public:
  explicit Painter(ReportStyle style) : style_(style) {}
  [[nodiscard]] std::string operator()(Ink ink, std::string_view text) const;

 private:
  ReportStyle style_;
};

// How many columns a chart has, and how wide the scale at its left is: 80 with the line between.
inline constexpr int kChartColumns = 75;
inline constexpr std::size_t kChartScale = 4;

// So many values make a column, for all of them to fit.
[[nodiscard]] int chart_group(std::size_t values, int columns = kChartColumns);

// The values as columns of blocks, `rows` lines of text from the top down. A full column is `top`;
// each column shows the tallest of its `group` values, and what is not 0 is never invisible.
// REQUIRES: top > 0, group > 0; the values are not negative.
[[nodiscard]] std::vector<std::string> draw_columns(std::span<const double> values, int group,
                                                    double top, int rows);

// A part of a whole as columns: full blocks for the part, light ones for the rest above it, a dark
// one where they meet. Each column shows the mean of its `group` values, to the half block.
[[nodiscard]] std::vector<std::string> draw_parts(std::span<const double> parts,
                                                  std::span<const double> wholes, int group,
                                                  double top, int rows);

// The lines of a chart with the scale at their left: `top` at the first one.
void print_chart(std::ostream& out, const std::vector<std::string>& lines, std::string_view top,
                 Ink ink, const Painter& paint);

// A time in which something was wrong, and what stands at its ends: "2s: down", "12s: back".
struct MarkedTime {
  Duration from{0};
  Duration to{0};
  std::string begin;
  std::string end;
};

// The time under a chart, `length` in all: marked times are thick, and words that do not fit under
// them are left out.
void print_axis(std::ostream& out, std::size_t columns, Duration length,
                std::span<const MarkedTime> marks, const Painter& paint);

// A table: the first column is flush left, the others flush right, each as wide as it must be.
// Tables wider than `width` are cut into several, of which each repeats the first column.
void print_table(std::ostream& out, const std::vector<std::vector<std::string>>& rows,
                 std::size_t width, const Painter& paint);

}  // namespace damper::text

#endif  // DAMPER_BASE_TEXT_CHART_TEXT_H_
