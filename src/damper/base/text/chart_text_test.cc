#include "damper/base/text/chart_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace damper::text {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;
using Values = std::vector<double>;

TEST(ChartText, AColumnIsAsTallAsItsValue) {
  EXPECT_EQ(draw_columns(Values{0, 1, 2, 3, 4, 5, 6, 7, 8}, 1, 8, 1), (Lines{" ▁▂▃▄▅▆▇█"}));
  EXPECT_EQ(draw_columns(Values{0, 8, 12, 16}, 1, 16, 2), (Lines{"  ▄█", " ███"}));
  EXPECT_EQ(draw_columns(Values{}, 1, 8, 2), (Lines{"", ""}));
}

TEST(ChartText, WhatIsNotNothingIsSeen) {
  EXPECT_EQ(draw_columns(Values{0, 1}, 1, 1000, 2), (Lines{"  ", " ▁"}));
  EXPECT_EQ(draw_parts(Values{0, 0, 1}, Values{0, 1, 1}, 1, 1000, 2), (Lines{"   ", " ░▄"}));
}

TEST(ChartText, AColumnOfAGroupShowsItsTallest) {
  EXPECT_EQ(draw_columns(Values{8, 0, 0, 4, 2}, 2, 8, 1), (Lines{"█▄▂"}));  // The last is alone.
}

TEST(ChartText, APartStandsUnderTheRestOfItsWhole) {
  // Of 4 halves:                   nothing  all  a half  a quarter  none
  EXPECT_EQ(draw_parts(Values{0, 4, 2, 1, 0}, Values{0, 4, 4, 4, 4}, 1, 4, 2),
            (Lines{" █░░░", " ██▓░"}));
  EXPECT_EQ(draw_parts(Values{3, 1}, Values{3, 1}, 1, 4, 2), (Lines{"▄ ", "█▄"}));
  EXPECT_EQ(draw_parts(Values{9}, Values{2}, 1, 4, 2), (Lines{" ", "█"}));  // Never over it.
}

TEST(ChartText, AColumnOfPartsShowsTheMean) {
  EXPECT_EQ(draw_parts(Values{4, 0, 4}, Values{4, 4, 4}, 2, 4, 2), (Lines{"░█", "██"}));
}

TEST(ChartText, ValuesAreGroupedToFit) {
  EXPECT_EQ(chart_group(0), 1);
  EXPECT_EQ(chart_group(75), 1);
  EXPECT_EQ(chart_group(76), 2);
  EXPECT_EQ(chart_group(864'000), 11'520);
}

TEST(ChartText, TheScaleStandsAtTheTop) {
  std::ostringstream out;
  print_chart(out, {"█  ", "██ "}, "120", Ink::calm, Painter({}));
  EXPECT_EQ(out.str(), " 120│█\n    │██\n");
}

TEST(ChartText, TheAxisMarksWhatWasWrong) {
  const std::vector<MarkedTime> marks = {{1s, 2s, "1s: down", "2s: back"}};
  std::ostringstream out;
  print_axis(out, 30, 3s, marks, Painter({}));
  EXPECT_EQ(out.str(),
            "   0└──────────━━━━━━━━━━──────────\n"
            "     0s        1s: down  2s: back\n");
}

TEST(ChartText, AMarkThatDoesNotFitIsLeftOut) {
  const std::vector<MarkedTime> marks = {{0s, 1s, "0s: slow", "1s: over"},
                                         {5s, 6s, "5s: down", ""}};
  std::ostringstream out;
  print_axis(out, 7, 7s, marks, Painter({}));
  EXPECT_EQ(out.str(),
            "   0└━────━─\n"
            "     0s: slow\n");
}

TEST(ChartText, ATimeWithinAColumnIsMarked) {
  const std::vector<MarkedTime> marks = {{3100ms, 3200ms, "!", ""}};
  std::ostringstream out;
  print_axis(out, 5, 5s, marks, Painter({}));
  EXPECT_EQ(out.str(),
            "   0└───━─\n"
            "     0s !\n");
}

TEST(ChartText, AColumnNeedNotBeAWholeNumberOfNanoseconds) {
  const std::vector<MarkedTime> marks = {{1s, 2s, "1s", "2s"}};
  std::ostringstream out;
  print_axis(out, 21, 3s, marks, Painter({}));
  EXPECT_EQ(out.str(),
            "   0└───────━━━━━━━───────\n"
            "     0s     1s     2s\n");
}

TEST(ChartText, ATableIsAsWideAsItMustBe) {
  std::ostringstream out;
  print_table(out, {{"", "naïve", "guarded"}, {"attempts", "3.99", "1.1"}, {"short"}}, 80,
              Painter({}));
  EXPECT_EQ(out.str(),
            "            naïve  guarded\n"
            "  attempts   3.99      1.1\n"
            "  short\n");
}

TEST(ChartText, AWideTableIsCutBetweenColumns) {
  std::ostringstream out;
  print_table(out, {{"", "one", "two", "three"}, {"a", "1", "2", "3"}}, 13, Painter({}));
  EXPECT_EQ(out.str(),
            "     one  two\n"
            "  a    1    2\n"
            "\n"
            "     three\n"
            "  a      3\n");
  std::ostringstream narrow;
  print_table(narrow, {{"", "one", "two"}, {"a", "1", "2"}}, 12, Painter({}));
  EXPECT_EQ(narrow.str(),
            "     one\n"
            "  a    1\n"
            "\n"
            "     two\n"
            "  a    2\n");
}

TEST(ChartText, ColourIsForThoseWhoAsk) {
  EXPECT_EQ(Painter({})(Ink::alarm, "x"), "x");
  EXPECT_EQ(Painter({.colour = true})(Ink::alarm, "x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(Painter({.colour = true})(Ink::calm, ""), "");
}

using Values = std::vector<double>;
const double kNone = std::nan("");

TEST(Reduction, ManyValuesAreReduced) {
  EXPECT_EQ(reduced(Values{1, 5, 2, 4, 9}, 3, Reduction::greatest), (Values{5, 4, 9}));
  EXPECT_EQ(reduced(Values{1, 5, 2, 4, 9}, 3, Reduction::mean), (Values{3, 3, 9}));
  EXPECT_EQ(reduced(Values{1, 5, 2}, 3, Reduction::mean), (Values{1, 5, 2}));
  EXPECT_EQ(reduced(Values{kNone, 5, -2, kNone}, 2, Reduction::mean), (Values{5, -2}));
  EXPECT_EQ(reduced(Values{kNone, -5}, 1, Reduction::greatest), (Values{-5}));
  EXPECT_TRUE(std::isnan(reduced(Values{kNone, kNone}, 1, Reduction::mean)[0]));
  EXPECT_EQ(reduced(Values{}, 3, Reduction::mean), Values{});
}

}  // namespace

}  // namespace damper::text
