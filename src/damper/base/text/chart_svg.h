#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace damper::text {

// Charts as SVG elements of an HTML page.
//
// Why: without a script or library the page works offline, prints, and does not age.
// Model: the plot is stretched to the available width while text and line widths keep their size;
// so the outer <svg> has no viewBox, and an inner one for the plot is kPlotWidth by kPlotHeight.
// Colours come from the page's style sheet: a series has a CSS class. Values are shown on hover by
// <title> elements. All text is escaped.
// Invariants:
//   (1) Nothing is drawn outside the plot: values above the top are drawn at the top.
//   (2) Equal charts give equal bytes.

inline constexpr double kPlotWidth = 1000;
inline constexpr double kPlotHeight = 140;
inline constexpr std::size_t kMostPoints = 300;  // of a series: longer ones: reduced()
inline constexpr std::size_t kMostHovers = 100;  // columns with values on hover

enum class Shape : std::uint8_t {
  area,  // stacked on the areas before it
  line,
};

struct ChartSeries {
  std::string name;
  std::string ink;  // CSS class: letters only
  Shape shape = Shape::line;
  std::vector<double> values;  // evenly spaced over the time; NaN is a gap
};

struct ShadedTime {
  double from = 0;  // seconds
  double to = 0;
};

struct Chart {
  std::string title;   // the text alternative
  std::string unit;    // suffix of values
  double seconds = 0;  // the time axis is [0, seconds]
  double top = 1;      // the value axis is [0, top]
  double bottom = 0;   // if > 0, the value axis is [bottom, top] and logarithmic
  std::vector<ChartSeries> series;
  std::vector<ShadedTime> shaded;
};

// REQUIRES: seconds > 0, top > bottom >= 0.
[[nodiscard]] std::string draw_svg(const Chart& chart);

// The next round number, for the end of an axis: 1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten; 1
// for numbers <= 0, NaN and infinity.
[[nodiscard]] double round_up(double number);

// The labelled times of an axis of `seconds`: at most seven round numbers from 0 on.
[[nodiscard]] std::vector<double> time_ticks(double seconds);

// A number of an SVG attribute, with one decimal.
[[nodiscard]] std::string coordinate(double number);

}  // namespace damper::text
