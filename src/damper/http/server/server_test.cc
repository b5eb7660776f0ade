#include "damper/http/server/server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "damper/http/net/descriptors_testing.h"
#include "damper/http/net/net_testing.h"
#include "damper/http/server/server_testing.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Handler hello() {
  return answer_with(
      [](const Request& request) { return Response{.body = "hello " + request.target + "!"}; });
}

std::string get(std::string_view target) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

// On a free port of 127.0.0.1.
int listening_socket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::listen(fd, 16), 0);
  return fd;
}

TEST(Server, AConnectionServesManyRequests) {
  TestServer server(hello());
  RawClient client(server.port);
  for (int i = 0; i < 10; ++i) {
    client.send(get("/" + std::to_string(i)));
    const std::string answer = client.read_to("!");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK"));
    EXPECT_TRUE(answer.ends_with("hello /" + std::to_string(i) + "!"));
  }
  client.close();
  EXPECT_TRUE(server.has_closed(CloseReason::finished));
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
  TestServer server(hello());
  RawClient client(server.port);
  std::string all;
  for (int i = 0; i < 100; ++i) all += get("/" + std::to_string(i));
  client.send(all);
  const std::string answers = client.read_to("hello /99!");
  std::size_t at = 0;
  for (int i = 0; i < 100; ++i) {
    at = answers.find("hello /" + std::to_string(i) + "!", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(Server, ARequestMayComeByteByByte) {
  TestServer server(hello());
  RawClient client(server.port);
  for (const char byte : get("/slow")) client.send({&byte, 1});
  EXPECT_NE(client.read_to("hello /slow!").find("200"), std::string::npos);
}

TEST(Server, OneConnectionTooManyIsClosedAtOnceAndCounted) {
  TestServer server(hello(), {.max_connections = 2});
  RawClient first(server.port);
  RawClient second(server.port);
  first.send(get("/1"));
  EXPECT_NE(first.read_to("/1!").find("200"), std::string::npos);
  second.send(get("/2"));
  EXPECT_NE(second.read_to("/2!").find("200"), std::string::npos);
  for (std::uint64_t i = 1; i <= 50; ++i) {
    RawClient flood(server.port);
    EXPECT_EQ(flood.read_all(), "");
    ASSERT_TRUE(server.has_closed(CloseReason::too_many, i));
  }
  first.send(get("/3"));
  EXPECT_NE(first.read_to("/3!").find("200"), std::string::npos);
  first.close();
  EXPECT_TRUE(server.has_closed(CloseReason::finished));
  RawClient again(server.port);
  again.send(get("/4"));
  EXPECT_NE(again.read_to("/4!").find("200"), std::string::npos);
}

TEST(Server, AClientHasAtMostItsConnectionsOnAllLoops) {
  const auto clients = std::make_shared<ClientConnections>(2);
  TestServer one(hello(), {.clients = clients});
  TestServer two(hello(), {.clients = clients});
  RawClient first(one.port);
  RawClient second(two.port);
  first.send(get("/1"));
  EXPECT_NE(first.read_to("/1!").find("200"), std::string::npos);
  second.send(get("/2"));
  EXPECT_NE(second.read_to("/2!").find("200"), std::string::npos);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    EXPECT_EQ(RawClient(two.port).read_all(), "");
    ASSERT_TRUE(two.has_closed(CloseReason::too_many_of_client, i));
  }
  EXPECT_EQ(clients->clients(), 1U);
  first.close();
  EXPECT_TRUE(one.has_closed(CloseReason::finished));
  RawClient again(two.port);
  again.send(get("/3"));
  EXPECT_NE(again.read_to("/3!").find("200"), std::string::npos);
  two.run([&] { two.server->use({}); });  // Without a limit from now on.
  RawClient third(two.port);
  third.send(get("/4"));
  EXPECT_NE(third.read_to("/4!").find("200"), std::string::npos);
  two.run([&] { two.server.reset(); });
  EXPECT_EQ(clients->clients(), 0U);
}

TEST(Server, TheReserveOfDescriptorsIsForTheServersThatUseIt) {
  TestServer data(hello());
  TestServer admin(hello(), {.uses_reserve = true});
  const auto is_served = [](RawClient& client) {
    client.send(get("/1"));
    return client.read_to("/1!").find("200") != std::string::npos;
  };
  RawClient first(data.port);
  RawClient second(admin.port);
  EXPECT_TRUE(is_served(first) && is_served(second));  // Both loops run.
  const DescriptorsLeft left(9);
  reserve_descriptors();  // 8 of them: one is left, which the client takes.
  RawClient third(data.port);
  EXPECT_EQ(third.read_all(), "");
  EXPECT_TRUE(data.has_closed(CloseReason::out_of_descriptors));
  RawClient fourth(admin.port);
  EXPECT_TRUE(is_served(fourth) && is_served(first));
}

TEST(Server, ServersOfSeveralLoopsMayShareTheirPlaces) {
  const auto quota = std::make_shared<admit::Quota>(2);
  TestServer one(hello(), {.quota = quota});
  TestServer two(hello(), {.quota = quota});
  RawClient first(one.port);
  RawClient second(one.port);
  first.send(get("/1"));
  EXPECT_NE(first.read_to("/1!").find("200"), std::string::npos);
  second.send(get("/2"));
  EXPECT_NE(second.read_to("/2!").find("200"), std::string::npos);
  EXPECT_EQ(RawClient(two.port).read_all(), "");
  EXPECT_TRUE(two.has_closed(CloseReason::too_many));
  one.run([&] { one.server->use({.max_connections = 1}); });  // Does not change the quota.
  quota->reload(3);
  RawClient third(two.port);
  third.send(get("/3"));
  EXPECT_NE(third.read_to("/3!").find("200"), std::string::npos);
  first.close();
  EXPECT_TRUE(one.has_closed(CloseReason::finished));
  RawClient again(two.port);
  again.send(get("/4"));
  EXPECT_NE(again.read_to("/4!").find("200"), std::string::npos);
  EXPECT_EQ(quota->taken(), 3U);
  two.run([&] { two.server.reset(); });
  EXPECT_EQ(quota->taken(), 1U);
}

TEST(Server, WithoutFileDescriptorsItWaitsAndGoesOnLater) {
  // To look at an object's type ubsan makes a pipe, and calls it a lie when there is none.
  if (DAMPER_INSTRUMENTED != 0) GTEST_SKIP() << "ubsan itself needs descriptors";
  TestServer server(hello());
  RawClient client(server.port);
  client.send(get("/1"));
  client.read_to("/1!");
  RawClient waiting(server.port);
  std::vector<int> taken;
  waiting.send(get("/2"));
  waiting.read_to("/2!");
  // All descriptors are taken, but for one that the next client needs.
  const int one = ::dup(0);
  for (int fd = ::dup(0); fd >= 0 && taken.size() < 200000; fd = ::dup(0)) taken.push_back(fd);
  const bool exhausted = taken.size() < 200000;
  ::close(one);
  RawClient late(server.port);
  late.send(get("/3"));
  client.send(get("/4"));
  EXPECT_NE(client.read_to("/4!").find("200"), std::string::npos);
  for (const int fd : taken) ::close(fd);
  if (!exhausted) GTEST_SKIP() << "this process may open too many files";
  EXPECT_NE(late.read_to("/3!").find("200"), std::string::npos);
}

TEST(Server, ADrainAnswersWhatIsUnderWayAndClosesTheRest) {
  std::promise<ExchangePtr> kept;
  TestServer server([&](ExchangePtr exchange) { kept.set_value(std::move(exchange)); });
  RawClient idle(server.port);
  RawClient busy(server.port);
  busy.send(get("/"));
  ExchangePtr exchange = kept.get_future().get();
  std::promise<void> drained;
  server.run([&] { server.server->drain(seconds(60), [&] { drained.set_value(); }); });
  EXPECT_EQ(idle.read_all(), "");
  server.run([&] { exchange->respond({.body = "last."}); });
  exchange.reset();
  const std::string answer = busy.read_all();
  EXPECT_NE(answer.find("last."), std::string::npos);
  EXPECT_NE(answer.find("onnection: close"), std::string::npos) << answer;
  busy.close();
  EXPECT_EQ(drained.get_future().wait_for(seconds(5)), std::future_status::ready);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_NE(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(fd);
}

TEST(Server, ADrainServesThoseWhoHaveConnectedAlready) {
  TestServer server(hello());
  std::vector<std::unique_ptr<RawClient>> clients;
  std::promise<void> drained;
  server.run([&] {  // The loop is here: they wait in the socket's queue.
    for (int i = 0; i < 5; ++i) clients.push_back(std::make_unique<RawClient>(server.port));
    clients[0]->send("GET /early HTTP/1.1\r\n");
    server.server->drain(seconds(60), [&] { drained.set_value(); });
  });
  clients[0]->send("Host: x\r\n\r\n");
  EXPECT_NE(clients[0]->read_to("/early!").find("200"), std::string::npos);
  clients[0]->close();
  for (std::size_t i = 1; i < clients.size(); ++i) {
    clients[i]->send(get("/late"));
    const std::string answer = clients[i]->read_all();  // To the end: it is closed.
    EXPECT_NE(answer.find("/late!"), std::string::npos);
    EXPECT_NE(answer.find("onnection: close"), std::string::npos);
  }
  EXPECT_EQ(drained.get_future().wait_for(seconds(5)), std::future_status::ready);
}

TEST(Server, NewConnectionsHaveTheNewOptions) {
  TestServer server(hello(), {.max_connections = 2});
  RawClient first(server.port);
  first.send(get("/1"));
  EXPECT_NE(first.read_to("/1!").find("200"), std::string::npos);
  server.run([&] { server.server->use({.max_connections = 1}); });
  RawClient second(server.port);
  EXPECT_EQ(second.read_all(), "");
  EXPECT_TRUE(server.has_closed(CloseReason::too_many));
  first.send(get("/2"));
  EXPECT_NE(first.read_to("/2!").find("200"), std::string::npos);
}

// The address of an adopted socket need not be an IP address: of a Unix socket it is a path.
TEST(Server, NewOptionsAreCheckedWithTheServersOwnSocket) {
  TestServer server(hello(), {.address = "unix:@adopted", .adopt_fd = listening_socket()});
  server.run([&] { server.server->use({.address = "unix:@adopted", .max_connections = 1}); });
  RawClient one(server.port);
  one.send(get("/1"));
  EXPECT_TRUE(one.read_to("hello /1!").ends_with("hello /1!"));
  RawClient two(server.port);
  EXPECT_TRUE(server.has_closed(CloseReason::too_many));
}

TEST(Server, ADrainEndsWithinItsTimeWhoeverHangs) {
  std::promise<void> begun;
  std::atomic<bool> gave_up = false;
  ExchangePtr kept;
  TestServer server([&](ExchangePtr exchange) {
    exchange->on_cancel([&] { gave_up = true; });
    kept = std::move(exchange);
    begun.set_value();
  });
  RawClient busy(server.port);
  busy.send(get("/"));
  begun.get_future().wait();
  std::promise<void> drained;
  server.run([&] { server.server->drain(milliseconds(20), [&] { drained.set_value(); }); });
  EXPECT_EQ(drained.get_future().wait_for(seconds(5)), std::future_status::ready);
  EXPECT_TRUE(gave_up);
  EXPECT_EQ(busy.read_all(), "");
  server.run([&] { kept.reset(); });
  EXPECT_TRUE(server.has_closed(CloseReason::draining));
}

TEST(Server, TwoLoopsShareAPortAndASocketCanBeTakenOver) {
  ServerOptions options{.reuse_port = true};
  TestServer first(hello(), options);
  options.port = first.port;
  TestServer second(hello(), options);
  EXPECT_EQ(second.port, first.port);

  TestServer adopted(hello(), {.adopt_fd = listening_socket()});
  RawClient client(adopted.port);
  client.send(get("/adopted"));
  EXPECT_NE(client.read_to("/adopted!").find("200"), std::string::npos);
}

TEST(Server, SaysWhyItCannotListen) {
  TestServer taken(hello());
  Loop loop;
  HandlerService service(loop, hello());
  Server server(loop, {.port = taken.port}, service);
  const auto error = server.listen();
  ASSERT_TRUE(error);
  EXPECT_NE(error->find("cannot listen on 127.0.0.1:" + std::to_string(taken.port)),
            std::string::npos);
}

TEST(ServerOptions, OutOfBoundsIsSaid) {
  EXPECT_FALSE(find_error(ServerOptions{}));
  EXPECT_EQ(find_error(ServerOptions{.max_connections = 0}),
            "max_connections is 0; it must be from 1 to 1000000");
  EXPECT_EQ(find_error(ServerOptions{.backlog = 0}), "backlog is 0; it must be from 1 to 65535");
  EXPECT_EQ(find_error(ServerOptions{.address = "localhost"}),
            "address is \"localhost\"; it must be an IP address");
}

}  // namespace
}  // namespace damper::http
