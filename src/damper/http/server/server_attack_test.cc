// What hostile peers do to a server, over real sockets: each is bounded, and closed with a reason
// that the metrics show.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "damper/http/net/net_testing.h"
#include "damper/http/server/server.h"
#include "damper/http/server/server_testing.h"
#include "damper/http/tls/tls_settings.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Handler hello() {
  return answer_with([](const Request&) { return Response{.body = "hello!"}; });
}

// Writes down what it gets: "handshake_failed 127.0.0.1 0; ".
struct RefusedSink final : RequestSink {
  StreamUser& on_request(Stream& /*stream*/) override { std::abort(); }
  void on_refused(const RefusedRequest& one) override {
    EXPECT_EQ(one.peer.protocol, "");
    EXPECT_LE(one.began, one.now);
    refused.append(name(one.reason)).append(" ").append(one.peer.address).append(" ");
    refused.append(std::to_string(one.status)).append("; ");
  }
  std::string refused;
};

ServerOptions with(const ConnectionLimits& limits) {
  ServerOptions options;
  options.limits = limits;
  return options;
}

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// A frame of HTTP/2 without a payload, on stream 0.
std::string empty_frame(char type, char flags) { return {0, 0, 0, type, flags, 0, 0, 0, 0}; }

std::string ping() { return std::string("\0\0\x08\x06\0\0\0\0\0", 9) + "12345678"; }

// Sends a piece again and again, until the server closes or it was sent so often.
std::size_t send_often(RawClient& client, const std::string& piece, int times) {
  std::size_t sent = 0;
  for (int i = 0; i < times; ++i) {
    const std::size_t count = client.send(piece);
    sent += count;
    if (count < piece.size()) break;
  }
  return sent;
}

TEST(ServerUnderAttack, AHeadThatComesByteByByteHasItsTime) {
  TestServer server(hello(), with({.head_timeout = milliseconds(100)}));
  const Instant start = run::now();
  RawClient client(server.port);
  client.send("GET / HTTP/1.1\r\nHost: x\r\nX: ");
  // One byte every 5 ms, for as long as the server listens: the loop's turn is the clock.
  while (server.metrics.closed(CloseReason::head_timeout) == 0 &&
         run::now() < add(start, seconds(5))) {
    client.send("x");
    const Instant next = add(run::now(), milliseconds(5));
    while (run::now() < next) server.run([] {});
  }
  EXPECT_TRUE(server.has_closed(CloseReason::head_timeout));
  EXPECT_GE(run::now(), add(start, milliseconds(100)));
}

TEST(ServerUnderAttack, APrefaceThatNeverEndsHasItsTime) {
  TestServer server(hello(), with({.head_timeout = milliseconds(50)}));
  RawClient client(server.port);
  client.send(kPreface.substr(0, 10));
  EXPECT_EQ(client.read_all(), "");
  EXPECT_TRUE(server.has_closed(CloseReason::head_timeout));
}

TEST(ServerUnderAttack, WhoSaysNothingHasItsTime) {
  TestServer server(hello(), with({.idle_timeout = milliseconds(50)}));
  RawClient silent(server.port);
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_TRUE(server.has_closed(CloseReason::idle_timeout));
  RawClient idle(server.port);
  idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(idle.read_all().ends_with("hello!"));
  EXPECT_TRUE(server.has_closed(CloseReason::idle_timeout, 2));
}

TEST(ServerUnderAttack, AnEndlessBodyIsCutOff) {
  TestServer server(hello(), with({.max_body_bytes = 100'000}), {.max_request_body = 1 << 30});
  RawClient client(server.port);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "1000\r\n" + std::string(4096, 'x') + "\r\n";
  EXPECT_LT(send_often(client, chunk, 100'000), std::size_t{64} << 20);
  EXPECT_TRUE(server.has_closed(CloseReason::body_too_large));
}

TEST(ServerUnderAttack, AnEndlessBodyThatWasAnsweredAlreadyIsCutOff) {
  TestServer server(hello(), {}, {.max_request_body = 1000});
  RawClient client(server.port);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "1000\r\n" + std::string(4096, 'x') + "\r\n";
  EXPECT_LT(send_often(client, chunk, 100'000), std::size_t{64} << 20);
  EXPECT_TRUE(server.has_closed(CloseReason::finished));
}

TEST(ServerUnderAttack, ABodyThatStandsStillHasItsTime) {
  TestServer server(hello(), with({.body_timeout = milliseconds(50)}));
  RawClient client(server.port);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc");
  EXPECT_EQ(client.read_all().find("200"), std::string::npos);
  EXPECT_TRUE(server.has_closed(CloseReason::body_timeout));
}

TEST(ServerUnderAttack, AHeaderOfTenMegabytesIsRefused) {
  TestServer server(hello());
  RawClient client(server.port);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n");
  const std::string piece = "X-Large: " + std::string(8000, 'x') + "\r\n";
  EXPECT_LT(send_often(client, piece, 1250), std::size_t{10'000'000});
  EXPECT_TRUE(server.has_closed(CloseReason::head_too_large));
}

TEST(ServerUnderAttack, WhoSendsTooLargeAHeadReadsWhyHeIsRefused) {
  TestServer server(hello());
  RawClient client(server.port);
  client.send("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(100'000, 'x'));
  EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 431 "));
  client.close();
  EXPECT_TRUE(server.has_closed(CloseReason::head_too_large));
}

TEST(ServerUnderAttack, WhatIsNoHttpIsRefused) {
  TestServer server(hello());
  RawClient client(server.port);
  client.send("\x16\x03\x01 this is no HTTP\r\n\r\n");
  EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 400 "));
  client.close();
  EXPECT_TRUE(server.has_closed(CloseReason::malformed));
}

TEST(ServerUnderAttack, AMillionEmptyFramesAreAFlood) {
  const std::string settings = empty_frame(4, 0);
  for (const std::string& frame : {ping(), settings}) {
    TestServer server(hello());
    RawClient client(server.port);
    client.send(std::string(kPreface) + settings);
    std::string thousand;
    for (int i = 0; i < 1000; ++i) thousand += frame;
    EXPECT_LT(send_often(client, thousand, 1000), 1'000'000 * frame.size());
    EXPECT_TRUE(server.has_closed(CloseReason::flood));
  }
}

TEST(ServerUnderAttack, WhoNeverReadsTheAnswerIsCutOff) {
  ServerOptions options = with({.write_timeout = milliseconds(100)});
  TestServer server(
      answer_with([](const Request&) { return Response{.body = std::string(32 << 20, 'x')}; }),
      options);
  RawClient client(server.port);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(server.has_closed(CloseReason::write_timeout));
}

TEST(ServerUnderAttack, AHandshakeThatIsNoneOrNeverEndsIsCutOff) {
  const TestCertificate certificate = make_certificate("x");
  ServerOptions options = with({.head_timeout = milliseconds(100)});
  TlsServerOptions tls;
  tls.identity.certificate_pem = certificate.certificate_pem;
  tls.identity.key_pem = certificate.key_pem;
  options.tls = *TlsSettings::for_server(tls);
  RefusedSink* sink = nullptr;
  TestServer server(
      [&](Loop&, ServerMetrics&) {
        sink = new RefusedSink;
        return TestServer::own(sink);
      },
      options);
  RawClient plain(server.port);
  plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(plain.read_all().find("hello!"), std::string::npos);
  EXPECT_TRUE(server.has_closed(CloseReason::handshake_failed));
  RawClient silent(server.port);
  silent.send("\x16\x03\x01\x02");
  silent.read_all();
  EXPECT_TRUE(server.has_closed(CloseReason::handshake_failed, 2));
  RawClient(server.port).close();  // As a load balancer that looks whether the port is open.
  EXPECT_TRUE(server.has_closed(CloseReason::finished));
  server.run([&] {
    EXPECT_EQ(sink->refused,
              "handshake_failed 127.0.0.1 0; handshake_failed 127.0.0.1 0; ");  // Invariant (4).
  });
}

TEST(ServerUnderAttack, AResetInTheMiddleIsAReset) {
  std::promise<void> begun;
  std::promise<void> gone;
  ExchangePtr kept;
  TestServer server([&](ExchangePtr exchange) {
    exchange->on_cancel([&] { gone.set_value(); });
    kept = std::move(exchange);
    begun.set_value();
  });
  RawClient client(server.port);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  begun.get_future().wait();
  client.reset();
  EXPECT_EQ(gone.get_future().wait_for(seconds(5)), std::future_status::ready);
  server.run([&] { kept.reset(); });
  EXPECT_TRUE(server.has_closed(CloseReason::reset));
}

}  // namespace
}  // namespace damper::http
