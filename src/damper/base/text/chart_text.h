#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"

namespace damper::text {

// Charts for a terminal, made of Unicode block characters, optionally in colour.

struct ReportStyle {
  bool colour = false;
};

enum class Ink : std::uint8_t { calm, alarm, good, warning, strong, faint };

// A Painter adds ANSI colour codes to a text if colour is enabled.
class Painter {
 public:
  explicit Painter(ReportStyle style) : style_(style) {}
  [[nodiscard]] std::string operator()(Ink ink, std::string_view text) const;

 private:
  ReportStyle style_;
};

// The columns of a chart and the width of the scale at its left: 80 with the line between.
inline constexpr int kChartColumns = 75;
inline constexpr std::size_t kChartScale = 4;

// The number of values in one column, so that all fit into `columns`.
[[nodiscard]] int chart_group(std::size_t values, int columns = kChartColumns);

// The values as columns of blocks, `rows` lines of text from the top down. A full column is `top`;
// each column shows the maximum of its `group` values, and a value over 0 is always visible.
// REQUIRES: top > 0, group > 0; the values are not negative.
[[nodiscard]] std::vector<std::string> draw_columns(std::span<const double> values, int group,
                                                    double top, int rows);

// Parts of wholes as columns: full blocks for the part, light ones for the rest above it, a dark
// one where they meet. Each column shows the mean of its `group` values, rounded to half a block.
[[nodiscard]] std::vector<std::string> draw_parts(std::span<const double> parts,
                                                  std::span<const double> wholes, int group,
                                                  double top, int rows);

// The lines of a chart with the scale at their left: `top` at the first one.
void print_chart(std::ostream& out, const std::vector<std::string>& lines, std::string_view top,
                 Ink ink, const Painter& paint);

// A marked interval and the labels of its ends: "2s: down", "12s: back".
struct MarkedTime {
  Duration from{0};
  Duration to{0};
  std::string begin;
  std::string end;
};

// The time axis of a chart, `length` in total: marked intervals are thick; labels that do not fit
// are omitted.
void print_axis(std::ostream& out, std::size_t columns, Duration length,
                std::span<const MarkedTime> marks, const Painter& paint);

// A table: the first column is aligned left, the others right, each as wide as its widest cell. A
// table wider than `width` is split into several that repeat the first column.
void print_table(std::ostream& out, const std::vector<std::vector<std::string>>& rows,
                 std::size_t width, const Painter& paint);

// How a group of values becomes one point of a chart.
enum class Reduction : std::uint8_t { greatest, mean };

// Reduces the values to at most `most`. All groups but the last have the same, smallest possible,
// size. NaN is ignored, except in a group of only NaN. REQUIRES: most > 0.
[[nodiscard]] std::vector<double> reduced(std::span<const double> values, std::size_t most,
                                          Reduction reduction);

}  // namespace damper::text
