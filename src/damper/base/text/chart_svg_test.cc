#include "damper/base/text/chart_svg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace damper::text {
namespace {

using Values = std::vector<double>;
const double kNone = std::nan("");

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Four buckets of a second; the top is 10, so that one is 14 high.
Chart chart_of(std::vector<ChartSeries> series) {
  return {.title = "Arrivals",
          .unit = "",
          .seconds = 4,
          .top = 10,
          .bottom = 0,
          .series = std::move(series),
          .shaded = {}};
}

TEST(ChartSvg, AnAreaIsStackedOnTheOneBefore) {
  const std::string svg = draw_svg(chart_of({{"first", "blue", Shape::area, {5, 5, 5, 0}},
                                             {"retries", "red", Shape::area, {0, 5, 0, 0}}}));
  EXPECT_TRUE(has(svg, R"(<path class="area blue" d="M0 70H750V140H1000V140H0Z"/>)")) << svg;
  EXPECT_TRUE(
      has(svg, R"(<path class="area red" d="M0 70H250V0H500V70H750V140H1000V140H750V70H0Z"/>)"))
      << svg;
}

TEST(ChartSvg, AnAreaOfNothingIsNotDrawn) {
  const std::string svg = draw_svg(chart_of({{"hedges", "violet", Shape::area, {0, 0, kNone, 0}}}));
  EXPECT_FALSE(has(svg, "violet")) << svg;
}

TEST(ChartSvg, ALineHasGaps) {
  const std::string svg = draw_svg(chart_of({{"p99", "dark", Shape::line, {1, kNone, 10, 10}}}));
  EXPECT_TRUE(has(svg, R"(<path class="line dark" d="M0 126H250M500 0H1000"/>)")) << svg;
}

TEST(ChartSvg, WhatIsOverTheTopIsDrawnAtIt) {
  const std::string svg = draw_svg(chart_of({{"p99", "dark", Shape::line, {1000, -3}}}));
  EXPECT_TRUE(has(svg, R"(d="M0 0H500V140H1000"/>)")) << svg;
}

TEST(ChartSvg, ALogarithmicAxisHasItsDecadesEvenly) {
  Chart chart = chart_of({{"p99", "dark", Shape::line, {1, 10, 100, 0}}});
  chart.bottom = 1;
  chart.top = 100;
  chart.unit = " ms";
  const std::string svg = draw_svg(chart);
  EXPECT_TRUE(has(svg, R"(d="M0 140H250V70H500V0H750V140H1000"/>)")) << svg;
  EXPECT_TRUE(has(svg, R"(<text class="value" x="-6" y="70">10 ms</text>)")) << svg;
  EXPECT_TRUE(has(svg, R"(<text class="value" x="-6" y="0">100 ms</text>)")) << svg;
}

TEST(ChartSvg, ManyMillisecondsAreSeconds) {
  Chart chart = chart_of({{"p99", "dark", Shape::line, {1000, 1500}}});
  chart.unit = " ms";
  chart.top = 2000;
  const std::string svg = draw_svg(chart);
  EXPECT_TRUE(has(svg, R"(y="70">1 s</text>)")) << svg;
  EXPECT_TRUE(has(svg, "\np99 1.5 s</title>")) << svg;
}

TEST(ChartSvg, AxesHaveLabels) {
  const std::string svg = draw_svg(chart_of({}));
  EXPECT_TRUE(has(svg, R"(<text class="value" x="-6" y="140">0</text>)")) << svg;
  EXPECT_TRUE(has(svg, R"(<text class="value" x="-6" y="70">5</text>)")) << svg;
  EXPECT_TRUE(has(svg, R"(<text class="value" x="-6" y="0">10</text>)")) << svg;
  EXPECT_TRUE(has(svg, R"(<text class="time" x="25%" y="156">1 s</text>)")) << svg;
  EXPECT_TRUE(has(svg, R"(<text class="time" x="100%" y="156">4 s</text>)")) << svg;
  EXPECT_TRUE(has(svg, R"(role="img" aria-label="Arrivals")")) << svg;
}

TEST(ChartSvg, AFaultIsShadedWithinThePlot) {
  Chart chart = chart_of({});
  chart.shaded = {{1, 2}, {3, 9}, {2, 2}};
  const std::string svg = draw_svg(chart);
  EXPECT_TRUE(has(svg, R"(<rect class="fault" x="250" y="0" width="250" height="140"/>)")) << svg;
  EXPECT_TRUE(has(svg, R"(<rect class="fault" x="750" y="0" width="250" height="140"/>)")) << svg;
  EXPECT_TRUE(has(svg, R"(<rect class="fault" x="500" y="0" width="2" height="140"/>)")) << svg;
}

TEST(ChartSvg, NumbersAreShownOnHover) {
  Chart chart = chart_of(
      {{"first <b>", "blue", Shape::area, {5, 1234}}, {"p99", "dark", Shape::line, {kNone, 2.5}}});
  chart.unit = "/s";
  const std::string svg = draw_svg(chart);
  EXPECT_TRUE(has(svg,
                  "<rect class=\"hover\" x=\"0\" y=\"0\" width=\"500\" height=\"140\"><title>"
                  "0 s\nfirst &lt;b&gt; 5/s</title></rect>"))
      << svg;
  EXPECT_TRUE(has(svg, "<title>2 s\nfirst &lt;b&gt; 1,234/s\np99 2.5/s</title>")) << svg;
}

TEST(ChartSvg, ManyPointsHaveAHundredHovers) {
  const std::string svg = draw_svg(chart_of({{"a", "blue", Shape::line, Values(300, 1)}}));
  std::size_t count = 0;
  for (std::size_t at = 0; (at = svg.find("hover", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 100U);
  EXPECT_TRUE(has(svg, R"(d="M0 126H1000"/>)"));  // Equal values are one step.
}

TEST(ChartSvg, TitlesAreEscaped) {
  Chart chart = chart_of({});
  chart.title = "\"><script>";
  EXPECT_FALSE(has(draw_svg(chart), "<script>"));
}

TEST(ChartSvg, AxesEndAtRoundNumbers) {
  EXPECT_EQ(round_up(0), 1);
  EXPECT_EQ(round_up(-3), 1);
  EXPECT_EQ(round_up(kNone), 1);
  EXPECT_EQ(round_up(std::numeric_limits<double>::infinity()), 1);
  EXPECT_EQ(round_up(1), 1);
  EXPECT_EQ(round_up(1.01), 1.5);
  EXPECT_EQ(round_up(7), 8);
  EXPECT_EQ(round_up(9), 10);
  EXPECT_EQ(round_up(120), 150);
  EXPECT_EQ(round_up(2000), 2000);
  EXPECT_NEAR(round_up(0.03), 0.03, 1e-9);
}

TEST(ChartSvg, TimesHaveAtMostSevenLabels) {
  EXPECT_EQ(time_ticks(4), (Values{0, 1, 2, 3, 4}));
  EXPECT_EQ(time_ticks(30), (Values{0, 5, 10, 15, 20, 25, 30}));
  EXPECT_EQ(time_ticks(80), (Values{0, 20, 40, 60, 80}));
  for (double seconds = 0.05; seconds <= 86'400; seconds *= 1.1) {
    EXPECT_GE(time_ticks(seconds).size(), 2U) << seconds;
    EXPECT_LE(time_ticks(seconds).size(), 7U) << seconds;
  }
}

}  // namespace
}  // namespace damper::text
