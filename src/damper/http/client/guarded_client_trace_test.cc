// The spans of a GuardedClient's calls, against servers on real sockets.
#include <gtest/gtest.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "damper/http/client/client_testing.h"
#include "damper/http/client/guarded_client.h"
#include "damper/observe/trace/trace_testing.h"
#include "damper/run/clock.h"
#include "damper/run/scope.h"

namespace damper::http {
namespace {

using observe::SeenSpan;
using observe::SpanKind;
using observe::SpanStatus;
using observe::TestTracer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Exchange = TestServer::Exchange;

constexpr std::string_view kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr std::string_view kTrace = "0af7651916cd43dd8448eb211c80319c";

engine::Policy quick_policy() {
  engine::Policy policy;
  policy.call.backoff.base = milliseconds(1);
  policy.call.backoff.cap = milliseconds(2);
  return policy;
}

std::string sent_field(const Exchange& exchange, std::string_view name) {
  return std::string(exchange.request.fields.find(name).value_or("-"));
}

// Servers whose answers a test decides, and a client of them with a tracer.
class GuardedClientTrace : public testing::Test {
 protected:
  void start(Percent sampling, const TestServer::Handler& answer, engine::Policy policy,
             int servers = 1) {
    test.emplace(sampling);
    GuardedClientOptions options;
    options.tracer = &test->tracer();
    for (int i = 0; i < servers; ++i) {
      options.endpoints.push_back(backends.emplace_back(loop, answer).url());
    }
    dependency.emplace("billing", policy);
    client.emplace(loop, *dependency, options);
  }
  Verdict call(Request request, const RequestOptions& options = {}) {
    const Watchdog watchdog(loop);
    Verdict verdict = Verdict::none;
    client->request(std::move(request), options, [&](const HttpResult& result) {
      verdict = result.verdict();
      loop.stop();
    });
    loop.run();
    return verdict;
  }
  [[nodiscard]] const Exchange& last() const { return backends.front().exchanges.back(); }

  Loop loop;
  std::list<TestServer> backends;
  std::optional<TestTracer> test;
  std::optional<Dependency> dependency;
  std::optional<GuardedClient> client;
};

TEST_F(GuardedClientTrace, ARetriedCallHasASpanForEachAttempt) {
  int failures = 1;
  start(
      Percent(0), [&](Exchange& exchange) { exchange.respond(failures-- > 0 ? 503 : 200); },
      quick_policy());
  EXPECT_EQ(
      call(GuardedClient::make("GET", "/a?b"), {.parent = *observe::parse_traceparent(kParent)}),
      Verdict::success);
  const std::vector<SeenSpan> spans = test->take();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].name, "GET billing");
  EXPECT_EQ(SeenSpan::hex(spans[0].trace), kTrace);
  EXPECT_EQ(SeenSpan::hex(spans[0].parent), "b7ad6b7169203331");
  EXPECT_EQ(spans[0].attribute("damper.attempts"), "2");
  EXPECT_EQ(spans[0].attribute("http.response.status_code"), "200");
  EXPECT_EQ(spans[1].attribute("damper.attempt.result"), "failed");
  EXPECT_EQ(spans[1].attribute("http.response.status_code"), "503");
  EXPECT_EQ(spans[2].attribute("damper.attempt.kind"), "retry");
  EXPECT_EQ(spans[2].attribute("damper.attempt.result"), "won");
  EXPECT_EQ(spans[2].attribute("server.port"), std::to_string(backends.front().port()));
  int attempt = 1;
  for (const Exchange& exchange : backends.front().exchanges) {
    const SeenSpan& span = spans[static_cast<std::size_t>(attempt++)];
    EXPECT_EQ(sent_field(exchange, "traceparent"), span.traceparent() + "-01");
    EXPECT_EQ(span.parent, spans[0].span);
  }
}

TEST_F(GuardedClientTrace, AHedgeThatWonAndItsLoserAreBothThere) {
  bool stalls = false;
  engine::Policy hedging = quick_policy();
  hedging.call.hedge = {
      .max_hedges = 1, .floor = milliseconds(5), .min_samples = 10, .ratio = Percent(100)};
  hedging.budget.percent = Percent(100);
  start(
      Percent(100),
      [&](Exchange& exchange) {
        if (!stalls) return exchange.respond(200);
        stalls = false;  // The first attempt has no answer, the hedge has.
      },
      hedging, 2);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call(GuardedClient::make("GET", "/")), Verdict::success);
  run_for(loop, milliseconds(300));  // The live quantile is looked up anew.
  (void)test->take();
  stalls = true;
  EXPECT_EQ(call(GuardedClient::make("GET", "/")), Verdict::success);
  const std::vector<SeenSpan> spans = test->take();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[1].attribute("damper.attempt.kind"), "first");
  EXPECT_EQ(spans[1].attribute("damper.attempt.result"), "cancelled");
  EXPECT_EQ(spans[2].attribute("damper.attempt.kind"), "hedge");
  EXPECT_EQ(spans[2].attribute("damper.attempt.result"), "won");
  EXPECT_NE(spans[1].attribute("server.port"), spans[2].attribute("server.port"));
  EXPECT_EQ(spans[1].parent, spans[0].span);
  EXPECT_EQ(spans[2].parent, spans[0].span);
}

TEST_F(GuardedClientTrace, AFailureIsExportedWithoutASampleAndASuccessIsNot) {
  int status = 200;
  engine::Policy policy = quick_policy();
  policy.call.max_attempts = 1;
  start(
      Percent(0), [&](Exchange& exchange) { exchange.respond(status); }, policy);
  EXPECT_EQ(call(GuardedClient::make("GET", "/")), Verdict::success);
  EXPECT_TRUE(sent_field(last(), "traceparent").ends_with("-00"));
  status = 404;
  EXPECT_EQ(call(GuardedClient::make("GET", "/")), Verdict::permanent);
  EXPECT_TRUE(test->take().empty());
  status = 503;
  EXPECT_EQ(call(GuardedClient::make("GET", "/")), Verdict::attempts_spent);
  const std::vector<SeenSpan> spans = test->take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].status, SpanStatus::error);
  EXPECT_EQ(spans[0].attribute("error.type"), "attempts_spent");
  EXPECT_EQ(spans[0].attribute("http.response.status_code"), "503");
}

TEST_F(GuardedClientTrace, TheRequestThatACallIsMadeForIsAboveIt) {
  start(
      Percent(0), [](Exchange& exchange) { exchange.respond(200); }, quick_policy());
  run::RequestContext served;
  served.trace = *observe::parse_traceparent(kParent);
  served.tracestate = "a=1";
  {
    const run::Scope scope(served);
    EXPECT_EQ(call(GuardedClient::make("GET", "/")), Verdict::success);
  }
  EXPECT_EQ(sent_field(last(), "tracestate"), "a=1");
  std::vector<SeenSpan> spans = test->take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(SeenSpan::hex(spans[0].parent), "b7ad6b7169203331");
  // Its own field comes first.
  Request own = GuardedClient::make("GET", "/");
  own.fields.add("traceparent", "00-00000000000000000000000000000001-0000000000000002-01");
  own.fields.add("tracestate", "b=2");
  {
    const run::Scope scope(served);
    EXPECT_EQ(call(std::move(own)), Verdict::success);
  }
  EXPECT_EQ(sent_field(last(), "tracestate"), "b=2");
  spans = test->take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(SeenSpan::hex(spans[0].parent), "0000000000000002");
  EXPECT_EQ(sent_field(last(), "traceparent"), spans[1].traceparent() + "-01");
  // One of the options comes before all.
  {
    const run::Scope scope(served);
    EXPECT_EQ(
        call(GuardedClient::make("GET", "/"), {.parent = {.trace = {3, 4}, .span = 5, .flags = 1}}),
        Verdict::success);
  }
  EXPECT_EQ(sent_field(last(), "tracestate"), "-");
  spans = test->take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(SeenSpan::hex(spans[0].parent), "0000000000000005");
}

TEST_F(GuardedClientTrace, ACallThatIsCancelledEndsItsSpans) {
  start(
      Percent(100), [](Exchange&) {}, quick_policy());
  bool ended = false;
  {
    const Watchdog watchdog(loop);
    client->request(GuardedClient::make("GET", "/"), {}, [&](const HttpResult& result) {
      EXPECT_EQ(result.verdict(), Verdict::cancelled);
      ended = true;
      loop.stop();
    });
    while (backends.front().requests == 0) loop.poll();
    client.reset();
    loop.run();
  }
  EXPECT_TRUE(ended);
  const std::vector<SeenSpan> spans = test->take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].attribute("damper.verdict"), "cancelled");
  EXPECT_EQ(spans[0].status, SpanStatus::unset);
  EXPECT_EQ(spans[1].attribute("damper.attempt.result"), "cancelled");
}

TEST(GuardedClientWithoutATracer, PassesTheFieldsOfARequest) {
  Loop loop;
  TestServer server(loop, [](Exchange& exchange) { exchange.respond(200); });
  Dependency dependency("billing", quick_policy());
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  Request request = GuardedClient::make("GET", "/");
  request.fields.add("traceparent", kParent);
  const Watchdog watchdog(loop);
  client.request(std::move(request), {}, [&](const HttpResult&) { loop.stop(); });
  loop.run();
  ASSERT_EQ(server.requests, 1);
  EXPECT_EQ(sent_field(server.exchanges.back(), "traceparent"), kParent);
}

}  // namespace
}  // namespace damper::http
