#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "damper/observe/trace/trace_testing.h"
#include "damper/webhooks/dispatch/dispatcher_testing.h"

namespace damper::webhooks {
namespace {

using observe::SeenSpan;
using observe::SpanKind;
using observe::SpanStatus;
using observe::TestTracer;

constexpr const char* kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr const char* kUnsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

// "0af7...": the hexadecimal digits of the trace, and of its span.
std::string trace_of(std::string_view traceparent) {
  return std::string(traceparent.substr(3, 32));
}
std::string span_of(std::string_view traceparent) {
  return std::string(traceparent.substr(36, 16));
}

class DispatcherTrace : public testing::Test {
 protected:
  DispatcherOptions options_with(int retries, observe::Tracer* tracer = nullptr) const {
    DispatcherOptions options = test_options();
    options.policy.retries = *schedule::ListedDelays::from(
        std::vector<Duration>(static_cast<std::size_t>(retries), std::chrono::milliseconds(1)),
        Percent(0));
    options.tracer = tracer;
    return options;
  }
  void send(TestDispatcher& test, const std::string& traceparent) {
    const UnixTime now = run::wall_time();
    NewMessage message{.message = {.id = test.ids.next(now),
                                   .application = "default",
                                   .type = "a",
                                   .payload = "{}",
                                   .created = now,
                                   .traceparent = traceparent},
                       .endpoints = {endpoint}};
    test.store->accept(std::move(message), [this, &test, now](const auto& result) {
      EXPECT_TRUE(result);
      loop.post([this, &test, now] { test.dispatcher->on_due({&endpoint, 1}, now); });
    });
  }
  // The values of traceparent that arrive with the attempts of a message: two failures, a success.
  std::vector<std::string> arrived(const std::string& traceparent,
                                   observe::Tracer* tracer = nullptr,
                                   const std::function<void(EndpointConfig&)>& change = {}) {
    std::vector<std::string> seen;
    TestReceiver receiver(loop, [&](const http::ExchangePtr& exchange) {
      seen.emplace_back(exchange->request().fields.find("traceparent").value_or("none"));
      TestReceiver::respond(exchange, seen.size() < 3 ? 503 : 200);
    });
    TestDispatcher test(loop, folder.file("w.db"), options_with(5, tracer));
    endpoint = test.add_endpoint(receiver.url("/secret-path?key=secret"), change);
    send(test, traceparent);
    EXPECT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 1; }));
    EXPECT_EQ(receiver.invalid, 0);
    return seen;
  }

  http::Loop loop;
  TestFolder folder;
  Id endpoint{};
};

TEST_F(DispatcherTrace, EachAttemptIsASpanOfItsOwnInTheTraceOfTheMessage) {
  std::set<std::string> spans = {span_of(kTrace)};
  for (const std::string& seen : arrived(kTrace)) {
    ASSERT_TRUE(observe::parse_traceparent(seen)) << seen;
    EXPECT_EQ(trace_of(seen), trace_of(kTrace));
    EXPECT_TRUE(seen.ends_with("-01"));
    spans.insert(span_of(seen));
  }
  EXPECT_EQ(spans.size(), 4U);
}

TEST_F(DispatcherTrace, AMessageWithoutATraceSendsNone) {
  EXPECT_EQ(arrived(""), (std::vector<std::string>(3, "none")));
}

TEST_F(DispatcherTrace, ATextThatIsNoTraceIsNotSent) {
  EXPECT_EQ(arrived("00-x\r\nX-Other: 1"), (std::vector<std::string>(3, "none")));
}

TEST_F(DispatcherTrace, ATracerExportsASpanOfEachAttemptBelowTheRequestOfTheMessage) {
  TestTracer tracer(Percent(0));
  const std::vector<std::string> seen = arrived(kTrace, &tracer.tracer());
  const std::vector<SeenSpan> spans = tracer.take();
  ASSERT_EQ(spans.size(), 3U);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const SeenSpan& span = spans[i];
    const bool last = i == 2;
    EXPECT_EQ(span.traceparent() + "-01", seen[i]);  // What the receiver got is this span.
    EXPECT_EQ(SeenSpan::hex(span.trace), trace_of(kTrace));
    EXPECT_EQ(SeenSpan::hex(span.parent), span_of(kTrace));
    EXPECT_EQ(span.name, "POST webhook");
    EXPECT_EQ(span.kind, SpanKind::client);
    EXPECT_EQ(span.status, last ? SpanStatus::unset : SpanStatus::error);
    EXPECT_EQ(span.attribute("http.response.status_code"), last ? "200" : "503");
    EXPECT_EQ(span.attribute("http.request.resend_count"), i == 0 ? "" : std::to_string(i));
    EXPECT_EQ(span.attribute("damper.attempt"), std::to_string(i + 1));
    EXPECT_EQ(span.attribute("damper.attempt.kind"), i == 0 ? "first" : "retry");
    EXPECT_EQ(span.attribute("damper.attempt.result"), last ? "won" : "failed");
    EXPECT_EQ(span.attribute("damper.redriven"), "0");
    EXPECT_EQ(span.attribute("damper.verdict"), last ? "success" : "none");
    EXPECT_EQ(span.attribute("damper.outcome"), last ? "success" : "overload");
    EXPECT_EQ(span.attribute("error.type"), last ? "" : "overload");
    EXPECT_EQ(span.attribute("damper.endpoint"), id_text(kEndpointPrefix, endpoint));
    EXPECT_EQ(span.attribute("damper.message").substr(0, 4), "msg_");
    EXPECT_EQ(span.attribute("server.address"), "127.0.0.1");
    for (const auto& [key, value] : span.attributes) {
      EXPECT_EQ(value.find("secret"), std::string::npos) << key;
    }
  }
}

TEST_F(DispatcherTrace, ARedriveIsBelowTheSameRequest) {
  TestTracer tracer(Percent(0));
  int requests = 0;
  TestReceiver receiver(loop, [&](const http::ExchangePtr& exchange) {
    TestReceiver::respond(exchange, ++requests < 2 ? 400 : 200);
  });
  TestDispatcher test(loop, folder.file("w.db"), options_with(0, &tracer.tracer()));
  endpoint = test.add_endpoint(receiver.url());
  send(test, kTrace);
  ASSERT_TRUE(turn_until(loop, [&] { return test.dead(endpoint).size() == 1; }));
  const UnixTime now = run::wall_time();
  test.store->redrive({.endpoint = endpoint}, now, [&](const auto& redriven) {
    EXPECT_EQ(redriven->count, 1);
    loop.post([&] { test.dispatcher->on_due({&endpoint, 1}, now); });
  });
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 1; }));
  const std::vector<SeenSpan> spans = tracer.take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].attribute("damper.verdict"), "attempts_spent");
  EXPECT_EQ(spans[0].attribute("damper.redriven"), "0");
  EXPECT_EQ(spans[1].attribute("damper.verdict"), "success");
  EXPECT_EQ(spans[1].attribute("damper.redriven"), "1");
  for (const SeenSpan& span : spans) {
    EXPECT_EQ(span.attribute("damper.attempt"), "1");
    EXPECT_EQ(span.attribute("damper.attempt.kind"), "first");
    EXPECT_EQ(SeenSpan::hex(span.trace), trace_of(kTrace));
    EXPECT_EQ(SeenSpan::hex(span.parent), span_of(kTrace));
  }
}

TEST_F(DispatcherTrace, ARetryAfterARestartIsBelowTheSameRequest) {
  TestTracer before(Percent(0));
  TestTracer after(Percent(0));
  int requests = 0;
  TestReceiver receiver(loop, [&](const http::ExchangePtr& exchange) {
    TestReceiver::respond(exchange, ++requests < 2 ? 503 : 200);
  });
  DispatcherOptions options = options_with(0, &before.tracer());
  options.policy.retries =
      *schedule::ListedDelays::from(std::vector<Duration>(1, std::chrono::seconds(1)), Percent(0));
  {
    TestDispatcher test(loop, folder.file("w.db"), options);
    endpoint = test.add_endpoint(receiver.url());
    send(test, kTrace);
    ASSERT_TRUE(turn_until(loop, [&] { return test.attempts(endpoint).size() == 1; }));
  }
  options.tracer = &after.tracer();
  TestDispatcher test(loop, folder.file("w.db"), options);
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 1; }));
  const std::vector<SeenSpan> first = before.take();
  const std::vector<SeenSpan> second = after.take();
  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].attribute("damper.attempt"), "2");
  EXPECT_EQ(second[0].attribute("damper.attempt.kind"), "retry");
  EXPECT_EQ(second[0].trace, first[0].trace);
  EXPECT_EQ(second[0].parent, first[0].parent);
  EXPECT_EQ(SeenSpan::hex(second[0].parent), span_of(kTrace));
}

TEST_F(DispatcherTrace, AMessageWithoutATraceBeginsOneWithEachAttempt) {
  TestTracer tracer(Percent(100));
  const std::vector<std::string> seen = arrived("", &tracer.tracer());
  const std::vector<SeenSpan> spans = tracer.take();
  ASSERT_EQ(spans.size(), 3U);
  std::set<std::string> traces;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].parent, "");
    EXPECT_EQ(spans[i].traceparent() + "-01", seen[i]);
    traces.insert(spans[i].trace);
  }
  EXPECT_EQ(traces.size(), 3U);
}

TEST_F(DispatcherTrace, AFailedAttemptIsExportedAlthoughItsTraceIsNotSampled) {
  TestTracer tracer(Percent(100));  // The caller's flag decides.
  for (const std::string& seen : arrived(kUnsampled, &tracer.tracer())) {
    EXPECT_TRUE(seen.ends_with("-00")) << seen;
  }
  EXPECT_EQ(tracer.take().size(), 2U);
}

TEST_F(DispatcherTrace, FailuresAreNotExportedIfTheirRateIsNought) {
  TestTracer tracer(Percent(100), 0);
  (void)arrived(kUnsampled, &tracer.tracer());
  EXPECT_EQ(tracer.take().size(), 0U);
}

TEST_F(DispatcherTrace, AConfiguredTraceparentGoesFirst) {
  TestTracer tracer(Percent(0));
  const auto seen = arrived(kTrace, &tracer.tracer(), [](EndpointConfig& config) {
    config.headers = {{"traceparent", kUnsampled}};
  });
  EXPECT_EQ(seen, (std::vector<std::string>(3, kUnsampled)));
  EXPECT_EQ(tracer.take().size(), 3U);
}

TEST_F(DispatcherTrace, AnAttemptWithoutAnAnswerHasItsReason) {
  TestTracer tracer(Percent(0));
  TestDispatcher test(loop, folder.file("w.db"), options_with(0, &tracer.tracer()));
  endpoint = test.add_endpoint("http://127.0.0.1:1/hook");
  send(test, "");
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().dead == 1; }));
  const std::vector<SeenSpan> spans = tracer.take();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].status, SpanStatus::error);
  EXPECT_EQ(spans[0].attribute("http.response.status_code"), "");
  EXPECT_EQ(spans[0].attribute("error.type"), "unavailable");
  EXPECT_EQ(spans[0].attribute("server.port"), "1");
}

}  // namespace
}  // namespace damper::webhooks
