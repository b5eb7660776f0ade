#include "damper/base/text/chart_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "damper/base/check.h"
#include "damper/base/portable_math.h"
#include "damper/base/text/chart_text.h"
#include "damper/base/text/plain_text.h"

namespace damper::text {
namespace {

double height_of(double value, const Chart& chart) {
  if (std::isnan(value)) return 0;
  const double share = chart.bottom > 0 ? math::ln(std::max(value, chart.bottom) / chart.bottom) /
                                              math::ln(chart.top / chart.bottom)
                                        : value / chart.top;
  return std::clamp(share, 0.0, 1.0) * kPlotHeight;
}

std::string y_of(double value, const Chart& chart) {
  return coordinate(kPlotHeight - height_of(value, chart));
}

// The left edge of column i of n.
std::string x_of(std::size_t i, std::size_t n) {
  return coordinate(kPlotWidth * static_cast<double>(i) / static_cast<double>(n));
}

// The path of a step function from left to right, as H and V commands.
std::string steps(const std::vector<std::string>& ys, std::size_t first, std::size_t last) {
  std::string path;
  const std::size_t n = ys.size();
  for (std::size_t i = first; i < last; ++i) {
    if (i + 1 < last && ys[i + 1] == ys[i]) continue;
    path += 'H' + x_of(i + 1, n);
    if (i + 1 < last) path += 'V' + ys[i + 1];
  }
  return path;
}

std::string steps_back(const std::vector<std::string>& ys) {
  std::string path;
  const std::size_t n = ys.size();
  for (std::size_t i = n; i-- > 0;) {
    if (i > 0 && ys[i - 1] == ys[i]) continue;
    path += 'H' + x_of(i, n);
    if (i > 0) path += 'V' + ys[i - 1];
  }
  return path;
}

std::vector<std::string> ys_of(const std::vector<double>& values, const Chart& chart) {
  std::vector<std::string> ys;
  ys.reserve(values.size());
  for (const double value : values) ys.push_back(y_of(value, chart));
  return ys;
}

std::string path(const std::string& classes, const std::string& d) {
  return "<path class=\"" + classes + "\" d=\"" + d + "\"/>";
}

// An area on top of the areas before it; adds its values to `under`.
std::string draw_area(const ChartSeries& series, std::vector<double>& under, const Chart& chart) {
  under.resize(std::max(under.size(), series.values.size()), 0);
  const std::vector<std::string> below = ys_of(under, chart);
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    if (!std::isnan(series.values[i])) under[i] += series.values[i];
  }
  const std::vector<std::string> above = ys_of(under, chart);
  if (above.empty() || above == below) return "";
  return path("area " + series.ink, "M0 " + above.front() + steps(above, 0, above.size()) + 'V' +
                                        below.back() + steps_back(below) + 'Z');
}

std::string draw_line(const ChartSeries& series, const Chart& chart) {
  const std::vector<std::string> ys = ys_of(series.values, chart);
  std::string d;
  for (std::size_t i = 0; i < ys.size();) {
    std::size_t end = i;
    while (end < ys.size() && !std::isnan(series.values[end])) ++end;
    if (end > i) d += 'M' + x_of(i, ys.size()) + ' ' + ys[i] + steps(ys, i, end);
    i = end + 1;
  }
  return d.empty() ? "" : path("line " + series.ink, d);
}

std::string rectangle(const char* classes, double x, double width) {
  return std::string("<rect class=\"") + classes + "\" x=\"" + coordinate(x) +
         "\" y=\"0\" width=\"" + coordinate(width) + "\" height=\"" + coordinate(kPlotHeight) +
         "\"";
}

std::string draw_shaded(const Chart& chart) {
  std::string out;
  for (const ShadedTime& time : chart.shaded) {
    const double from = std::clamp(time.from / chart.seconds, 0.0, 1.0) * kPlotWidth;
    const double to = std::clamp(time.to / chart.seconds, 0.0, 1.0) * kPlotWidth;
    out += rectangle("fault", from, std::max(to - from, 2.0)) + "/>";
  }
  return out;
}

// A number with the chart's unit; 1000 ms and more are written in seconds.
std::string with_unit(double value, const Chart& chart) {
  if (chart.unit == " ms" && value >= 1000) return for_people(value / 1000) + " s";
  return for_people(value) + html_text(chart.unit);
}

// The short form for an axis label.
std::string on_axis(double value, const Chart& chart) {
  if (chart.unit == " ms") return with_unit(value, chart);
  return compact(value) + html_text(chart.unit);
}

// Invisible columns whose <title> is shown on hover.
std::string draw_hovers(const Chart& chart) {
  std::size_t n = 0;
  for (const ChartSeries& series : chart.series) n = std::max(n, series.values.size());
  const std::size_t group = (n + kMostHovers - 1) / kMostHovers;
  std::string out;
  for (std::size_t i = 0; i < n; i += group) {
    const std::size_t end = std::min(i + group, n);
    const auto at = [&](std::size_t edge) {
      return static_cast<double>(edge) / static_cast<double>(n);
    };
    out += rectangle("hover", at(i) * kPlotWidth, (at(end) - at(i)) * kPlotWidth) + "><title>" +
           for_people(at(i) * chart.seconds) + " s";
    for (const ChartSeries& series : chart.series) {
      if (series.values.size() < end) continue;
      const double value =
          reduced(std::span(series.values).subspan(i, end - i), 1, Reduction::greatest).front();
      if (std::isnan(value)) continue;
      out += '\n' + html_text(series.name) + ' ' + with_unit(value, chart);
    }
    out += "</title></rect>";
  }
  return out;
}

std::vector<double> value_ticks(const Chart& chart) {
  if (chart.bottom <= 0) return {0, chart.top / 2, chart.top};
  std::vector<double> ticks;
  double decade = chart.bottom;
  while (decade <= chart.top * 1.001) {
    ticks.push_back(decade);
    decade *= 10;
  }
  const std::size_t step = (ticks.size() + 4) / 5;  // At most five.
  std::vector<double> some;
  for (std::size_t i = 0; i < ticks.size(); i += step) some.push_back(ticks[i]);
  return some;
}

std::string text_at(const std::string& x, const std::string& y, const char* classes,
                    const std::string& text) {
  return std::string("<text class=\"") + classes + "\" x=\"" + x + "\" y=\"" + y + "\">" + text +
         "</text>";
}

}  // namespace

std::string coordinate(double number) {
  return for_programs(std::round(number * 10) / 10 + 0.0, "0");
}

double round_up(double number) {
  if (!(number > 0) || std::isinf(number)) return 1;
  double power = 1;
  while (power * 10 <= number) power *= 10;
  while (power > number && power > 1e-300) power /= 10;
  for (const double step : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (number <= step * power) return step * power;
  }
  return 10 * power;
}

std::vector<double> time_ticks(double seconds) {
  constexpr std::array<double, 18> kSteps = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,   2,    5,
                                             10,   20,   30,   60,  120, 300, 600, 1800, 3600};
  double step = 4 * 3600;
  for (const double candidate : kSteps) {
    if (seconds / candidate <= 6) {
      step = candidate;
      break;
    }
  }
  std::vector<double> ticks;
  for (int i = 0; i <= 6 && i * step <= seconds * 1.0001; ++i) ticks.push_back(i * step);
  return ticks;
}

std::string draw_svg(const Chart& chart) {
  DAMPER_CHECK(chart.seconds > 0 && chart.bottom >= 0 && chart.top > chart.bottom);
  std::string grid;
  std::string labels;
  for (const double tick : value_ticks(chart)) {
    const std::string y = y_of(tick, chart);
    grid += path("grid", "M0 " + y + 'H' + coordinate(kPlotWidth));
    labels += text_at("-6", y, "value", on_axis(tick, chart));
  }
  for (const double tick : time_ticks(chart.seconds)) {
    const std::string x = for_programs(std::round(tick / chart.seconds * 1e4) / 100, "0") + '%';
    labels += text_at(x, coordinate(kPlotHeight + 16), "time", for_people(tick) + " s");
  }
  std::string areas;
  std::string lines;
  std::vector<double> under;
  for (const ChartSeries& series : chart.series) {
    (series.shape == Shape::area ? areas : lines) +=
        series.shape == Shape::area ? draw_area(series, under, chart) : draw_line(series, chart);
  }
  return "<svg class=\"chart\" role=\"img\" aria-label=\"" + html_text(chart.title) +
         "\" width=\"100%\" height=\"" + coordinate(kPlotHeight + 22) + "\">" + labels +
         "<svg width=\"100%\" height=\"" + coordinate(kPlotHeight) + "\" viewBox=\"0 0 " +
         coordinate(kPlotWidth) + ' ' + coordinate(kPlotHeight) +
         "\" preserveAspectRatio=\"none\">" + draw_shaded(chart) + grid + areas + lines +
         draw_hovers(chart) + "</svg></svg>";
}

}  // namespace damper::text
