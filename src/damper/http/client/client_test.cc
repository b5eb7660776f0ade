#include "damper/http/client/client.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "damper/http/client/client_testing.h"
#include "damper/http/client/fetch_testing.h"
#include "damper/http/client/http_result.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

using boost::asio::awaitable;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Client, AKeptConnectionIsUsedAgain) {
  Loop loop;
  TestServer server(loop, echo);
  Client client(loop);
  play(loop, [&]() -> awaitable<void> {
    for (int i = 0; i < 3; ++i) {
      auto result = co_await client.fetch(request(server, "/x", "body"), in(seconds(5)));
      EXPECT_TRUE(result);
      EXPECT_EQ(result ? result->body : "", "POST /x body");
    }
  });
  EXPECT_EQ(server.connections, 1);
  EXPECT_EQ(client.metrics().opened, 1U);
  EXPECT_EQ(client.metrics().connections, 1U);
}

TEST(Client, TheRequestArrivesAsItWasSent) {
  Loop loop;
  TestServer server(loop, echo);
  Client client(loop);
  Request sent = request(server, "/a?b=c");
  sent.fields.add("x-mark", "7");
  ASSERT_TRUE(fetch_all(loop, client, {sent})[0].second);
  const Request& got = server.exchanges.front().request;
  EXPECT_EQ(got.target, "/a?b=c");
  EXPECT_EQ(got.authority, server.authority());
  EXPECT_EQ(got.fields.find("x-mark"), "7");
}

TEST(Client, LargeBodiesPassBothWays) {
  Loop loop;
  TestServer server(loop, [](auto& exchange) { exchange.respond(200, exchange.request.body); });
  Client client(loop);
  const std::string body(3'000'000, 'x');
  const auto results = fetch_all(loop, client, {request(server, "/", body)});
  ASSERT_TRUE(results[0].second);
  EXPECT_EQ(results[0].second->body.size(), body.size());
}

TEST(Client, AStatusIsNoFailure) {
  Loop loop;
  TestServer server(loop, [](auto& exchange) { exchange.respond(503, "busy"); });
  Client client(loop);
  const auto results = fetch_all(loop, client, {request(server)});
  ASSERT_TRUE(results[0].second);
  EXPECT_EQ(results[0].second->status, 503);
}

TEST(Client, ARefusedConnectionIsSaid) {
  Loop loop;
  Client client(loop);
  const std::string url = "http://127.0.0.1:" + std::to_string(closed_port(loop));
  const auto results = fetch_all(loop, client, {make_request("GET", *parse_url(url))});
  ASSERT_FALSE(results[0].second);
  EXPECT_EQ(results[0].second.error().error, CloseReason::connect_refused);
  EXPECT_EQ(results[0].second.error().report.outcome, decide::Outcome::unavailable);
  EXPECT_EQ(ClientMetrics::of(client.metrics().failed_dials, CloseReason::connect_refused), 1U);
}

TEST(Client, ADeadlineCancelsOnTheWire) {
  Loop loop;
  TestServer server(loop, [](auto&) {});
  Client client(loop);
  const Watchdog watchdog(loop);
  server.on_exchange_over = [&] { loop.stop(); };
  std::error_code error;
  client.fetch(request(server), in(milliseconds(30)),
               [&](const Result<Response>& result) { error = result.error().error; });
  loop.run();
  EXPECT_EQ(error, CloseReason::head_timeout);
  EXPECT_EQ(server.cancelled, 1);  // Its server has seen it go.
}

TEST(Client, AnEndlessBodyIsBounded) {
  Loop loop;
  TestServer server(loop, [](auto& exchange) { exchange.respond(200, std::string(2000, 'x')); });
  Client client(loop, {.max_response_body = 1999});
  const auto results = fetch_all(loop, client, {request(server)});
  ASSERT_FALSE(results[0].second);
  EXPECT_EQ(results[0].second.error().error, CloseReason::body_too_large);
}

TEST(Client, AServerThatBreaksOffIsAReset) {
  Loop loop;
  TestServer server(loop, [](auto& exchange) { exchange.cancel(); });
  Client client(loop);
  const auto results = fetch_all(loop, client, {request(server)});
  ASSERT_FALSE(results[0].second);
  EXPECT_EQ(results[0].second.error().error, CloseReason::reset);
  EXPECT_EQ(results[0].second.error().report.outcome, decide::Outcome::transient);
}

TEST(Client, WhatIsNoRequestIsRefusedBeforeItIsSent) {
  Loop loop;
  TestServer server(loop, echo);
  Client client(loop);
  Request split = request(server);
  split.target = "/a\r\nx: y";
  Request nowhere = request(server);
  nowhere.authority = "user@host";
  Request other = request(server);
  other.scheme = "ftp";
  for (const auto& [index, result] : fetch_all(loop, client, {split, nowhere, other})) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().report.outcome, decide::Outcome::permanent);
  }
  EXPECT_EQ(server.connections, 0);
}

TEST(Client, PoolsAreBoundedAndAnUnusedOneMakesRoom) {
  Loop loop;
  TestServer server(loop, echo);
  Client client(loop, {.max_endpoints = 1});
  const std::string closed = "http://127.0.0.1:" + std::to_string(closed_port(loop));
  ASSERT_FALSE(fetch_all(loop, client, {make_request("GET", *parse_url(closed))})[0].second);
  EXPECT_TRUE(fetch_all(loop, client, {request(server)})[0].second);  // In the place of the first.
  EXPECT_EQ(client.pools(), 1U);
  EXPECT_EQ(client.metrics().connections, 1U);
  run_for(loop, milliseconds(1));  // The connection becomes idle at the end of a turn.
  TestServer silent(loop, [](auto&) {});
  const auto error_of = [](const auto& results) { return results[0].second.error().error; };
  // An idle connection makes room as well; one that is used does not.
  client.fetch(request(silent), in(milliseconds(200)), [](const Result<Response>&) {});
  run_for(loop, milliseconds(20));
  EXPECT_EQ(silent.requests, 1);
  EXPECT_EQ(error_of(fetch_all(loop, client, {request(server)})), CloseReason::too_many);
  run_for(loop, milliseconds(200));
  EXPECT_TRUE(fetch_all(loop, client, {request(server)})[0].second);
}

TEST(Client, RequestsUnderWayEndWithIt) {
  Loop loop;
  TestServer server(loop, [](auto&) {});
  std::error_code error;
  {
    Client client(loop);
    client.fetch(request(server), kNever,
                 [&](const Result<Response>& result) { error = result.error().error; });
  }
  const Watchdog watchdog(loop);
  loop.post([&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(error, CloseReason::cancelled);
}

TEST(Client, WhoHearsAnAnswerMayDestroyTheClient) {
  Loop loop;
  TestServer server(loop, echo);
  play(loop, [&]() -> awaitable<void> {
    auto client = std::make_unique<Client>(loop);
    auto result = co_await client->fetch(request(server), in(seconds(5)));
    client.reset();
    EXPECT_TRUE(result);
  });
  for (const bool good : {true, false}) {
    const Watchdog watchdog(loop);
    auto client = std::make_unique<Client>(loop);
    Request wanted = request(server);
    if (!good) wanted.authority = "127.0.0.1:" + std::to_string(closed_port(loop));
    client->fetch(wanted, in(seconds(5)), [&](const Result<Response>& result) {
      EXPECT_EQ(static_cast<bool>(result), good);
      client.reset();
      loop.stop();
    });
    loop.run();
    EXPECT_EQ(client, nullptr);
  }
}

TEST(Client, AnExceptionOfTheCallersLeavesByTheLoopAndHarmsNobodyElse) {
  Loop loop;
  TestServer server(loop, echo);
  Client client(loop);
  const Watchdog watchdog(loop);
  client.fetch(request(server), in(seconds(5)), [](const Result<Response>&) { throw 7; });
  int good = 0;
  client.fetch(request(server), in(seconds(5)), [&](const Result<Response>& result) {
    good += result ? 1 : 0;
    loop.stop();
  });
  EXPECT_THROW(loop.run(), int);
  if (good == 0) loop.run();
  EXPECT_EQ(good, 1);
  EXPECT_TRUE(fetch_all(loop, client, {request(server)})[0].second);
  EXPECT_LE(server.connections, 2);  // And none was lost.
}

TEST(Client, AResultThatNobodyHearsAnyMoreIsFreedWithTheLoop) {
  auto kept = std::make_shared<int>(1);
  {
    Loop loop;
    Client client(loop);
    client.fetch(make_request("GET", *parse_url("http://127.0.0.1:1")), kNever,
                 [kept](const Result<Response>&) { ADD_FAILURE(); });
  }
  EXPECT_EQ(kept.use_count(), 1);
}

TEST(ClientOptions, TheDefaultsAreValid) { EXPECT_FALSE(find_error(ClientOptions{})); }

TEST(ClientOptions, BoundsAreSaid) {
  EXPECT_TRUE(find_error(ClientOptions{.max_endpoints = 0}));
  EXPECT_TRUE(find_error(ClientOptions{.max_response_body = (std::size_t{1} << 30) + 1}));
  EXPECT_TRUE(find_error(ClientOptions{.pool = {.max_connections = 0}}));
  EXPECT_TRUE(find_error(ClientOptions{.dialer = {.connect_timeout = Duration{0}}}));
  EXPECT_TRUE(find_error(ClientOptions{.dialer = {.stagger = Duration{0}}}));
}

TEST(ClientOptions, AServiceHasEndpoints) {
  EXPECT_TRUE(find_error(GuardedClientOptions{.endpoints = {}}));
  EXPECT_FALSE(find_error(GuardedClientOptions{.endpoints = {"http://127.0.0.1:9000"}}));
  EXPECT_EQ(find_error(GuardedClientOptions{.endpoints = {"http://a/", "http://a/x"}}),
            "endpoint 'http://a/x': an endpoint has neither path nor query");
  EXPECT_TRUE(find_error(GuardedClientOptions{.endpoints = {"http://a"}, .authority = "x y"}));
  EXPECT_TRUE(find_error(GuardedClientOptions{
      .endpoints = std::vector<std::string>(balance::kMostReplicas + 1, "http://127.0.0.1")}));
}

TEST(ClientMetrics, AreShownByReasonFromTheStart) {
  ClientMetrics metrics;
  observe::Registry registry;
  const auto shown = metrics.show(registry, "billing");
  ClientMetrics::add(metrics.connections);
  ClientMetrics::add(metrics.connections);
  ClientMetrics::take(metrics.connections);
  ClientMetrics::add(metrics.closed, CloseReason::idle_timeout);
  const std::string text = registry.expose();
  const auto has = [&](std::string_view line) { return text.find(line) != std::string::npos; };
  EXPECT_TRUE(has("damper_http_client_connections{client=\"billing\"} 1\n")) << text;
  EXPECT_TRUE(
      has("damper_http_client_closed_total{client=\"billing\",reason=\"idle_timeout\"} 1\n"));
  EXPECT_TRUE(has("damper_http_client_closed_total{client=\"billing\",reason=\"too_many\"} 0\n"));
  EXPECT_TRUE(has(
      "damper_http_client_failed_dials_total{client=\"billing\",reason=\"connect_timeout\"} 0\n"));
}

}  // namespace
}  // namespace damper::http
