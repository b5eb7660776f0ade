#ifndef DAMPER_BASE_TEXT_CHART_SVG_H_
#define DAMPER_BASE_TEXT_CHART_SVG_H_

#include <cstdint>
#include <string>
#include <vector>

namespace damper::text {

// Charts as SVG, to stand in an HTML page.
//
// Why: no script and no library, so that the page works offline, prints, and says the same in ten
// years. Model: the drawing is stretched to the width that it gets, while texts and lines keep
// their size; so it has no viewBox of its own but an inner one, 1000 wide and kPlotHeight high, for
// what is stretched. Colours are the page's: a series is drawn in its class. Numbers on hover are
// <title>s. Everything is escaped. Invariants:
//   (1) Nothing is drawn outside of the plot: what is over the top is drawn at it.
//   (2) The same chart gives the same bytes.

inline constexpr double kPlotWidth = 1000;
inline constexpr double kPlotHeight = 140;
inline constexpr std::size_t kMostPoints = 300;  // of a series; more are reduced before
inline constexpr std::size_t kMostHovers = 100;  // places that show their numbers

enum class Shape : std::uint8_t {
  area,  // stacked on the areas before it
  line,
};

struct ChartSeries {
  std::string name;
  std::string ink;  // a class of the page: letters only
  Shape shape = Shape::line;
  std::vector<double> values;  // evenly over the time; what is not a number is a gap
};

struct ShadedTime {
  double from = 0;  // seconds
  double to = 0;
};

struct Chart {
  std::string title;   // what it shows, for those who cannot see it
  std::string unit;    // after the numbers
  double seconds = 0;  // the time axis is [0, seconds]
  double top = 1;      // the value axis is [0, top]
  double bottom = 0;   // or, if it is over 0, [bottom, top] and logarithmic
  std::vector<ChartSeries> series;
  std::vector<ShadedTime> shaded;
};

// REQUIRES: seconds > 0, top > bottom >= 0.
[[nodiscard]] std::string draw_svg(const Chart& chart);

// The next round number, for the end of an axis: 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten. 1
// for what is not over 0.
[[nodiscard]] double round_up(double number);

// The times at which an axis of so many seconds has a label: at most seven, round, from 0 on.
[[nodiscard]] std::vector<double> time_ticks(double seconds);

// A number of an SVG attribute: to the tenth.
[[nodiscard]] std::string coordinate(double number);

}  // namespace damper::text

#endif  // DAMPER_BASE_TEXT_CHART_SVG_H_
