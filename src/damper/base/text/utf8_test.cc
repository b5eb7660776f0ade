#include "damper/base/text/utf8.h"

#include <gtest/gtest.h>

#include "damper/base/random.h"

namespace damper::text {
namespace {

std::string escaped(std::string_view text, std::size_t most = 1000) {
  std::string out = ">";
  append_escaped(out, text, most);
  return out.substr(1);
}

TEST(Utf8, KnowsTheLengthOfACharacterAndWhatIsNone) {
  EXPECT_EQ(utf8_length("ab"), 1U);
  EXPECT_EQ(utf8_length("\xC3\xA9 "), 2U);
  EXPECT_EQ(utf8_length("\xE2\x82\xAC "), 3U);
  EXPECT_EQ(utf8_length("\xF0\x9F\x98\x80 "), 4U);
  EXPECT_EQ(utf8_length("\xF4\x8F\xBF\xBF"), 4U);  // U+10FFFF
  for (const std::string_view bad :
       {"\x80", "\xC3", "\xC3\x28", "\xC0\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE2\x82"}) {
    EXPECT_EQ(utf8_length(bad), 0U) << escaped(bad);
  }
}

TEST(Utf8, WhatIsReadableStaysAsItIs) {
  EXPECT_EQ(escaped("db failover, 50 % \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "db failover, 50 % \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(escaped(""), "");
}

TEST(Utf8, WhatCouldForgeALineOrDriveATerminalIsEscaped) {
  EXPECT_EQ(escaped("a\"b\\c\nd\re\tf"), R"(a\"b\\c\nd\re\tf)");
  EXPECT_EQ(escaped(std::string_view("\0\x1b[2J\x7f", 6)), R"(\u0000\u001b[2J\u007f)");
  EXPECT_EQ(escaped("\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0"), "\\u0080\\u009b\\u009f\xC2\xA0");
  EXPECT_EQ(escaped("\xE2\x80\xA8\xE2\x80\xAE\xE2\x80\xAF"), "\\u2028\\u202e\xE2\x80\xAF");
  EXPECT_EQ(escaped("\xE2\x81\xA5\xE2\x81\xA6\xE2\x81\xA9\xE2\x81\xAA"),
            "\xE2\x81\xA5\\u2066\\u2069\xE2\x81\xAA");
  EXPECT_EQ(escaped("\xE2\x80\x8E\xE2\x80\x8F\xD8\x9C\xEF\xBB\xBF"), R"(\u200e\u200f\u061c\ufeff)");
}

TEST(Utf8, EachByteThatIsNotUtf8IsReplaced) {
  EXPECT_EQ(escaped("a\xFF\xED\xA0\x80z"), "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
}

TEST(Utf8, IsCutBetweenCharactersAndSaysSo) {
  EXPECT_EQ(escaped("abcdef", 6), "abcdef");
  EXPECT_EQ(escaped("abcdefg", 6), "abc...");
  EXPECT_EQ(escaped("abcdefg", 3), "...");
  EXPECT_EQ(escaped("ab\xE2\x82\xAC\xE2\x82\xAC", 7), "ab...");  // 2, 5, 8: no room for 5 + 3.
  EXPECT_EQ(escaped("ab\xE2\x82\xAC\xE2\x82\xAC", 8), "ab\xE2\x82\xAC\xE2\x82\xAC");
  EXPECT_EQ(escaped("a\n\n\n\n", 7), "a\\n...");  // Not within an escape.
  EXPECT_DEATH(escaped("a", 2), "check failed");
}

TEST(Utf8, AnyBytesGiveCleanTextWithinTheBound) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    std::string text;
    const std::size_t size = random.bits() % 64;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(random.bits());
    const std::size_t most = 3 + random.bits() % 64;
    const std::string result = escaped(text, most);
    ASSERT_LE(result.size(), most) << "seed " << seed;
    for (std::string_view out = result; !out.empty();) {
      const std::size_t length = utf8_length(out);
      ASSERT_GT(length, 0U) << "seed " << seed;
      ASSERT_GE(static_cast<unsigned char>(out.front()), 0x20) << "seed " << seed;
      ASSERT_NE(out.front(), '"') << "seed " << seed;
      const std::size_t step = out.front() != '\\' ? length : out[1] == 'u' ? 6 : 2;
      ASSERT_LE(step, out.size()) << "seed " << seed;
      out.remove_prefix(step);
    }
  }
}

TEST(Utf8, AJsonStringIsQuotedEscapedAndNeverCut) {
  EXPECT_EQ(json_string("db"), "\"db\"");
  EXPECT_EQ(json_string("a \"b\\c\n\x1b"), R"("a \"b\\c\n\u001b")");
  EXPECT_EQ(json_string("\xff"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(json_string(std::string(20'000, 'x')).size(), 20'002U);
}

}  // namespace
}  // namespace damper::text
