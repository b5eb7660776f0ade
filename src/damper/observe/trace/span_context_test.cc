#include "damper/observe/trace/span_context.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::observe {
namespace {

constexpr std::string_view kText = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

std::string text_of(const SpanContext& context) {
  TraceparentText text{};
  write_traceparent(context, text);
  return {text.data(), text.size()};
}

TEST(SpanContext, IsReadAndWritten) {
  const auto context = parse_traceparent(kText);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace.high, 0x0af7651916cd43ddU);
  EXPECT_EQ(context->trace.low, 0x8448eb211c80319cU);
  EXPECT_EQ(context->span, 0xb7ad6b7169203331U);
  EXPECT_TRUE(context->is_sampled());
  EXPECT_EQ(text_of(*context), kText);
  TraceIdText id{};
  write_trace_id(context->trace, id);
  EXPECT_EQ(std::string_view(id.data(), id.size()), kText.substr(3, 32));
}

TEST(SpanContext, MalformedIsNone) {
  const std::string good(kText);
  EXPECT_FALSE(parse_traceparent(""));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_traceparent(std::string_view(good).substr(0, size))) << size;
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char c : {'g', 'A', ' ', '\0', '_'}) {
      std::string bad = good;
      bad[i] = c;
      EXPECT_FALSE(parse_traceparent(bad)) << i << c;
    }
  }
  EXPECT_FALSE(parse_traceparent("ff" + good.substr(2)));
  EXPECT_FALSE(parse_traceparent(good + "-x"));  // Version 00 has no more parts.
  EXPECT_FALSE(parse_traceparent("00-00000000000000000000000000000000-b7ad6b7169203331-01"));
  EXPECT_FALSE(parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"));
}

TEST(SpanContext, ALaterVersionIsReadAsTheFirst) {
  const std::string later = "cc" + std::string(kText.substr(2));
  ASSERT_TRUE(parse_traceparent(later));
  EXPECT_EQ(text_of(*parse_traceparent(later)), kText);
  EXPECT_TRUE(parse_traceparent(later + "-what-the-future-brings"));
  EXPECT_FALSE(parse_traceparent(later + ".x"));
}

TEST(SpanContext, FlagsThatAreNotKnownAreDropped) {
  const auto context = parse_traceparent(std::string(kText.substr(0, 53)) + "fe");
  ASSERT_TRUE(context);
  EXPECT_EQ(context->flags, SpanContext::kRandom);
  EXPECT_FALSE(context->is_sampled());
}

TEST(SpanContext, TracestateHasTheLimitsOfTheSpecification) {
  EXPECT_TRUE(is_valid_tracestate("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"));
  EXPECT_TRUE(is_valid_tracestate("a=1, ,\tb@x=2 ,"));
  EXPECT_TRUE(is_valid_tracestate("0a_-*/=x y"));
  for (const char* const bad :
       {"", " ", "a", "a=", "=1", "A=1", "a=1,a=2", "a=1=2", "a=\x01", "a=\xc3", "a@=1", "a@b@c=1",
        "a@1=1", "_a=1", "a@abcdefghijklmno=1"}) {
    EXPECT_FALSE(is_valid_tracestate(bad)) << bad;
  }
  std::string members;
  for (int i = 0; i < 32; ++i) members += "k" + std::to_string(i) + "=v,";
  EXPECT_TRUE(is_valid_tracestate(members));
  EXPECT_FALSE(is_valid_tracestate(members + "k=v"));
  EXPECT_TRUE(is_valid_tracestate("a=" + std::string(256, 'x')));
  EXPECT_FALSE(is_valid_tracestate("a=" + std::string(257, 'x')));
  EXPECT_FALSE(is_valid_tracestate("a=" + std::string(250, 'x') + ",b=" + std::string(257, 'x')));
  EXPECT_FALSE(is_valid_tracestate("a=1" + std::string(510, ' ')));
}

}  // namespace
}  // namespace damper::observe
