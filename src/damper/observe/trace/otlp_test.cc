#include "damper/observe/trace/otlp.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::observe {
namespace {

Span small() {
  Span span;
  span.context = {.trace = {1, 2}, .span = 3, .flags = 1};
  span.name = "GET";
  span.kind = SpanKind::server;
  span.start_ns = 5;
  span.end_ns = 6;
  return span;
}

std::string encoded(const Span& span) {
  std::string out;
  append_span(out, span);
  return out;
}

// The whole is checked by a real collector's decoder in tests/proxy/trace_test.py.
TEST(Otlp, ASpanIsAFieldOfItsScope) {
  const std::string bytes = encoded(small());
  using namespace std::string_literals;
  EXPECT_EQ(bytes,
            "\x12\x3b"
            "\x0a\x10\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2"
            "\x12\x08\0\0\0\0\0\0\0\3"
            "\x2a\x03GET"
            "\x30\x02"
            "\x39\5\0\0\0\0\0\0\0"
            "\x41\6\0\0\0\0\0\0\0"
            "\x85\x01\x01\x01\0\0"s);
}

TEST(Otlp, TextsAreAsciiAndBounded) {
  Span span = small();
  span.add("a", std::string_view("x\r\n\xff\0y", 6));
  EXPECT_NE(encoded(span).find("x????y"), std::string::npos);
  Span longer = small();
  const std::string text(1000, 'z');
  longer.add("a", text);
  const std::string bytes = encoded(longer);
  EXPECT_NE(bytes.find(std::string(256, 'z')), std::string::npos);
  EXPECT_EQ(bytes.find(std::string(257, 'z')), std::string::npos);
}

TEST(Otlp, AttributesOverTheBoundAreCounted) {
  Span span = small();
  for (int i = 0; i < 25; ++i) span.add_number("n", i);
  EXPECT_EQ(span.attributes().size(), Span::kMostAttributes);
  EXPECT_EQ(span.dropped_attributes(), 5U);
  for (int i = 0; i < 5; ++i) span.add_event({.name = "e", .at_ns = 1});
  for (int i = 0; i < 4; ++i) span.add_link(span.context);
  EXPECT_EQ(span.dropped_events(), 1U);
  EXPECT_EQ(span.dropped_links(), 2U);
}

TEST(Otlp, APrefixEndsBetweenSpans) {
  std::string three;
  for (int i = 0; i < 3; ++i) append_span(three, small());
  const std::size_t one = three.size() / 3;
  EXPECT_EQ(prefix_of(three, 2).bytes, 2 * one);
  EXPECT_EQ(prefix_of(three, 2).spans, 2U);
  EXPECT_EQ(prefix_of(three, 9).bytes, 3 * one);
  EXPECT_EQ(prefix_of(three, 9).spans, 3U);
  EXPECT_EQ(prefix_of("", 9).spans, 0U);
}

TEST(Otlp, RejectedSpansAreRead) {
  using namespace std::string_literals;
  EXPECT_EQ(read_rejected_spans(""), 0U);
  EXPECT_EQ(read_rejected_spans("\x0a\x00"s), 0U);
  EXPECT_EQ(read_rejected_spans("\x0a\x02\x08\x05"s), 5U);
  EXPECT_EQ(read_rejected_spans("\x0a\x06\x08\x96\x01\x12\x01x"s), 150U);
  EXPECT_EQ(read_rejected_spans("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s),
            0U);  // -1
  // Fields that it does not know.
  EXPECT_EQ(read_rejected_spans("\x11\0\0\0\0\0\0\0\0\x1d\0\0\0\0\x0a\x02\x08\x05"s), 5U);
}

TEST(Otlp, AMalformedResponseIsNone) {
  using namespace std::string_literals;
  for (const std::string& bad :
       {"\x0a"s, "\x0a\x05\x08"s, "\x0a\x01\x08"s, "\xff"s, "\x07"s, "\x00\x00"s, "\x11\0"s,
        "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "<html>"s,
        "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"s}) {
    EXPECT_EQ(read_rejected_spans(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace damper::observe
