#include "damper/http/codec/connection.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

TEST(Sniff, ThePrefaceIsHttp2AndAnythingElseHttp1) {
  const std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (std::size_t size = 0; size < preface.size(); ++size) {
    EXPECT_EQ(sniff(preface.substr(0, size)), Protocol::unknown);
  }
  EXPECT_EQ(sniff(preface), Protocol::h2);
  EXPECT_EQ(sniff(std::string(preface) + "x"), Protocol::h2);
  EXPECT_EQ(sniff("G"), Protocol::h1);
  EXPECT_EQ(sniff("PRI * HTTP/1.1\r\n"), Protocol::h1);
  EXPECT_EQ(sniff("PUT"), Protocol::h1);
}

TEST(ConnectionLimits, WhatIsOutsideOfItsBoundsIsNamed) {
  EXPECT_EQ(find_error(ConnectionLimits{}), std::nullopt);
  const auto error_of = [](auto change) {
    ConnectionLimits limits;
    change(limits);
    return find_error(limits).value_or("");
  };
  EXPECT_EQ(error_of([](auto& l) { l.max_head_bytes = 1023; }),
            "max_head_bytes is outside of its bounds: 1 KiB to 1 MiB");
  EXPECT_NE(error_of([](auto& l) { l.max_fields = 1001; }), "");
  EXPECT_NE(error_of([](auto& l) { l.window_bytes = 1; }), "");
  EXPECT_NE(error_of([](auto& l) { l.max_output_bytes = 1; }), "");
  EXPECT_NE(error_of([](auto& l) { l.max_streams = 0; }), "");
  EXPECT_NE(error_of([](auto& l) { l.head_timeout = Duration{0}; }), "");
  EXPECT_NE(error_of([](auto& l) { l.idle_timeout = kForever; }), "");
  EXPECT_NE(error_of([](auto& l) { l.max_age = Duration{-1}; }), "");
  EXPECT_NE(error_of([](auto& l) { l.max_idle_frames_per_second = 0; }), "");
}

}  // namespace
}  // namespace damper::http
