#include "damper/http/codec/chars.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace damper::http {
namespace {

TEST(Chars, ATokenHasNoSeparatorSpaceControlOrHighByte) {
  EXPECT_TRUE(all(kToken, "x-Trace_Id!#$%&'*+-.^_`|~09"));
  for (int c = 0; c < 256; ++c) {
    const bool separator = std::string_view("\"(),/:;<=>?@[\\]{}").find(static_cast<char>(c)) !=
                           std::string_view::npos;
    EXPECT_EQ(is(kToken, static_cast<char>(c)), c > 0x20 && c < 0x7f && !separator) << c;
  }
}

TEST(Chars, ATargetIsVisibleWithoutAFragmentAndAnAuthorityWithoutUserinfo) {
  EXPECT_TRUE(all(kTarget, "/a/b?c=d&e={f|g}"));
  EXPECT_FALSE(is(kTarget, '#'));
  EXPECT_FALSE(is(kTarget, ' '));
  EXPECT_FALSE(is(kTarget, '\x80'));
  EXPECT_TRUE(all(kAuthority, "[::1]:8080"));
  for (const char c : std::string_view("@/?# \\\"")) EXPECT_FALSE(is(kAuthority, c)) << c;
}

TEST(Chars, AControlIsFoundAtEveryPlaceAndTheTabIsNone) {
  for (std::size_t size = 1; size < 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (const int c : {0, 1, 10, 13, 31, 127}) {
        std::string text(size, '\xff');
        text[at] = static_cast<char>(c);
        if (at > 0) text[at - 1] = '\t';
        EXPECT_EQ(find_control(text, 0), at);
        EXPECT_EQ(find_control(text, at), at);
      }
    }
    EXPECT_EQ(find_control(std::string(size, '\t'), 0), size);
    EXPECT_EQ(find_control(std::string(size, ' '), 0), size);
    EXPECT_EQ(find_control(std::string(size, '\x80'), 0), size);
  }
  EXPECT_EQ(find_control("", 0), 0U);
}

TEST(Chars, ANameHasNoCaseAndNothingElseIsFolded) {
  for (const std::string_view lower :
       {"te", "host", "connection", "transfer-encoding", "keep-alive"}) {
    std::string token(lower);
    EXPECT_TRUE(is_name(token, lower));
    for (char& c : token) {
      const char good = c;
      for (int other = 0x21; other < 0x7f; ++other) {
        c = static_cast<char>(other);
        if (!is(kToken, c)) continue;
        const bool same = other == good || (is(kToken, good) && good >= 'a' && other == good - 32);
        EXPECT_EQ(is_name(token, lower), same) << token;
      }
      c = good;
    }
    EXPECT_FALSE(is_name(token + "x", lower));
  }
}

TEST(Chars, WordsOfAListAreTrimmedAndEmptyOnesSkipped) {
  std::vector<std::string> words;
  for_each_word(" a ,, b\t,c", [&](std::string_view word) { words.emplace_back(word); });
  EXPECT_EQ(words, (std::vector<std::string>{"a", "b", "c"}));
  for_each_word("", [&](std::string_view) { FAIL(); });
}

}  // namespace
}  // namespace damper::http
