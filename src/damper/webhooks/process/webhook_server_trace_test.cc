// The spans of an embedded dispatcher, by a tracer of the program.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/http/client/guarded_client.h"
#include "damper/observe/trace/trace_testing.h"
#include "damper/run/dependency.h"
#include "damper/run/scope.h"
#include "damper/webhooks/dispatch/dispatcher_testing.h"
#include "damper/webhooks/process/webhook_server.h"

namespace damper::webhooks {
namespace {

using observe::SeenSpan;
using observe::SpanKind;
using observe::TestTracer;

constexpr const char* kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr const char* kMessages = "/v1/applications/default/messages";

class WebhookServerTrace : public testing::Test {
 protected:
  void start(observe::Tracer* tracer) {
    ServeOptions options;
    options.listen.port = 0;
    options.store = folder.file("w.db");
    options.dispatcher.guard.allowed = {*http::Network::find("127.0.0.0/8")};
    options.dispatcher.tracer = tracer;
    auto opened = WebhookServer::open(loop, options, [](const std::string& /*line*/) {});
    ASSERT_TRUE(opened) << opened.error();
    server = *std::move(opened);
    bool started = false;
    server->start([&](const std::optional<std::string>& error) {
      EXPECT_FALSE(error) << *error;
      started = true;
    });
    ASSERT_TRUE(turn_until(loop, [&] { return started; }));
    const std::string address = "http://127.0.0.1:" + std::to_string(server->port());
    client.emplace(loop, dependency, http::GuardedClientOptions{.endpoints = {address}});
    call("/v1/applications/default/endpoints", R"({"url":")" + receiver.url() + R"("})", "");
  }
  void call(const std::string& target, const std::string& body, const std::string& traceparent) {
    http::Request request = http::GuardedClient::make("POST", target, body);
    request.fields.add("content-type", "application/json");
    if (!traceparent.empty()) request.fields.add("traceparent", traceparent);
    bool answered = false;
    client->request(std::move(request), {}, [&](const http::HttpResult& result) {
      EXPECT_TRUE(result) << target;
      answered = true;
    });
    ASSERT_TRUE(turn_until(loop, [&] { return answered; }));
  }
  void deliver(std::uint64_t count) {
    ASSERT_TRUE(turn_until(loop, [&] { return server->dispatcher().totals().delivered == count; }));
  }

  http::Loop loop;
  TestFolder folder;
  std::vector<std::string> seen;  // of the receiver
  TestReceiver receiver{
      loop, [this](const http::ExchangePtr& exchange) {
        seen.emplace_back(exchange->request().fields.find("traceparent").value_or("none"));
        TestReceiver::respond(exchange, 200);
      }};
  Dependency dependency{"api", {}};
  std::optional<http::GuardedClient> client;
  std::unique_ptr<WebhookServer> server;
};

// The parts of a span that place it: kind, trace, parent.
void expect_below(const SeenSpan& span, SpanKind kind, std::string_view trace,
                  std::string_view parent) {
  EXPECT_EQ(span.kind, kind);
  EXPECT_EQ(SeenSpan::hex(span.trace), trace);
  EXPECT_EQ(SeenSpan::hex(span.parent), parent);
}

TEST_F(WebhookServerTrace, AnAttemptIsBelowTheRequestThatPostedItsMessage) {
  TestTracer tracer(Percent(0));
  start(&tracer.tracer());
  call(kMessages, R"({"type":"a","payload":{}})", kTrace);
  deliver(1);
  const std::vector<SeenSpan> spans = tracer.take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].name, "POST /v1/applications/{application}/messages");
  expect_below(spans[0], SpanKind::server, "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
  expect_below(spans[1], SpanKind::client, "0af7651916cd43dd8448eb211c80319c",
               SeenSpan::hex(spans[0].span));
  EXPECT_EQ(seen, (std::vector<std::string>{spans[1].traceparent() + "-01"}));
}

TEST_F(WebhookServerTrace, AMessageOfTheProgramIsBelowTheRequestThatItServes) {
  TestTracer tracer(Percent(0));
  start(&tracer.tracer());
  run::RequestContext served;
  served.trace = *observe::parse_traceparent(kTrace);
  {
    const run::Scope scope(served);
    server->send({.application = "default", .type = "a", .payload = "{}"},
                 [](const Expected<Accepted, ApiError>& sent) { EXPECT_TRUE(sent); });
  }
  deliver(1);
  const std::vector<SeenSpan> spans = tracer.take();
  ASSERT_EQ(spans.size(), 1U);
  expect_below(spans[0], SpanKind::client, "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
}

TEST_F(WebhookServerTrace, WithoutATracerTheCallersTraceIsPassedOn) {
  start(nullptr);
  call(kMessages, R"({"type":"a","payload":{}})", kTrace);
  call(kMessages, R"({"type":"a","payload":{}})", "");
  deliver(2);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(seen[0].starts_with("00-0af7651916cd43dd8448eb211c80319c-")) << seen[0];
  EXPECT_EQ(seen[1], "none");
}

}  // namespace
}  // namespace damper::webhooks
