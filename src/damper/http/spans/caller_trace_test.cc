#include "damper/http/spans/caller_trace.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace damper::http {
namespace {

constexpr std::string_view kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

CallerTrace read(const std::vector<Field>& fields, bool trusted = true) {
  CallerTrace trace;
  trace.read(fields, trusted);
  return trace;
}

TEST(CallerTrace, OfATrustedCallerIsTheParent) {
  const CallerTrace trace =
      read({{"Traceparent", kParent}, {"tracestate", "a=1"}, {"tracestate", "b=2"}});
  EXPECT_EQ(trace.parent, *observe::parse_traceparent(kParent));
  EXPECT_EQ(trace.tracestate, "a=1,b=2");
  EXPECT_FALSE(trace.stranger);
}

TEST(CallerTrace, OfAStrangerIsALinkWithoutState) {
  const CallerTrace trace = read({{"traceparent", kParent}, {"tracestate", "a=1"}}, false);
  EXPECT_EQ(trace.stranger, *observe::parse_traceparent(kParent));
  EXPECT_FALSE(trace.parent);
  EXPECT_EQ(trace.tracestate, "");
}

TEST(CallerTrace, AMalformedOrSecondParentIsNone) {
  for (const std::vector<Field>& fields :
       {std::vector<Field>{{"traceparent", "x"}, {"tracestate", "a=1"}},
        std::vector<Field>{{"traceparent", kParent}, {"traceparent", kParent}},
        std::vector<Field>{{"tracestate", "a=1"}}}) {
    const CallerTrace trace = read(fields);
    EXPECT_FALSE(trace.parent);
    EXPECT_EQ(trace.tracestate, "");
  }
}

TEST(CallerTrace, AMalformedOrLongStateIsNone) {
  EXPECT_EQ(read({{"traceparent", kParent}, {"tracestate", "="}}).tracestate, "");
  const std::string longer = "a=" + std::string(observe::kMostTracestate, 'x');
  const CallerTrace trace = read({{"traceparent", kParent}, {"tracestate", longer}});
  EXPECT_EQ(trace.tracestate, "");
  EXPECT_TRUE(trace.parent);
}

TEST(CallerTrace, ReadReplacesWhatItHad) {
  CallerTrace trace = read({{"traceparent", kParent}, {"tracestate", "a=1"}});
  trace.read({}, true);
  EXPECT_FALSE(trace.parent);
  EXPECT_EQ(trace.tracestate, "");
}

}  // namespace
}  // namespace damper::http
