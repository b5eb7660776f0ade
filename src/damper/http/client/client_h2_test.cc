// Client and Pool over HTTP/2 and TLS.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/http/client/client.h"
#include "damper/http/client/client_testing.h"
#include "damper/http/client/http_result.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TestCertificate& certificate() {
  static const TestCertificate kMade = make_certificate("db.test");
  return kMade;
}

TlsSettings server_settings(bool h2) {
  TlsServerOptions options;
  options.identity.certificate_pem = certificate().certificate_pem;
  options.identity.key_pem = certificate().key_pem;
  options.offer_h2 = h2;
  return *TlsSettings::for_server(options);
}

// Every name is this machine's.
class HereResolver final : public Resolver {
 public:
  void resolve(const std::string& /*host*/, Done done) override { done({"127.0.0.1"}); }
};

Result<Response> fetch(Loop& loop, Client& client, const std::string& url) {
  const Watchdog watchdog(loop);
  std::optional<Result<Response>> got;
  client.fetch(make_request("GET", *parse_url(url)), in(seconds(5)), [&](Result<Response> result) {
    got.emplace(std::move(result));
    loop.stop();
  });
  loop.run();
  return got ? *std::move(got) : Result<Response>(failed(decide::Outcome::cancelled));
}

ClientOptions options(Resolver& resolver) {
  ClientOptions options;
  options.tls.ca_pem = certificate().certificate_pem;
  options.resolver = &resolver;
  return options;
}

TEST(ClientTls, AlpnChoosesTheProtocol) {
  HereResolver resolver;
  for (const bool h2 : {true, false}) {
    Loop loop;
    const TlsSettings settings = server_settings(h2);
    TestServer server(loop, {.tls = &settings},
                      [](auto& exchange) { exchange.respond(200, "hello"); });
    Client client(loop, options(resolver));
    const auto result =
        fetch(loop, client, "https://db.test:" + std::to_string(server.port()) + "/x");
    ASSERT_TRUE(result) << result.error().error.message();
    EXPECT_EQ(result->body, "hello");
    EXPECT_EQ(server.protocol, h2 ? Protocol::h2 : Protocol::h1);
  }
}

// A user that stays as it is.
class Holder final : public PoolUser {
 public:
  bool opened = false;

 private:
  void on_open(Stream& stream) override {
    opened = true;
    stream.send_head({.method = "POST", .scheme = "https", .authority = "db.test", .target = "/"},
                     false);
    set_held(true);
  }
  void on_head(const Head& /*head*/, bool /*end*/) override {}
  void on_data(std::string_view /*bytes*/) override {}
  void on_end(std::span<const Field> /*trailers*/) override {}
  void on_over(CloseReason /*reason*/, bool /*unsent*/) override {}
};

TEST(ClientTls, AHoldEndsAlthoughTheEndpointSpeaksAnotherProtocolByNow) {
  HereResolver resolver;
  Loop loop;
  TlsSettings settings = server_settings(false);
  TestServer server(loop, {.tls = &settings}, [](auto& exchange) { exchange.respond(200); });
  ClientOptions bounded = options(resolver);
  bounded.pool.max_connections = 1;
  Client client(loop, bounded);
  const std::string url = "https://db.test:" + std::to_string(server.port()) + "/";
  Holder holder;
  const Watchdog watchdog(loop);
  client.open(*parse_endpoint(url), holder);
  while (!holder.opened) loop.poll();
  EXPECT_EQ(client.metrics().held, 1U);
  settings = server_settings(true);
  EXPECT_TRUE(fetch(loop, client, url));
  EXPECT_EQ(server.protocol, Protocol::h2);
  holder.cancel();
  for (int turns = 0; turns < 100 && client.metrics().held != 0; ++turns) loop.poll();
  EXPECT_EQ(client.metrics().held, 0U);
}

TEST(ClientTls, ACertificateForAnotherNameIsRefused) {
  HereResolver resolver;
  Loop loop;
  const TlsSettings settings = server_settings(true);
  TestServer server(loop, {.tls = &settings}, [](auto& exchange) { exchange.respond(200); });
  Client client(loop, options(resolver));
  const auto result = fetch(loop, client, "https://evil.test:" + std::to_string(server.port()));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().error, CloseReason::handshake_failed);
  EXPECT_EQ(result.error().report.outcome, decide::Outcome::unavailable);
  EXPECT_EQ(server.requests, 0);
}

TEST(ClientTls, ACertificateThatNobodyVouchesForIsRefused) {
  HereResolver resolver;
  Loop loop;
  const TlsSettings settings = server_settings(true);
  TestServer server(loop, {.tls = &settings}, [](auto& exchange) { exchange.respond(200); });
  Client client(loop, {.resolver = &resolver});  // The system's trust.
  const auto result = fetch(loop, client, "https://db.test:" + std::to_string(server.port()));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().error, CloseReason::handshake_failed);
}

TEST(ClientH2, StreamsShareAConnection) {
  Loop loop;
  TestServer server(loop, {.plain = Protocol::h2}, [](auto& exchange) {
    exchange.respond_in(milliseconds(5), 200, exchange.request.target);
  });
  Client client(loop, {.pool = {.max_connections = 4, .plain = Protocol::h2}});
  const Watchdog watchdog(loop);
  int ended = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string target = "/" + std::to_string(i);
    client.fetch(make_request("GET", *parse_url(server.url() + target)), in(seconds(5)),
                 [&, target](const Result<Response>& result) {
                   ASSERT_TRUE(result);
                   EXPECT_EQ(result->body, target);
                   if (++ended == 50) loop.stop();
                 });
  }
  loop.run();
  EXPECT_EQ(server.connections, 1);
}

TEST(ClientH2, ADeadlineResetsTheStreamAndKeepsTheConnection) {
  Loop loop;
  TestServer server(loop, {.plain = Protocol::h2}, [](auto& exchange) {
    if (exchange.request.target == "/fast") exchange.respond(200);
  });
  Client client(loop, {.pool = {.plain = Protocol::h2}});
  const Watchdog watchdog(loop);
  server.on_exchange_over = [&] {
    if (server.cancelled == 1) loop.stop();
  };
  client.fetch(make_request("GET", *parse_url(server.url() + "/slow")), in(milliseconds(20)),
               [&](const Result<Response>& result) {
                 EXPECT_EQ(result.error().error, CloseReason::head_timeout);
               });
  loop.run();
  EXPECT_EQ(server.cancelled, 1);
  server.on_exchange_over = nullptr;
  EXPECT_TRUE(fetch(loop, client, server.url() + "/fast"));
  EXPECT_EQ(server.connections, 1);
}

TEST(ClientH2, AConnectionThatSwallowsEverythingIsNotUsedForNewRequests) {
  Loop loop;
  TestServer server(loop, {.plain = Protocol::h2}, [](auto& exchange) {
    if (exchange.request.target == "/good") exchange.respond(200);
  });
  ClientOptions options;
  options.pool.plain = Protocol::h2;
  Client client(loop, options);
  const auto get = [&](const std::string& target) {
    return make_request("GET", *parse_url(server.url() + target));
  };
  const auto ask_late = [&](bool with_another) {
    const Watchdog watchdog(loop);
    client.fetch(get("/never"), in(milliseconds(30)), [&](const Result<Response>& result) {
      EXPECT_FALSE(result);
      loop.stop();
    });
    if (with_another) {
      client.fetch(get("/good"), in(seconds(5)),
                   [](const Result<Response>& result) { EXPECT_TRUE(result); });
    }
    loop.run();
  };
  EXPECT_TRUE(fetch(loop, client, server.url() + "/good"));
  ask_late(true);  // Others are answered: it is the request, not the connection.
  EXPECT_TRUE(fetch(loop, client, server.url() + "/good"));
  EXPECT_EQ(server.connections, 1);
  ask_late(false);
  EXPECT_TRUE(fetch(loop, client, server.url() + "/good"));
  EXPECT_EQ(server.connections, 2);
}

}  // namespace
}  // namespace damper::http
