// Pool, PoolUser and RoundTrip, as a Client uses them, over real sockets.
#include "damper/http/client/pool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/http/client/client.h"
#include "damper/http/client/client_testing.h"
#include "damper/http/client/fetch_testing.h"
#include "damper/http/client/http_result.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Pool, RequestsOverItsBoundsWaitInOrderOrAreRefused) {
  Loop loop;
  TestServer server(loop, [](auto& exchange) { exchange.respond_in(milliseconds(5), 200); });
  Client client(loop, {.pool = {.max_connections = 1, .max_waiting = 2}});
  const auto results = fetch_all(
      loop, client,
      {request(server, "/0"), request(server, "/1"), request(server, "/2"), request(server, "/3")});
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0].first, 3);  // One on the new connection, two in line: this one was too many.
  ASSERT_FALSE(results[0].second);
  EXPECT_EQ(results[0].second.error().error, CloseReason::too_many);
  EXPECT_EQ(results[0].second.error().report.outcome, decide::Outcome::overload);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i) + 1].first, i);
  EXPECT_EQ(server.connections, 1);
  EXPECT_EQ(client.metrics().refused, 1U);
  EXPECT_EQ(client.metrics().waiting, 0U);
}

TEST(Pool, OneWhoWaitsCanGiveUpAndTheLineGoesOn) {
  Loop loop;
  TestServer server(loop, [](auto& exchange) { exchange.respond_in(milliseconds(20), 200); });
  Client client(loop, {.pool = {.max_connections = 1}});
  const Watchdog watchdog(loop);
  std::string order;
  const auto send = [&](char name, Instant deadline) {
    client.fetch(request(server), deadline, [&, name](const Result<Response>& result) {
      order += name;
      order += result ? '+' : '-';
      if (order.size() == 6) loop.stop();
    });
  };
  send('a', in(seconds(5)));
  send('b', in(milliseconds(5)));
  send('c', in(seconds(5)));
  loop.run();
  EXPECT_EQ(order, "b-a+c+");
  EXPECT_EQ(server.requests, 2);
}

TEST(Pool, AConnectionThatItsServerClosedIsNotUsedAgain) {
  Loop loop;
  TestServer server(loop, echo);
  Client client(loop);
  EXPECT_TRUE(fetch_all(loop, client, {request(server)})[0].second);
  server.close_all();
  run_for(loop, milliseconds(1));
  EXPECT_EQ(client.metrics().connections, 0U);
  EXPECT_TRUE(fetch_all(loop, client, {request(server)})[0].second);
  EXPECT_EQ(server.connections, 2);
}

TEST(RoundTrip, AStreamThatEndedBeforeAByteLeftIsReplacedUnheard) {
  Loop loop;
  TestServer server(loop, {.resets = true}, echo);
  Client client(loop);
  EXPECT_TRUE(fetch_all(loop, client, {request(server)})[0].second);
  // The kept connection is reset, and the client has not seen it when it takes it for a POST.
  server.close_all();
  EXPECT_TRUE(fetch_all(loop, client, {request(server, "/", "order")})[0].second);
  EXPECT_EQ(server.connections, 2);
  EXPECT_EQ(server.requests, 2);
}

TEST(Pool, IdleAndOldConnectionsAreClosed) {
  Loop loop;
  TestServer server(loop, echo);
  Client client(loop, {.pool = {.limits = {.idle_timeout = milliseconds(20)}}});
  EXPECT_TRUE(fetch_all(loop, client, {request(server)})[0].second);
  run_for(loop, milliseconds(60));
  EXPECT_EQ(client.metrics().connections, 0U);
  EXPECT_EQ(ClientMetrics::of(client.metrics().closed, CloseReason::idle_timeout), 1U);
  EXPECT_EQ(client.metrics().idle, 0U);
}

}  // namespace
}  // namespace damper::http
