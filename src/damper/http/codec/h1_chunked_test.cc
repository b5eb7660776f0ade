#include "damper/http/codec/h1_chunked.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace damper::http {
namespace {

using Result = H1Chunked::Result;

// What comes out when the bytes come `cut` at a time: the data, then the verdict and what is left.
std::string decode(std::string_view bytes, std::size_t cut, std::size_t most = 64) {
  H1Chunked chunked(most);
  std::string text;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::string_view piece = bytes.substr(at, cut);
    std::size_t used = 0;
    while (used < piece.size()) {
      const H1Chunked::Fed fed = chunked.feed(piece.substr(used));
      used += fed.used;
      if (fed.result == Result::data) text += fed.data;
      if (fed.result == Result::malformed) return text + " malformed";
      if (fed.result == Result::too_large) return text + " too_large";
      if (fed.result == Result::end) {
        return text + " end(" + std::string(chunked.trailers()) + ")" +
               std::string(bytes.substr(at + used));
      }
    }
    at += piece.size();
  }
  return text + " more";
}

TEST(H1Chunked, DataComeOutTheSameWhateverTheCuts) {
  const std::string bytes = "3\r\nabc\r\nA\r\n0123456789\r\n00\r\n\r\nnext";
  for (std::size_t cut = 1; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(decode(bytes, cut), "abc0123456789 end()next") << cut;
  }
}

TEST(H1Chunked, TrailersAreGatheredAndBounded) {
  const std::string bytes = "1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\nnext";
  for (std::size_t cut = 1; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(decode(bytes, cut), "x end(A: b\r\nC: d\r\n\r\n)next") << cut;
    EXPECT_EQ(decode(bytes, cut, 10), "x too_large") << cut;
  }
}

TEST(H1Chunked, WhatParsersDisagreeAboutIsMalformed) {
  for (const char* bytes :
       {"3 \r\nabc\r\n", " 3\r\nabc\r\n", "+3\r\nabc\r\n", "0x3\r\nabc\r\n", "3\nabc\r\n",
        "3\r\nabc\n", "3\r\nabcd\r\n", "\r\nabc", "3\rabc", "-1\r\n",
        "00000000000000003\r\nabc\r\n", "0\r\n\rX", "0\r\n\n", "0\r\nA: b\n\nx"}) {
    for (const std::size_t cut : {1U, 100U}) {
      EXPECT_TRUE(decode(bytes, cut).ends_with("malformed")) << bytes;
    }
  }
}

TEST(H1Chunked, ExtensionsAreDropped) {
  for (const std::string& extension :
       std::vector<std::string>{";a", ";a=b", ";a=b;c;d=e", " ; a = b", "\t;\ta\t=\tb ;c",
                                ";a=\"b;=\xc3\xa4\t c\"", ";a=\"\\\"\\\\\" ;b", ";a=\"\""}) {
    const std::string bytes = "3" + extension + "\r\nabc\r\n0" + extension + "\r\n\r\nnext";
    for (std::size_t cut = 1; cut <= bytes.size(); ++cut) {
      EXPECT_EQ(decode(bytes, cut), "abc end()next") << extension << cut;
    }
  }
}

TEST(H1Chunked, ExtensionsThatParsersDisagreeAboutAreMalformed) {
  for (const std::string& extension : std::vector<std::string>{
           ";", " ;", ";a ", ";a=", ";a= ", ";=b", ";;a", ";a=b c", ";a b", ";a==b", ";a=\"b", ",a",
           "a=b;", ";a=\"b\"c", ";a=\"b\"\"c\"", ";a\"b\"", ";a=b\"c\"", " a", ";a=b "}) {
    EXPECT_EQ(decode("3" + extension + "\r\nabc\r\n0\r\n\r\n", 100), " malformed") << extension;
    EXPECT_EQ(decode("3" + extension + "\r\nabc\r\n0\r\n\r\n", 1), " malformed") << extension;
  }
}

TEST(H1Chunked, AnExtensionIsOfOneChunk) {
  EXPECT_EQ(decode("3;a\r\nabc\r\n3=b\r\nabc\r\n", 100), "abc malformed");
}

TEST(H1Chunked, AnExtensionHasNoControl) {  // TERM.EXT, EXT.TERM: a line that ends for one of two.
  const std::vector<std::string> starts = {";",      ";a",      ";a=",      ";a=b",
                                           ";a=\"b", ";a=\"\\", ";a=\"b\"", " "};
  for (const std::string& start : starts) {
    for (const char control : {'\n', '\r', '\0', '\x0b', '\x7f'}) {
      const std::string bytes = "3" + start + control + "\"\r\nabc\r\n0\r\n\r\n";
      EXPECT_EQ(decode(bytes, 100), " malformed") << bytes;
      EXPECT_EQ(decode(bytes, 1), " malformed") << bytes;
    }
  }
}

TEST(H1Chunked, ExtensionsAreBoundedByTheData) {  // (3), with 64 bytes
  const std::string most(63, 'a');
  EXPECT_EQ(decode("0;" + most + "\r\n\r\n", 7), " end()");
  EXPECT_EQ(decode("0;a" + most + "\r\n\r\n", 7), " too_large");
  std::string honest;  // 2 bytes for 3 of data, for ever
  std::string hostile;
  for (int i = 0; i < 1000; ++i) {
    honest += "3;a\r\nabc\r\n";
    hostile += "1;a\r\nx\r\n";
  }
  EXPECT_TRUE(decode(honest, 100).ends_with("abc more"));
  EXPECT_EQ(decode(hostile, 100), std::string(63, 'x') + " too_large");
}

TEST(H1Chunked, TheLargestSizeIsSixteenDigits) {
  EXPECT_EQ(decode("ffffffffffffffff\r\nabc", 100), "abc more");
  EXPECT_EQ(decode("0000000000000003\r\nabc\r\n0\r\n\r\n", 100), "abc end()");
}

}  // namespace
}  // namespace damper::http
