#include "damper/proxy/request/request_trace.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace damper::proxy {
namespace {

using decide::Outcome;
using http::Field;

constexpr std::string_view kTrace = "0af7651916cd43dd8448eb211c80319c";
constexpr std::string_view kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr Instant kNow{std::chrono::seconds(100)};

class Silent final : public observe::SpanLane::Reader {
  void on_lane_filling() noexcept override {}
};

// A tracer whose spans are counted.
struct Traced {
  explicit Traced(Percent sampling, std::int32_t failures_per_second = 100)
      : lane(std::make_shared<observe::SpanLane>(100, reader)),
        tracer(lane, {.sampling = sampling, .failures_per_second = failures_per_second}, 1) {}
  Silent reader;
  std::shared_ptr<observe::SpanLane> lane;
  observe::Tracer tracer;
};

AccessRecord good() {
  return {.method = "GET", .target = "/", .status = 200, .verdict = Verdict::success};
}

TEST(RequestTrace, WithoutATracerItDoesNothing) {
  RequestTrace trace;
  const std::vector<Field> fields = {{"traceparent", kParent}};
  trace.begin(nullptr, fields, true);
  trace.on_attempt({.number = 1}, "a:1");
  EXPECT_EQ(trace.traceparent_of(1), "");
  trace.end(good(), kNow);
}

TEST(RequestTrace, EachAttemptHasItsOwnSpan) {
  Traced traced(Percent(0));
  RequestTrace trace;
  const std::vector<Field> fields = {
      {"Traceparent", kParent}, {"tracestate", "a=1"}, {"tracestate", "b=2"}};
  trace.begin(&traced.tracer, fields, true);
  trace.on_attempt({.number = 1}, "a:1");
  const std::string first(trace.traceparent_of(1));
  trace.on_attempt({.number = 2, .hedge = true}, "b:1");
  EXPECT_EQ(first.substr(0, 36), kParent.substr(0, 36));
  EXPECT_EQ(trace.traceparent_of(1), first);
  EXPECT_NE(trace.traceparent_of(2), first);
  EXPECT_EQ(trace.tracestate(), "a=1,b=2");
  trace.on_attempt_over(1, Outcome::cancelled, kNow);
  trace.end(good(), kNow);
  EXPECT_EQ(traced.lane->size(), 3U);
}

TEST(RequestTrace, AStrangersFlagAndIdDecideNothing) {
  Traced traced(Percent(0));
  RequestTrace trace;
  const std::vector<Field> fields = {{"traceparent", kParent}, {"tracestate", "a=1"}};
  trace.begin(&traced.tracer, fields, false);
  EXPECT_FALSE(trace.context().is_sampled());
  EXPECT_EQ(std::string(trace.traceparent_of(1)).find(kTrace), std::string::npos);
  EXPECT_EQ(trace.tracestate(), "");
  trace.end(good(), kNow);
  EXPECT_EQ(traced.lane->size(), 0U);
}

TEST(RequestTrace, AFailureIsExportedWithoutASample) {
  Traced traced(Percent(0));
  RequestTrace trace;
  trace.begin(&traced.tracer, {}, true);
  AccessRecord record = good();
  record.status = 503;
  record.verdict = Verdict::budget_spent;
  trace.end(record, kNow);
  EXPECT_EQ(traced.lane->size(), 1U);
}

// What a stranger can cause at will.
TEST(RequestTrace, NoStrangerSwitchesOffTheExportOfFailures) {
  using http::CloseReason;
  const std::vector<AccessRecord> strangers = {
      {.status = 404},                               // no route
      {.status = 429, .verdict = Verdict::limited},  // over a rate
      {.status = 403},                               // an upgrade that is not allowed
      {.status = 200, .grpc_status = 12},            // no route, of gRPC
      {.status = 504, .verdict = Verdict::deadline_passed},
      {.status = 408, .verdict = Verdict::deadline_passed, .attempts = 1},
      {.verdict = Verdict::cancelled, .ended = CloseReason::reset, .attempts = 1},
      {.status = 200, .verdict = Verdict::success, .ended = CloseReason::reset, .attempts = 1}};
  const std::vector<AccessRecord> ours = {
      {.status = 503, .verdict = Verdict::budget_spent, .attempts = 1},
      {.status = 503, .verdict = Verdict::shed},
      {.status = 200, .grpc_status = 14, .verdict = Verdict::breaker_open},
      {.status = 500, .verdict = Verdict::permanent, .ended = CloseReason::reset, .attempts = 1},
      {.status = 429, .verdict = Verdict::attempts_spent, .attempts = 2},
      {.status = 200, .verdict = Verdict::success, .ended = CloseReason::cancelled, .attempts = 1}};
  Traced traced(Percent(0), 10);
  RequestTrace trace;
  const auto end = [&](const AccessRecord& record) {
    const std::size_t before = traced.lane->size();
    trace.begin(&traced.tracer, {}, true);
    trace.end(record, kNow);
    return traced.lane->size() - before;
  };
  std::size_t exported = 0;
  for (std::size_t i = 0; i < 200; ++i) exported += end(strangers[i % strangers.size()]);
  EXPECT_EQ(exported, 1U);
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(end(ours[i]), 1U) << i;
}

TEST(RequestTrace, KeepsABoundedNumberOfAttemptsAndIsReused) {
  Traced traced(Percent(100));
  RequestTrace trace;
  for (int round = 0; round < 2; ++round) {
    trace.begin(&traced.tracer, {}, true);
    for (std::uint32_t n = 1; n <= 40; ++n) {
      trace.on_attempt({.number = n}, "a:1");
      trace.on_attempt_head(n, 503);
      trace.on_attempt_over(n, Outcome::transient, kNow);
    }
    trace.end(good(), kNow);
    std::string bytes;
    EXPECT_EQ(traced.lane->take(bytes), 1 + http::AttemptSpans::kMostAttempts);
    trace.reset();
    EXPECT_FALSE(trace.is_on());
  }
}

}  // namespace
}  // namespace damper::proxy
