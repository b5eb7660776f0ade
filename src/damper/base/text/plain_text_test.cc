#include "damper/base/text/plain_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace damper::text {
namespace {

using Lines = std::vector<std::string>;

TEST(PlainText, ADecimalHasNoExponent) {
  EXPECT_EQ(decimal_text(0.1), "0.1");
  EXPECT_EQ(decimal_text(1e-7), "0.0000001");
  EXPECT_EQ(decimal_text(1e21), "1" + std::string(21, '0'));
}

TEST(PlainText, WhatCouldDriveATerminalIsEscaped) {
  EXPECT_EQ(printable("storm \"naïve\""), "storm \"naïve\"");
  EXPECT_EQ(printable("\x1b[31mred\nnext\x7f"), "\\u001b[31mred\\nnext\\u007f");
  EXPECT_EQ(printable("abc\u202edef"), "abc\\u202edef");
  EXPECT_EQ(printable("C:\\x"), "C:\\\\x");
  EXPECT_EQ(printable("a\xff"), "a\xEF\xBF\xBD");
  EXPECT_EQ(printable("\""), "\"");
  EXPECT_EQ(printable(""), "");
}

TEST(PlainText, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abc...");
  EXPECT_EQ(printable("aäöüb", 6), "aä...");
  EXPECT_EQ(printable("aäöüb", 7), "aä...");  // A half of ö would not be UTF-8.
}

TEST(PlainText, WidthCountsCharacters) {
  EXPECT_EQ(text_width("naïve █"), 7U);
  EXPECT_EQ(padded_left("ï", 3), "  ï");
  EXPECT_EQ(padded_right("ï", 3), "ï  ");
  EXPECT_EQ(padded_left("long", 3), "long");
  EXPECT_EQ(padded_right("long", 3), "long");
}

TEST(PlainText, LinesAreWrappedBetweenWords) {
  EXPECT_EQ(wrapped("one two\n three  four ", 9), (Lines{"one two", "three", "four"}));
  EXPECT_EQ(wrapped("a incomprehensible b", 5), (Lines{"a", "incomprehensible", "b"}));
  EXPECT_EQ(wrapped("ab cd", 5), (Lines{"ab cd"}));
  EXPECT_EQ(wrapped("\x1b[m", 9), (Lines{"\\u001b[m"}));
  EXPECT_EQ(wrapped(" \n", 5), Lines{});
}

TEST(PlainText, NumbersHaveCommas) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(with_commas(-123), "-123");
  EXPECT_EQ(with_commas(-1234), "-1,234");
}

TEST(PlainText, PeopleReadThreeDigits) {
  EXPECT_EQ(for_people(0), "0");
  EXPECT_EQ(for_people(-0.0), "0");
  EXPECT_EQ(for_people(4), "4");
  EXPECT_EQ(for_people(1.143), "1.14");
  EXPECT_EQ(for_people(9.996), "10");
  EXPECT_EQ(for_people(12.34), "12.3");
  EXPECT_EQ(for_people(99.95), "100");
  EXPECT_EQ(for_people(123.4), "123");
  EXPECT_EQ(for_people(0.1254), "0.125");
  EXPECT_EQ(for_people(0.01254), "0.0125");
  EXPECT_EQ(for_people(0.9996), "1");
  EXPECT_EQ(for_people(12345.6), "12,346");
  EXPECT_EQ(for_people(-1.5), "-1.5");
  EXPECT_EQ(for_people(-1234.5), "-1,235");
  EXPECT_EQ(for_people(1e-12), "0");
  EXPECT_EQ(for_people(2e18), "2e+18");
  EXPECT_EQ(for_people(std::numeric_limits<double>::quiet_NaN()), "-");
  EXPECT_EQ(for_people(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(for_people(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(PlainText, AScaleHasFourCharacters) {
  EXPECT_EQ(compact(0), "0");
  EXPECT_EQ(compact(0.0123), "0.01");
  EXPECT_EQ(compact(12.34), "12.3");
  EXPECT_EQ(compact(1234), "1234");
  EXPECT_EQ(compact(9999.4), "9999");
  EXPECT_EQ(compact(9999.5), "10k");
  EXPECT_EQ(compact(12345), "12k");
  EXPECT_EQ(compact(999'499), "999k");
  EXPECT_EQ(compact(999'500), "1.0M");
  EXPECT_EQ(compact(1'249'000), "1.2M");
  EXPECT_EQ(compact(9'960'000), "10M");
  EXPECT_EQ(compact(5e9), "5.0G");
  EXPECT_EQ(compact(5e18), "huge");
}

TEST(PlainText, ProgramsReadTheSameDouble) {
  EXPECT_EQ(for_programs(0.1, "null"), "0.1");
  EXPECT_EQ(for_programs(250, "null"), "250");
  EXPECT_EQ(for_programs(1.0 / 3, "null"), "0.3333333333333333");
  EXPECT_EQ(for_programs(std::nan(""), "null"), "null");
  EXPECT_EQ(for_programs(std::numeric_limits<double>::infinity(), ""), "");
}

TEST(PlainText, EachFormatHasItsEscapes) {
  EXPECT_EQ(html_text("<b title=\"x\" y='z'>&amp;</b>"),
            "&lt;b title=&quot;x&quot; y=&#39;z&#39;&gt;&amp;amp;&lt;/b&gt;");
  EXPECT_EQ(html_text("one\ntwo\x1b"), "one\ntwo\\u001b");
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field("a\nb"), "\"a\nb\"");
  EXPECT_EQ(csv_field("a\rb"), "\"a\rb\"");
}

TEST(PlainText, LongTextIsWholeWhereProgramsReadIt) {
  const std::string text(5000, 'x');
  EXPECT_EQ(html_text(text).size(), 5000U);
  EXPECT_EQ(printable(text).size(), 2000U);
}

}  // namespace
}  // namespace damper::text
