#include "damper/observe/labels.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace damper::observe {
namespace {

std::string value(std::string_view text) {
  const std::string rendered = render({{"a", std::string(text)}});
  return rendered.substr(3, rendered.size() - 4);
}

TEST(Labels, AreSortedByNameAndQuoted) {
  EXPECT_EQ(render({{"host", "a"}, {"code", "503"}}), "code=\"503\",host=\"a\"");
  EXPECT_EQ(render(Labels{}), "");
}

TEST(Labels, ABackslashAQuoteAndALineFeedAreEscaped) {
  EXPECT_EQ(value("a\\b\"c\nd"), R"(a\\b\"c\nd)");
  EXPECT_EQ(value("\r\t"), "\r\t");  // Nothing else is.
  EXPECT_EQ(render_help("a\\b\"c\nd"), R"(a\\b"c\nd)");
}

TEST(Labels, WhatIsNotUtf8IsReplaced) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(value("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(value("\xFFx"), bad + "x");
  EXPECT_EQ(value("\x80"), bad);
  EXPECT_EQ(value("\xC3"), bad);                                // It ends in a character.
  EXPECT_EQ(value("\xE2\x82z"), bad + bad + "z");               // It breaks off.
  EXPECT_EQ(value("\xC0\xAF"), bad + bad);                      // An overlong slash,
  EXPECT_EQ(value("\xE0\x80\xAF"), bad + bad + bad);            // and in three bytes,
  EXPECT_EQ(value("\xF0\x80\x80\xAF"), bad + bad + bad + bad);  // and in four.
  EXPECT_EQ(value("\xED\xA0\x80"), bad + bad + bad);            // A surrogate.
  EXPECT_EQ(value("\xED\x9F\xBF"), "\xED\x9F\xBF");             // The last before them.
  EXPECT_EQ(value("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // Over U+10FFFF.
  EXPECT_EQ(value("\xF4\x8F\xBF\xBF"), "\xF4\x8F\xBF\xBF");
  EXPECT_EQ(value("\xF5\x80\x80\x80"), bad + bad + bad + bad);
}

TEST(Labels, ALongValueIsCutBetweenCharacters) {
  EXPECT_EQ(value(std::string(256, 'x')), std::string(256, 'x'));
  EXPECT_EQ(value(std::string(257, 'x')), std::string(256, 'x'));
  EXPECT_EQ(value(std::string(255, 'x') + "\xC3\xA9"), std::string(255, 'x'));
  EXPECT_EQ(value(std::string(254, 'x') + "\xC3\xA9"), std::string(254, 'x') + "\xC3\xA9");
}

TEST(Labels, NamesAreThoseOfPrometheus) {
  EXPECT_TRUE(is_metric_name("damper:retries_total2"));
  EXPECT_TRUE(is_metric_name("_x"));
  for (const char* name : {"", "2x", "a-b", "a b", "\xC3\xA9"}) {
    EXPECT_FALSE(is_metric_name(name)) << name;
    EXPECT_FALSE(is_label_name(name)) << name;
  }
  EXPECT_TRUE(is_label_name("_reason2"));
  for (const char* name : {"a:b", "__name__", "le"}) EXPECT_FALSE(is_label_name(name)) << name;
}

TEST(Labels, WrongLabelsAreABug) {
  EXPECT_DEATH((void)render({{"le", "1"}}), "is_label_name");
  EXPECT_DEATH((void)render({{"a", "1"}, {"a", "2"}}), "check failed");
  EXPECT_DEATH((void)render(Labels(17, {"a", "1"})), "kMostLabels");
}

TEST(Labels, ANumberReadsBackAsItself) {
  EXPECT_EQ(render(0.0), "0");
  EXPECT_EQ(render(1.0), "1");
  EXPECT_EQ(render(0.1), "0.1");
  EXPECT_EQ(render(-2.5), "-2.5");
  EXPECT_EQ(render(0.0005), "0.0005");
  EXPECT_EQ(render(0.0001), "0.0001");
  EXPECT_EQ(render(-0.00005), "-5e-05");
  EXPECT_EQ(render(1e6), "1000000");
  EXPECT_EQ(render(999'999'999'999'999.9), "999999999999999.9");
  EXPECT_EQ(render(1e15), "1e+15");
  EXPECT_EQ(render(1e300), "1e+300");
  EXPECT_EQ(render(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(render(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(render(-std::numeric_limits<double>::infinity()), "-Inf");
}

}  // namespace
}  // namespace damper::observe
