#include "damper/http/server/handler_service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include "damper/http/server/server_testing.h"

namespace damper::http {
namespace {

Response echo(const Request& request) {
  Response response;
  response.body = request.method + " " + request.target + " " + request.body + ".";
  return response;
}

std::string status_of(const std::string& answer) {
  return answer.size() < 12 ? "(nothing)" : answer.substr(9, 3);
}

TEST(HandlerService, AWholeRequestIsAnsweredWithOneAnswer) {
  TestServer server(answer_with(echo));
  RawClient client(server.port);
  client.send("POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel");
  client.send("lo");
  const std::string answer = client.read_to("hello.");
  EXPECT_EQ(status_of(answer), "200");
  EXPECT_TRUE(answer.ends_with("\r\n\r\nPOST /a?b hello.")) << answer;
}

TEST(HandlerService, TheAnswerToHeadHasNoBody) {
  TestServer server(answer_with(echo));
  RawClient client(server.port);
  client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.read_to("\r\n\r\n").find("HEAD / ."), std::string::npos);
  EXPECT_EQ(client.read_to("GET /2 .").substr(0, 15), "HTTP/1.1 200 OK");
}

// A tunnel would have its end be taken for that of a second request.
TEST(HandlerService, ATunnelIsRefusedAndNoHandlerHearsOfIt) {
  std::atomic<int> calls = 0;
  TestServer server(answer_with([&](const Request&) {
    ++calls;
    return Response{};
  }));
  RawClient client(server.port);
  client.send("CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n");
  EXPECT_EQ(status_of(client.read_to("\r\n\r\n")), "501");
  EXPECT_EQ(calls, 0);
}

TEST(HandlerService, ABodyOverTheBoundIsRefusedWhateverItsHeadSaid) {
  TestServer server(answer_with(echo), {}, {.max_request_body = 10});
  RawClient said(server.port);
  said.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n");
  EXPECT_EQ(status_of(said.read_to("\n\r\n")), "413");
  RawClient silent(server.port);
  silent.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  silent.send("5\r\n12345\r\n6\r\n123456\r\n0\r\n\r\n");
  EXPECT_EQ(status_of(silent.read_to("\n\r\n")), "413");
  RawClient fits(server.port);
  fits.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789");
  EXPECT_EQ(status_of(fits.read_to("9.")), "200");
}

TEST(HandlerService, AllBodiesTogetherAreBounded) {
  std::promise<ExchangePtr> kept;
  TestServer server([&](ExchangePtr exchange) { kept.set_value(std::move(exchange)); }, {},
                    {.max_gathered_bytes = 10});
  RawClient first(server.port);
  first.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n123456");
  ExchangePtr exchange = kept.get_future().get();
  kept = {};
  RawClient said(server.port);
  said.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
  const std::string refusal = said.read_to("\r\n\r\n");
  EXPECT_EQ(status_of(refusal), "503");
  EXPECT_NE(refusal.find("retry-after: 1"), std::string::npos) << refusal;
  RawClient silent(server.port);
  silent.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  silent.send("4\r\n1234\r\n1\r\n1\r\n0\r\n\r\n");
  EXPECT_EQ(status_of(silent.read_to("\r\n\r\n")), "503");
  const std::string shown = server.registry.expose();
  EXPECT_NE(shown.find("damper_http_gathered_bytes{server=\"test\"} 6\n"), std::string::npos);
  EXPECT_NE(shown.find("damper_http_no_room_total{server=\"test\"} 2\n"), std::string::npos);
  server.run([&] {
    const Request moved = std::move(exchange->request());  // As a guard does.
    exchange->respond({.status = 200, .body = "done."});
    exchange.reset();
  });
  EXPECT_EQ(status_of(first.read_to("done.")), "200");
  first.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n1234567890");  // Room again.
  exchange = kept.get_future().get();
  server.run([&] { exchange.reset(); });
  EXPECT_EQ(status_of(first.read_to("no answer\n")), "500");
}

TEST(HandlerService, AHandlerThatThrowsOrForgetsOrLiesIsA500) {
  std::atomic<int> calls = 0;
  TestServer server([&](const ExchangePtr& exchange) {
    ++calls;
    if (exchange->request().target == "/throw") throw std::runtime_error("no");
    if (exchange->request().target == "/lie") exchange->respond({.status = 42});
  });
  RawClient client(server.port);
  for (const std::string target : {"/throw", "/forget", "/lie"}) {
    client.send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string head = client.read_to("\r\n\r\n");
    EXPECT_EQ(status_of(head), "500") << target;
    client.read_to("\n");
  }
  EXPECT_EQ(calls, 3);
  TestServer throwing(
      answer_with([](const Request&) -> Response { throw std::runtime_error("no"); }));
  RawClient other(throwing.port);
  other.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(status_of(other.read_to("\r\n\r\n")), "500");
}

TEST(HandlerService, ALateAnswerIsSentAndASecondOneDropped) {
  std::promise<ExchangePtr> kept;
  TestServer server([&](ExchangePtr exchange) { kept.set_value(std::move(exchange)); });
  RawClient client(server.port);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ExchangePtr exchange = kept.get_future().get();
  server.run([&] {
    EXPECT_FALSE(exchange->is_over());
    exchange->on_cancel([] { ADD_FAILURE() << "it was answered"; });
    exchange->respond({.status = 202, .body = "late."});
    EXPECT_TRUE(exchange->is_over());
    exchange->respond({.status = 200, .body = "twice."});
    exchange.reset();
  });
  EXPECT_EQ(status_of(client.read_to("late.")), "202");
}

TEST(HandlerService, AnyThreadMayLetGoOfAnExchange) {
  std::promise<ExchangePtr> kept;
  TestServer server([&](ExchangePtr exchange) { kept.set_value(std::move(exchange)); });
  RawClient client(server.port);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ExchangePtr exchange = kept.get_future().get();
  exchange.reset();
  EXPECT_EQ(status_of(client.read_to("no answer\n")), "500");
}

TEST(HandlerService, ACallerWhoGoesAwayIsToldToAllWhoWork) {
  std::promise<void> begun;
  std::promise<void> gone;
  ExchangePtr kept;
  std::string trace;
  TestServer server([&](ExchangePtr exchange) {
    exchange->on_cancel([&] { trace += "first "; });
    exchange->on_cancel([&] {
      trace += "second ";
      gone.set_value();
    });
    kept = std::move(exchange);
    begun.set_value();
  });
  RawClient client(server.port);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  begun.get_future().wait();
  client.close();
  ASSERT_EQ(gone.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
  server.run([&] {
    EXPECT_EQ(trace, "first second ");
    EXPECT_TRUE(kept->is_over());
    kept->respond({.status = 200});
    kept->on_cancel([&] { trace += "third"; });
    EXPECT_EQ(trace, "first second third");
    kept.reset();
  });
  EXPECT_NE(server.registry.expose().find(
                R"(damper_http_requests_total{server="test",status="cancelled"} 1)"),
            std::string::npos);
}

TEST(HandlerService, AnAnswerLargerThanAllBuffersIsSentAsTheCallerReads) {
  const std::string large(10 << 20, 'x');
  TestServer server(answer_with([&](const Request&) {
    return Response{.status = 200, .body = large + "the end", .trailers = {{"after", "wards"}}};
  }));
  RawClient client(server.port);
  client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTE: trailers\r\n\r\n");
  const std::string answer = client.read_all();
  EXPECT_GT(answer.size(), large.size());
  EXPECT_NE(answer.find("the end"), std::string::npos);
}

TEST(HandlerService, AnExchangeMayOutliveServerAndService) {
  observe::Registry registry;
  ServerMetrics metrics(registry, "test");
  Loop loop;
  ExchangePtr kept;
  bool gave_up = false;
  auto service = std::make_unique<HandlerService>(
      loop,
      [&](ExchangePtr exchange) {
        exchange->on_cancel([&] { gave_up = true; });
        kept = std::move(exchange);
        loop.stop();
      },
      HandlerServiceOptions{}, &metrics);
  auto server = std::make_unique<Server>(loop, ServerOptions{}, *service, &metrics);
  ASSERT_FALSE(server->listen());
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  loop.run();
  ASSERT_TRUE(kept);
  server.reset();
  service.reset();
  EXPECT_TRUE(gave_up);
  kept->respond({});
  EXPECT_EQ(kept->request().method, "GET");
  kept.reset();
}

TEST(HandlerService, TheMetricsAreAHandlerToo) {
  observe::Registry registry;
  TestServer server(make_metrics_handler(registry));
  registry.counter("apples_total", "Apples.").add(3);
  RawClient client(server.port);
  client.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = client.read_to("apples_total 3\n");
  EXPECT_NE(answer.find("text/plain; version=0.0.4"), std::string::npos);
  client.send("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  EXPECT_NE(client.read_to("alone").find("405"), std::string::npos);
}

}  // namespace
}  // namespace damper::http
