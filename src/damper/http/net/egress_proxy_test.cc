#include "damper/http/net/egress_proxy.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "damper/http/net/dialer.h"
#include "damper/http/net/egress_proxy_testing.h"
#include "damper/http/net/net_testing.h"
#include "damper/http/tls/tls_transport.h"

namespace damper::http {
namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;
using ProxyAnswer = TestProxy::Answer;

// Listens; the kernel accepts.
class QuietServer {
 public:
  explicit QuietServer(Loop& loop)
      : acceptor_(loop.context(), {boost::asio::ip::address_v4::loopback(), 0}) {
    acceptor_.listen();
  }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  tcp::acceptor acceptor_;
};

class NamesResolver final : public Resolver {
 public:
  std::map<std::string, std::vector<std::string>> names;
  void resolve(const std::string& host, Done done) override {
    asked.push_back(host);
    done(names[host]);
  }
  std::vector<std::string> asked;
};

class EgressProxyDial : public testing::Test {
 protected:
  std::string dial(const std::string& host, std::uint16_t port) {
    if (!dialer_) dialer_.emplace(loop, options, &resolver);
    const Instant end = add(run::now(), options.connect_timeout);
    const Watchdog watchdog(loop);
    std::optional<Dialer::Result> result;
    const auto dial = dialer_->dial(host, port, nullptr, [&](Dialer::Result done) {
      result = std::move(done);
      loop.stop();
    });
    loop.run();
    was_timeout = run::now() >= end;
    if (!result) return "none";
    return result->transport != nullptr ? "open" : std::string(name(result->reason));
  }
  void use(const TestProxy& proxy) {
    options.proxy = std::make_shared<const EgressProxy>(proxy.options());
    dialer_.reset();
  }

  Loop loop;
  QuietServer server{loop};
  NamesResolver resolver;
  bool was_timeout = false;  // of the last dial
  DialerOptions options{.connect_timeout = milliseconds(2000)};

 private:
  std::optional<Dialer> dialer_;
};

std::string status(int code) {
  return "HTTP/1.1 " + std::to_string(code) + " X\r\nContent-Length: 0\r\n\r\n";
}

TEST_F(EgressProxyDial, TheProxyIsAskedForTheAddressAndNotForTheName) {
  const TestProxy proxy(loop);
  auto options_with = proxy.options();
  options_with.credentials = "user:pass";
  options.proxy = std::make_shared<const EgressProxy>(options_with);
  resolver.names["shop.test"] = {"127.0.0.1"};
  EXPECT_EQ(dial("shop.test", server.port()), "open");
  const std::string target = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_EQ(proxy.heads().at(0), "CONNECT " + target + " HTTP/1.1\r\nHost: " + target +
                                     "\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n");
}

TEST_F(EgressProxyDial, TheNextAddressIsTriedWhenTheProxyRefusesOne) {
  const TestProxy proxy(loop, [](const std::string& target) {
    return target.starts_with("[") ? std::optional(ProxyAnswer{status(503)}) : std::nullopt;
  });
  use(proxy);
  resolver.names["shop.test"] = {"2606:4700::1", "127.0.0.1"};
  EXPECT_EQ(dial("shop.test", server.port()), "open");
  ASSERT_EQ(proxy.targets().size(), 2U);
  EXPECT_EQ(proxy.targets()[0], "[2606:4700::1]:" + std::to_string(server.port()));
}

TEST_F(EgressProxyDial, TrapW4_ARefusedAddressNeverReachesTheProxy) {
  const TestProxy proxy(loop);  // On loopback itself: the operator has named it.
  use(proxy);
  options.guard = std::make_shared<const EgressGuard>(EgressGuard{.ports = {server.port()}});
  resolver.names["inside.test"] = {"127.0.0.1", "10.0.0.1"};
  EXPECT_EQ(dial("127.0.0.1", server.port()), "address_refused");
  EXPECT_EQ(dial("inside.test", server.port()), "address_refused");
  EXPECT_EQ(dial("8.8.8.8", 22), "address_refused");
  EXPECT_TRUE(proxy.targets().empty());
}

TEST_F(EgressProxyDial, AProxyThatIsDownIsNotTheTargetsFault) {
  TestProxy proxy(loop);
  use(proxy);
  proxy.stop();
  EXPECT_EQ(dial("127.0.0.1", server.port()), "proxy_failed");
  options.proxy = std::make_shared<const EgressProxy>(EgressProxy{.host = "proxy.test"});
  EXPECT_EQ(dial("127.0.0.1", server.port()), "proxy_failed");
}

// Invariants (1) and (2) of ConnectTunnel.
TEST_F(EgressProxyDial, AnAnswerThatIsNoTunnelIsBoundedAndTheProxysFault) {
  const std::vector<ProxyAnswer> answers = {
      {status(407)},
      {status(302)},
      {status(429)},
      {"SSH-2.0-OpenSSH_9.2\r\n"},
      {"HTTP/1.1 200 OK\r\n\r\njunk"},
      {"HTTP/1.1 200 OK\r\nX-A: " + std::string(ConnectTunnel::kMostAnswer, 'a') + "\r\n\r\n"},
      {"HTTP/1.1 100 Continue\r\n\r\n", true},
      {"HTTP/1.1 200 OK\r\nX-A: a", true},
      {""},
  };
  for (const ProxyAnswer& answer : answers) {
    const TestProxy proxy(loop, [&](const std::string&) { return std::optional(answer); });
    use(proxy);
    EXPECT_EQ(dial("127.0.0.1", server.port()), "proxy_failed") << answer.bytes.substr(0, 40);
    EXPECT_EQ(was_timeout, answer.bytes.empty()) << answer.bytes.substr(0, 40);
  }
}

TEST_F(EgressProxyDial, AnInterimAnswerIsSkipped) {
  const TestProxy proxy(loop, [](const std::string&) {
    return std::optional(ProxyAnswer{"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 200 OK\r\n\r\n"});
  });
  use(proxy);
  EXPECT_EQ(dial("127.0.0.1", server.port()), "open");
}

TEST_F(EgressProxyDial, ARefusedTunnelIsTheTargetsFaultOnceAnotherTargetWasReached) {
  const TestProxy proxy(loop);
  use(proxy);
  resolver.names = {{"dead.test", {"127.0.0.1"}}, {"good.test", {"127.0.0.1"}}};
  const std::uint16_t closed = 1;
  EXPECT_EQ(dial("dead.test", closed), "proxy_failed");
  EXPECT_EQ(dial("dead.test", closed), "proxy_failed");
  EXPECT_EQ(dial("good.test", server.port()), "open");
  EXPECT_EQ(dial("dead.test", closed), "connect_refused");
  EXPECT_EQ(dial("dead.test", closed), "proxy_failed");  // Nothing was reached since.
}

TEST_F(EgressProxyDial, ASilentProxyIsJudgedInTheSameWay) {
  const TestProxy proxy(loop, [](const std::string& target) {
    return target.ends_with(":1") ? std::optional(ProxyAnswer{""}) : std::nullopt;
  });
  options.connect_timeout = milliseconds(100);
  use(proxy);
  resolver.names = {{"hole.test", {"127.0.0.1"}}, {"good.test", {"127.0.0.1"}}};
  EXPECT_EQ(dial("hole.test", 1), "proxy_failed");
  EXPECT_EQ(dial("good.test", server.port()), "open");
  EXPECT_EQ(dial("hole.test", 1), "connect_timeout");
}

TEST(TunnelRecord, ATargetIsNoEvidenceAgainstItself) {
  TunnelRecord record;
  EXPECT_FALSE(record.on_refused("a"));
  record.on_opened("a");
  EXPECT_FALSE(record.on_refused("a"));
  record.on_opened("b");
  EXPECT_TRUE(record.on_refused("a"));
  EXPECT_FALSE(record.on_refused("b"));
}

TEST(TunnelRecord, IsBounded) {
  TunnelRecord record;
  EXPECT_FALSE(record.on_refused("a"));
  record.on_opened("other");
  for (std::size_t i = 0; i < TunnelRecord::kMostTargets; ++i) {
    EXPECT_FALSE(record.on_refused(std::to_string(i)));
  }
  EXPECT_FALSE(record.on_refused("a"));  // It was forgotten.
}

TEST(EgressProxy, ACredentialThatBreaksALineIsRefused) {
  EXPECT_FALSE(find_error(EgressProxy{.host = "p", .credentials = "u:p"}));
  EXPECT_TRUE(find_error(EgressProxy{.host = "p", .credentials = "u:p\r\nX: y"}));
  EXPECT_TRUE(find_error(EgressProxy{.host = "p", .credentials = "nocolon"}));
  EXPECT_TRUE(find_error(EgressProxy{.host = ""}));
}

}  // namespace
}  // namespace damper::http
