#include "damper/webhooks/model/trace_context.h"

#include <gtest/gtest.h>

namespace damper::webhooks {
namespace {

constexpr const char* kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

std::string read(std::string_view text) {
  const auto found = TraceContext::find(text);
  return found ? found->text() : "none";
}

TEST(TraceContext, IsReadAndWrittenTheSame) { EXPECT_EQ(read(kTrace), kTrace); }

TEST(TraceContext, WhatIsNotValidIsNoTrace) {
  for (const char* text : {"", "00", "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
                           "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
                           "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333\r\n-1"}) {
    EXPECT_EQ(read(text), "none") << text;
  }
}

TEST(TraceContext, ALaterVersionIsReadAsThisOne) {
  EXPECT_EQ(read("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes"), kTrace);
}

TEST(TraceContext, AChildHasTheTraceAndAnotherSpan) {
  const TraceContext context = *TraceContext::find(kTrace);
  EXPECT_EQ(context.child(0xab).text(), "00-0af7651916cd43dd8448eb211c80319c-00000000000000ab-01");
  EXPECT_EQ(context.child(0).span_id, "0000000000000001");
}

}  // namespace
}  // namespace damper::webhooks
