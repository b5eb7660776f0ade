#include "damper/base/text/words.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace damper::text {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"timeout", "per_try_timeout", "num_retries",
                                                    "jitter"};

TEST(Words, ANumberIsTheWholeText) {
  EXPECT_EQ(find_number<int>("-12"), -12);
  EXPECT_EQ(find_number<std::uint16_t>("65535"), 65535);
  for (const char* text : {"65536", "-1", "+1", "0x1"}) {
    EXPECT_FALSE(find_number<std::uint16_t>(text)) << text;
  }
  EXPECT_EQ(find_number<double>("1e2"), 100.0);
  EXPECT_EQ(find_number<double>("1e2", std::chars_format::fixed), std::nullopt);
  for (const std::string_view text : {"", " 1", "1 ", "1x", "99999999999"}) {
    EXPECT_EQ(find_number<int>(text), std::nullopt) << text;
  }
}

TEST(Words, PartsAreTrimmedAndKeptWhenEmpty) {
  EXPECT_EQ(trimmed("  a b "), "a b");
  EXPECT_EQ(split(" a, b c ,,d"), (std::vector<std::string_view>{"a", "b c", "", "d"}));
  EXPECT_EQ(split(""), std::vector<std::string_view>{""});
}

TEST(Words, AnEditIsOneInsertionDeletionReplacementOrSwap) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("timeout", "timeot"), 1);
  EXPECT_EQ(edit_distance("timeot", "timeout"), 1);
  EXPECT_EQ(edit_distance("timeout", "timeXut"), 1);
  EXPECT_EQ(edit_distance("timeout", "tiemout"), 1);
  EXPECT_EQ(edit_distance("num_retires", "num_retries"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Words, OnlyTheFirst64BytesAreCompared) {
  const std::string a(1000, 'a');
  EXPECT_EQ(edit_distance(a, std::string(64, 'a') + "bbb"), 0);
  EXPECT_EQ(edit_distance(a, ""), 64);
}

TEST(Words, TheNearestWordIsSuggestedAndNothingFarOff) {
  EXPECT_EQ(nearest("num_retires", kWords), "num_retries");
  EXPECT_EQ(nearest("time_out", kWords), "timeout");
  EXPECT_EQ(nearest("jit", kWords), "");         // 3 edits for 3 letters: a guess, not a typo.
  EXPECT_EQ(nearest("jitt", kWords), "jitter");  // 2 edits for 4 letters.
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(suggestion("jiter", kWords), "; did you mean jitter?");
  EXPECT_EQ(suggestion("zzz", kWords), "");
}

TEST(Words, WhatASentenceRepeatsIsPrintableShortAndOnOneLine) {
  EXPECT_EQ(in_quotes("2s"), "\"2s\"");
  EXPECT_EQ(in_quotes("a\"b\\c\nd\te\x01\xff"), R"("a\"b\\c\nd\te\x01\xff")");
  EXPECT_EQ(in_quotes(std::string(60, 'x')), '"' + std::string(60, 'x') + '"');
  EXPECT_EQ(in_quotes(std::string(61, 'x')), '"' + std::string(60, 'x') + "...\"");
  EXPECT_EQ(on_one_line("a \"b\"\nc"), "a \"b\"\\nc");
  EXPECT_EQ(on_one_line(std::string(201, 'x')), std::string(200, 'x') + "...");
  EXPECT_EQ(joined(kWords), "timeout, per_try_timeout, num_retries, jitter");
}

}  // namespace
}  // namespace damper::text
