#include "damper/http/spans/call_trace.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/observe/trace/trace_testing.h"

namespace damper::http {
namespace {

using decide::Outcome;
using observe::SeenSpan;
using observe::SpanKind;
using observe::SpanStatus;
using observe::TestTracer;

constexpr Instant kNow{std::chrono::seconds(100)};
constexpr observe::SpanContext kParent{.trace = {1, 2}, .span = 3, .flags = 1};

CallTrace::Ended success() {
  return {.dependency = "billing",
          .method = "GET",
          .target = "/invoices/7?key=secret",
          .verdict = Verdict::success,
          .attempts = 2,
          .status = 200};
}

TEST(CallTrace, HasAnInternalSpanAndAClientsSpanForEachAttempt) {
  TestTracer test(Percent(0));
  CallTrace trace(test.tracer(), kParent, "a=1", kNow);
  trace.on_attempt({.number = 1}, "10.0.0.1:9000");
  const std::string first(trace.traceparent_of(1));
  trace.on_attempt({.number = 2, .hedge = true}, "[::1]:9001");
  const std::string second(trace.traceparent_of(2));
  trace.on_attempt_over(1, Outcome::cancelled, kNow);
  trace.on_attempt_head(2, 200);
  trace.on_attempt_over(2, Outcome::success, kNow);
  trace.end(success(), kNow);

  const std::vector<SeenSpan> spans = test.take();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].name, "GET billing");
  EXPECT_EQ(spans[0].kind, SpanKind::internal);
  EXPECT_EQ(SeenSpan::hex(spans[0].parent), "0000000000000003");
  EXPECT_EQ(spans[0].state, "a=1");
  EXPECT_EQ(spans[0].status, SpanStatus::unset);
  EXPECT_EQ(spans[0].attribute("url.path"), "/invoices/7");
  EXPECT_EQ(spans[0].attribute("damper.verdict"), "success");
  EXPECT_EQ(spans[0].attribute("damper.attempts"), "2");
  for (const SeenSpan& span : {spans[1], spans[2]}) {
    EXPECT_EQ(span.parent, spans[0].span);
    EXPECT_EQ(span.trace, spans[0].trace);
    EXPECT_EQ(span.kind, SpanKind::client);
    EXPECT_EQ(span.state, "a=1");
  }
  EXPECT_EQ(spans[1].attribute("damper.attempt.kind"), "first");
  EXPECT_EQ(spans[1].attribute("damper.attempt.result"), "cancelled");
  EXPECT_EQ(spans[1].attribute("server.address"), "10.0.0.1");
  EXPECT_EQ(spans[2].attribute("damper.attempt.kind"), "hedge");
  EXPECT_EQ(spans[2].attribute("damper.attempt.result"), "won");
  EXPECT_EQ(spans[2].attribute("http.response.status_code"), "200");
  EXPECT_EQ(spans[2].attribute("server.port"), "9001");
  EXPECT_EQ(first, spans[1].traceparent() + "-01");
  EXPECT_EQ(second, spans[2].traceparent() + "-01");
}

TEST(CallTrace, AFailureIsExportedWithoutASample) {
  TestTracer test(Percent(0));
  CallTrace trace(test.tracer(), {}, "", kNow);
  trace.on_attempt({.number = 1}, "a:1");
  trace.on_attempt_over(1, Outcome::transient, kNow);
  CallTrace::Ended ended = success();
  ended.verdict = Verdict::budget_spent;
  trace.end(ended, kNow);
  const std::vector<SeenSpan> spans = test.take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].parent, "");
  EXPECT_EQ(spans[0].status, SpanStatus::error);
  EXPECT_EQ(spans[0].attribute("error.type"), "budget_spent");
  EXPECT_EQ(spans[1].status, SpanStatus::error);
  EXPECT_EQ(spans[1].attribute("error.type"), "transient");
}

TEST(CallTrace, WhatIsNotSampledAndEndsWellIsNotExported) {
  TestTracer test(Percent(0));
  for (const Verdict verdict : {Verdict::success, Verdict::permanent, Verdict::conflict}) {
    CallTrace trace(test.tracer(), {}, "", kNow);
    CallTrace::Ended ended = success();
    ended.verdict = verdict;
    trace.end(ended, kNow);
  }
  EXPECT_TRUE(test.take().empty());
}

TEST(AttemptSpans, KeepsABoundedNumberOfAttemptsAndIsReused) {
  TestTracer test(Percent(100));
  AttemptSpans spans;
  for (int round = 0; round < 2; ++round) {
    const observe::SpanContext context = test.tracer().begin({});
    for (std::uint32_t n = 1; n <= 40; ++n) {
      spans.on_attempt(test.tracer(), {.number = n}, "a:1");
      spans.on_over(n, Outcome::transient, kNow);
    }
    spans.add_to(test.tracer(), {context, "", "GET"}, kNow);
    EXPECT_EQ(test.take().size(), AttemptSpans::kMostAttempts);
    EXPECT_NE(std::string(spans.traceparent_of(1, context)),
              std::string(spans.traceparent_of(40, context)));
    spans.clear();
  }
}

TEST(AttemptSpans, TheFirstOutcomeOfAnAttemptCounts) {
  TestTracer test(Percent(100));
  AttemptSpans spans;
  const observe::SpanContext context = test.tracer().begin({});
  spans.on_attempt(test.tracer(), {.number = 1}, "a:1");
  spans.on_over(1, Outcome::cancelled, kNow);
  spans.on_over(1, Outcome::success, kNow);
  spans.on_over(7, Outcome::success, kNow);  // Not known.
  spans.add_to(test.tracer(), {context, "", "NONSENSE"}, kNow);
  const std::vector<SeenSpan> seen = test.take();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].attribute("damper.attempt.result"), "cancelled");
  EXPECT_EQ(seen[0].name, "_OTHER");
}

}  // namespace
}  // namespace damper::http
