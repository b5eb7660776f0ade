#include "damper/proxy/admin/admin_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "damper/http/server/server_testing.h"
#include "damper/http/server/token_testing.h"
#include "damper/observe/promtool_testing.h"
#include "damper/proxy/admin/admin_server_testing.h"

namespace damper::proxy {
namespace {

using http::RawClient;

std::string ask(std::uint16_t port, const std::string& line, const std::string& fields = "",
                const std::string& body = "") {
  RawClient client(port);
  std::string request = line + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + fields;
  if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  client.send(request + "\r\n" + body);
  return client.read_all();
}
int status(const std::string& answer) {
  return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3));
}
std::string body(const std::string& answer) {
  const std::size_t at = answer.find("\r\n\r\n");
  return at == std::string::npos ? "" : answer.substr(at + 4);
}

TEST(AdminServer, AnswersOnAPortOfItsOwn) {
  const AdminFixture admin;
  EXPECT_EQ(body(ask(admin.port(), "GET /healthz")), "ok\n");
  EXPECT_EQ(status(ask(admin.port(), "GET /readyz")), 200);
  EXPECT_EQ(status(ask(admin.port(), "GET /state")), 200);
  EXPECT_EQ(status(ask(admin.port(), "GET /nope")), 404);
  EXPECT_EQ(status(ask(admin.port(), "PATCH /state")), 405);
}

TEST(AdminServer, ItsMetricsPageIsWhatPromtoolAccepts) {
  const AdminFixture admin;
  const std::string page = body(ask(admin.port(), "GET /metrics"));
  EXPECT_NE(page.find("damper_http_connections{server=\"admin\"} 1\n"), std::string::npos);
  EXPECT_NE(page.find("damper_admin_busy_total 0\n"), std::string::npos);
  EXPECT_EQ(observe::promtool(page), "");
}

TEST(AdminServer, ASwitchIsFlippedOverTheWire) {
  AdminFixture admin;
  const std::string answer =
      ask(admin.port(), "PUT /switches", "Content-Type: application/json\r\n",
          R"({"switch":"retries","off":true,"reason":"storm"})");
  EXPECT_EQ(status(answer), 200) << answer;
  EXPECT_NE(answer.find(R"({"scope":"process","retries":{"off":true,"reason":"storm",)"
                        R"("remaining_seconds":null},)"),
            std::string::npos)
      << answer;
  EXPECT_NE(body(ask(admin.port(), "GET /switches")).find("storm"), std::string::npos);
}

TEST(AdminServer, ATokenIsNeededWhereThereIsOne) {
  const http::TokenFile file("0123456789abcdef");
  AdminFixture admin({.token_file = file.path()});
  EXPECT_EQ(status(ask(admin.port(), "POST /reload")), 401);
  EXPECT_EQ(status(ask(admin.port(), "POST /reload", "Authorization: Bearer 0123456789abcdeX\r\n")),
            401);
  EXPECT_EQ(admin.target.reloads, 0);
  EXPECT_EQ(status(ask(admin.port(), "POST /reload", "Authorization: Bearer 0123456789abcdef\r\n")),
            200);
  EXPECT_EQ(admin.target.reloads, 1);
  EXPECT_EQ(status(ask(admin.port(), "GET /state")), 200);  // To look needs none.
}

TEST(AdminServer, AnotherTokenFileCountsFromTheNextRequestOn) {
  const http::TokenFile file("0123456789abcdef");
  const http::TokenFile next("fedcba9876543210");
  AdminFixture admin({.token_file = file.path()});
  const auto reload = [&](const std::string& token) {
    return status(ask(admin.port(), "POST /reload", "Authorization: Bearer " + token + "\r\n"));
  };
  EXPECT_EQ(reload("0123456789abcdef"), 200);
  EXPECT_EQ(admin.server->set_token_file("/nonexistent/t"),
            "admin: the token file \"/nonexistent/t\" cannot be read");
  EXPECT_EQ(reload("0123456789abcdef"), 200);  // A bad one changes nothing.
  EXPECT_EQ(admin.server->set_token_file(next.path()), std::nullopt);
  EXPECT_EQ(reload("0123456789abcdef"), 401);
  EXPECT_EQ(reload("fedcba9876543210"), 200);
  EXPECT_EQ(admin.server->set_token_file(""), std::nullopt);  // On loopback none is needed.
  EXPECT_EQ(status(ask(admin.port(), "POST /reload")), 200);
}

TEST(AdminServer, OnAnAddressThatIsNotLoopbackNothingIsChangedWithoutAToken) {
  AdminFixture admin({.address = "0.0.0.0"});
  EXPECT_EQ(status(ask(admin.port(), "POST /reload")), 401);
  EXPECT_EQ(status(ask(admin.port(), "PUT /switches", "Content-Type: application/json\r\n",
                       R"({"switch":"retries","off":true,"reason":"storm"})")),
            401);
  EXPECT_EQ(admin.target.reloads, 0);
  EXPECT_EQ(status(ask(admin.port(), "GET /metrics")), 200);
}

TEST(AdminServer, ABodyIsBounded) {  // (1)
  const AdminFixture admin;
  const std::string large(AdminServer::kMostBody + 1, ' ');
  EXPECT_EQ(status(ask(admin.port(), "PUT /switches", "Content-Type: application/json\r\n", large)),
            413);
  const std::string head = "GET /" + std::string(20'000, 'x');
  EXPECT_EQ(status(ask(admin.port(), head)) / 100, 4);
}

TEST(AdminServer, HostileBytesEndTheirConnectionAlone) {
  const AdminFixture admin;
  const std::vector<std::string> attacks = {
      "\r\n\r\n\r\n",
      std::string(1000, '\0'),
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "PUT /switches HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: "
      "chunked\r\n\r\n0\r\n\r\n",
      "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: -1e99\r\nX: \x01\r\n\r\n"};
  for (const std::string& attack : attacks) {
    RawClient client(admin.port());
    client.send(attack);
    client.reset();
  }
  EXPECT_EQ(status(ask(admin.port(), "GET /healthz")), 200);
}

TEST(AdminServer, AStuckDataPlaneKeepsNobodyFromTheSwitch) {
  AdminFixture admin;
  std::promise<void> stuck;
  std::promise<void> go_on;
  std::shared_future<void> free = go_on.get_future().share();
  std::atomic<bool> first = true;
  admin.target.before_state = [&] {  // Every look is stuck, not only the first.
    if (first.exchange(false)) stuck.set_value();
    free.wait();
  };
  RawClient looker(admin.port());
  looker.send("GET /state HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
  stuck.get_future().wait();
  EXPECT_EQ(status(ask(admin.port(), "GET /healthz")), 200);
  EXPECT_EQ(status(ask(admin.port(), "PUT /switches", "Content-Type: application/json\r\n",
                       R"({"switch":"retries","off":true,"reason":"storm"})")),
            200);
  EXPECT_NE(body(ask(admin.port(), "GET /switches")).find("storm"), std::string::npos);
  EXPECT_EQ(status(ask(admin.port(), "POST /reload")), 200);
  // Those that wait for a look are bounded; what is too much is told at once.
  std::vector<std::unique_ptr<RawClient>> many;
  for (std::size_t i = 0; i < AdminServer::kMostWaiting; ++i) {
    many.push_back(std::make_unique<RawClient>(admin.port()));
    many.back()->send("GET /policy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  }
  int refused = 0;
  for (int i = 0; i < 3; ++i) {
    RawClient one(admin.port());
    one.send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    one.read_to("ok\n");  // By now what came before has been read.
  }
  {
    // Nobody is answered while the executor is stuck, but who is one too many.
    RawClient one(admin.port());
    one.send("GET /policy HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    refused += status(one.read_all()) == 503 ? 1 : 0;
  }
  go_on.set_value();
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(status(looker.read_all()), 200);
}

TEST(AdminServer, WhatCannotBeStartedSaysWhy) {
  FakeAdminTarget target;
  EventFeed feed;
  const auto error = [&](const AdminOptions& options) {
    const auto server = AdminServer::start(options, target, feed);
    return server ? "" : server.error();
  };
  const AdminFixture other;
  EXPECT_EQ(error({.port = other.port()}).find("admin: cannot listen on 127.0.0.1:"), 0U);
  EXPECT_EQ(error({.address = "localhost", .port = 0}),
            "admin: address is \"localhost\"; it must be an IP address");
  EXPECT_EQ(error({.port = 0, .token_file = "/nonexistent/t"}),
            "admin: the token file \"/nonexistent/t\" cannot be read");
  EXPECT_NE(error({.port = 0, .heartbeat = Duration{0}}), "");
  EXPECT_NE(error({.port = 0, .most_subscribers = 0}), "");
}

}  // namespace
}  // namespace damper::proxy
