#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "damper/http/server/server.h"
#include "damper/http/server/server_testing.h"

namespace damper::http {
namespace {

const std::string kHeader = "PROXY TCP4 203.0.113.9 10.0.0.1 56324 443\r\n";
const std::string kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

// Answers with the client's address.
class Whois final : public RequestSink {
 public:
  StreamUser& on_request(Stream& stream) override { return *new User(stream); }
  void on_refused(const RefusedRequest& one) override {
    refused.append(name(one.reason)).append(" ").append(one.peer.address).append("; ");
  }

  std::string refused;

 private:
  class User final : public StreamUser {
   public:
    explicit User(Stream& stream) : stream_(stream) {}
    void on_head(const Head& /*head*/, bool /*end*/) override {
      const std::string body = '<' + std::string(stream_.peer().address) + '>';
      stream_.send_head({.status = 200, .content_length = body.size()}, false);
      (void)stream_.send_data(body, true);
    }
    void on_data(std::string_view bytes) override { stream_.consumed(bytes.size()); }
    void on_end(std::span<const Field> /*trailers*/) override {}
    void on_close(CloseReason /*reason*/) override { delete this; }

   private:
    Stream& stream_;
  };
};

class ProxiedServer : public TestServer {
 public:
  explicit ProxiedServer(ServerOptions options, Whois* whois = new Whois)
      : TestServer([whois](Loop&, ServerMetrics&) { return own(whois); }, std::move(options)),
        whois_(whois) {}
  std::string refused() {
    std::string all;
    run([&] { all = whois_->refused; });
    return all;
  }

 private:
  Whois* const whois_;
};

PeerSet loopback() {
  PeerSet peers;
  peers.add(*Network::find("127.0.0.0/8"));
  return peers;
}

std::string client_of(RawClient& client) {
  (void)client.read_to("<");
  std::string address = client.read_to(">");
  address.pop_back();
  return address;
}

TEST(ServerProxyHeader, IsTheClientsAddress) {
  ProxiedServer server({.proxy_protocol = loopback()});
  RawClient client(server.port);
  client.send(kHeader + kGet + kGet);
  EXPECT_EQ(client_of(client), "203.0.113.9");
  EXPECT_EQ(client_of(client), "203.0.113.9");
}

TEST(ServerProxyHeader, MayArriveByteByByte) {
  ProxiedServer server({.proxy_protocol = PeerSet::all()});
  RawClient client(server.port);
  for (const char byte : kHeader + kGet) {
    client.send({&byte, 1});
    server.run([] {});  // Reads it by itself.
  }
  EXPECT_EQ(client_of(client), "203.0.113.9");
}

TEST(ServerProxyHeader, OfTheLoadBalancerItselfLeavesItsAddress) {
  ProxiedServer server({.proxy_protocol = PeerSet::all()});
  RawClient client(server.port);
  client.send("PROXY UNKNOWN\r\n" + kGet);
  EXPECT_EQ(client_of(client), "127.0.0.1");
}

TEST(ServerProxyHeader, IsRequiredOfALoadBalancer) {
  ProxiedServer server({.proxy_protocol = loopback()});
  RawClient client(server.port);
  client.send(kGet);
  EXPECT_EQ(client.read_all(), "");
  EXPECT_TRUE(server.has_closed(CloseReason::no_proxy_header, 1));
  RawClient cut(server.port);
  cut.send("PROXY TCP4 203.0");
  cut.close();
  EXPECT_TRUE(server.has_closed(CloseReason::no_proxy_header, 2));
  RawClient check(server.port);  // A health check that only connects.
  check.close();
  EXPECT_TRUE(server.has_closed(CloseReason::finished));
  EXPECT_EQ(server.refused(), "no_proxy_header 127.0.0.1; no_proxy_header 127.0.0.1; ");
}

TEST(ServerProxyHeader, OfAStrangerIsMalformed) {
  PeerSet elsewhere;
  elsewhere.add(*Network::find("10.0.0.0/8"));
  ProxiedServer server({.proxy_protocol = elsewhere});
  RawClient client(server.port);
  client.send(kHeader + kGet);
  EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(server.has_closed(CloseReason::malformed));
  RawClient plain(server.port);
  plain.send(kGet);
  EXPECT_EQ(client_of(plain), "127.0.0.1");
}

TEST(ServerProxyHeader, IsSentWithinTheTimeOfAHead) {
  ProxiedServer server(
      {.proxy_protocol = loopback(), .limits = {.head_timeout = std::chrono::milliseconds(50)}});
  RawClient silent(server.port);
  RawClient slow(server.port);
  slow.send("PROXY TCP4 ");
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_EQ(slow.read_all(), "");
  EXPECT_TRUE(server.has_closed(CloseReason::head_timeout, 2));
}

TEST(ServerProxyHeader, IsWhatTheLimitByClientCounts) {
  ProxiedServer server(
      {.clients = std::make_shared<ClientConnections>(1), .proxy_protocol = loopback()});
  RawClient first(server.port);
  first.send(kHeader + kGet);
  EXPECT_EQ(client_of(first), "203.0.113.9");
  RawClient second(server.port);
  second.send(kHeader + kGet);
  EXPECT_EQ(second.read_all(), "");
  EXPECT_TRUE(server.has_closed(CloseReason::too_many_of_client));
  RawClient other(server.port);
  other.send("PROXY TCP4 203.0.113.10 10.0.0.1 56324 443\r\n" + kGet);
  EXPECT_EQ(client_of(other), "203.0.113.10");
}

TEST(ServerProxyHeader, IsThatOfTheOptionsInUse) {
  ProxiedServer server({});
  server.run(
      [&] { server.server->use({.proxy_protocol = PeerSet::all(), .protocol = Protocol::h2}); });
  RawClient client(server.port);
  client.send(kHeader + kGet);
  EXPECT_EQ(client.read_all().find("HTTP/1.1"), std::string::npos);  // HTTP/2 alone.
  EXPECT_TRUE(server.has_closed(CloseReason::malformed));
}

}  // namespace
}  // namespace damper::http
