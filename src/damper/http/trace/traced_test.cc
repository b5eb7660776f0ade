#include "damper/http/trace/traced.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "damper/http/server/exchange_testing.h"
#include "damper/http/server/guard.h"
#include "damper/http/server/guard_testing.h"
#include "damper/observe/trace/trace_testing.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

using observe::SeenSpan;
using observe::SpanKind;
using observe::SpanStatus;
using observe::TestTracer;

constexpr std::string_view kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr std::string_view kTrace = "0af7651916cd43dd8448eb211c80319c";

Handler answering(int status) {
  return [status](const ExchangePtr& exchange) {
    Response response;
    response.status = status;
    exchange->respond(std::move(response));
  };
}

std::shared_ptr<FakeExchange> request(FieldList fields = {}, Instant arrived = run::now()) {
  auto exchange = fake_exchange("GET", "/invoices/7?key=secret", std::move(fields), {}, arrived);
  exchange->request().authority = "shop:8080";
  return exchange;
}

TEST(Traced, ATrustedCallersTraceIsContinued) {
  TestTracer test(Percent(0));
  observe::SpanContext inherited;
  std::string state;
  const Handler handler = traced(
      [&](const ExchangePtr& exchange) {
        inherited = exchange->inherited().trace;
        state = exchange->inherited().tracestate;
        answering(200)(exchange);
      },
      test.tracer(), {.route = "/invoices/{id}"});
  const auto exchange =
      request({{"traceparent", kParent}, {"tracestate", "a=1"}, {"user-agent", "test"}});
  handler(exchange);
  EXPECT_EQ(exchange->status(), 200);
  const std::vector<SeenSpan> spans = test.take();
  ASSERT_EQ(spans.size(), 1U);
  const SeenSpan& span = spans[0];
  EXPECT_EQ(span.name, "GET /invoices/{id}");
  EXPECT_EQ(span.kind, SpanKind::server);
  EXPECT_EQ(SeenSpan::hex(span.trace), kTrace);
  EXPECT_EQ(SeenSpan::hex(span.parent), "b7ad6b7169203331");
  EXPECT_EQ(span.state, "a=1");
  EXPECT_EQ(state, "a=1");
  EXPECT_EQ(span.status, SpanStatus::unset);
  EXPECT_EQ(span.attribute("url.path"), "/invoices/7");
  EXPECT_EQ(span.attribute("server.address"), "shop");
  EXPECT_EQ(span.attribute("user_agent.original"), "test");
  EXPECT_EQ(span.attribute("http.response.status_code"), "200");
  observe::TraceparentText text;
  observe::write_traceparent(inherited, text);  // Calls of the handler are below the span.
  EXPECT_EQ(std::string(text.data(), text.size()), span.traceparent() + "-01");
}

TEST(Traced, AStrangersTraceIsALink) {
  TestTracer test(Percent(0));
  const FieldList fields = {{"traceparent", kParent}, {"tracestate", "a=1"}};
  traced(answering(200), test.tracer(), {.trusted = false})(request(fields));
  EXPECT_TRUE(test.take().empty());  // Its flag decides nothing.
  traced(answering(503), test.tracer(), {.trusted = false})(request(fields));
  const std::vector<SeenSpan> spans = test.take();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_NE(SeenSpan::hex(spans[0].trace), kTrace);
  EXPECT_EQ(spans[0].parent, "");
  EXPECT_EQ(spans[0].state, "");
  ASSERT_EQ(spans[0].links.size(), 1U);
  EXPECT_EQ(SeenSpan::hex(spans[0].links[0]), kTrace);
}

TEST(Traced, AFailureIsExportedWithoutASample) {
  TestTracer test(Percent(0));
  traced(answering(404), test.tracer())(request());
  EXPECT_TRUE(test.take().empty());
  traced(answering(502), test.tracer())(request());
  const std::vector<SeenSpan> spans = test.take();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].status, SpanStatus::error);
  EXPECT_EQ(spans[0].attribute("error.type"), "502");
}

TEST(Traced, AHandlerWithoutAnAnswerIsA500) {
  TestTracer test(Percent(0));
  const auto exchange = request();
  traced([](const ExchangePtr&) {}, test.tracer())(exchange);
  std::vector<SeenSpan> spans = test.take();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].attribute("http.response.status_code"), "500");
  EXPECT_THROW(
      traced([](const ExchangePtr&) { throw std::runtime_error("no"); }, test.tracer())(request()),
      std::runtime_error);
  EXPECT_EQ(test.take().size(), 1U);
}

TEST(Traced, AClientThatDisconnectsIsCancelled) {
  TestTracer test(Percent(0));
  ExchangePtr kept;
  bool told = false;
  const auto exchange = request();
  traced(
      [&](const ExchangePtr& inner) {
        kept = inner;
        inner->on_cancel([&] { told = true; });
      },
      test.tracer())(exchange);
  exchange->go_away();
  EXPECT_TRUE(told);
  EXPECT_TRUE(kept->is_over());
  kept.reset();
  const std::vector<SeenSpan> spans = test.take();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].attribute("http.response.status_code"), "");
  EXPECT_EQ(spans[0].attribute("damper.verdict"), "cancelled");
  EXPECT_EQ(spans[0].status, SpanStatus::unset);
}

TEST(Traced, TheRefusalsOfAGuardHaveTheirVerdict) {
  TestTracer test(Percent(0));
  FakeGuardClock clock;
  clock.set(1000);
  constexpr Instant kArrived{std::chrono::milliseconds(1000)};
  Guard guard(guard_options(1), clock);
  observe::SpanContext inherited;
  const Handler handler = traced(guarded(
                                     [&](const ExchangePtr& exchange) {
                                       inherited = exchange->inherited().trace;
                                       answering(200)(exchange);
                                     },
                                     guard),
                                 test.tracer());
  handler(request({{"x-request-deadline", "0"}}, kArrived));
  const std::vector<SeenSpan> spans = test.take();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].attribute("http.response.status_code"), "504");
  EXPECT_EQ(spans[0].attribute("damper.verdict"), "deadline_passed");
  EXPECT_EQ(spans[0].attribute("error.type"), "deadline_passed");
  EXPECT_EQ(spans[0].attribute("url.path"), "/invoices/7");  // Though the guard took the request.
  EXPECT_FALSE(inherited);
  const auto fine = request({{"traceparent", kParent}}, kArrived);
  handler(fine);
  EXPECT_EQ(fine->status(), 200);
  EXPECT_TRUE(inherited);  // The guard passes the context on.
  EXPECT_EQ(test.take().size(), 1U);
}

TEST(Traced, RouteAndTrustMayBeOfEachRequest) {
  TestTracer test(Percent(100));
  const Handler handler =
      traced(answering(200), test.tracer(),
             {.find_route = [](const Request& request) -> std::string_view {
                return request.target.starts_with("/invoices/") ? "/invoices/{id}" : "";
              },
              .is_trusted =
                  [](const Request& request) {
                    return request.fields.find("authorization").has_value();
                  }});
  handler(request({{"traceparent", kParent}, {"authorization", "Bearer 1"}}));
  handler(request({{"traceparent", kParent}}));
  const std::vector<SeenSpan> spans = test.take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].name, "GET /invoices/{id}");
  EXPECT_EQ(spans[0].attribute("http.route"), "/invoices/{id}");
  EXPECT_EQ(SeenSpan::hex(spans[0].trace), kTrace);
  EXPECT_EQ(spans[1].parent, "");
  EXPECT_EQ(spans[1].links.size(), 1U);
}

}  // namespace
}  // namespace damper::http
