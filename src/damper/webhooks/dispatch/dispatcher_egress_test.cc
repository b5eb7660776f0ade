#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "damper/http/net/egress_proxy_testing.h"
#include "damper/http/net/net_testing.h"
#include "damper/webhooks/dispatch/dispatcher_testing.h"

namespace damper::webhooks {
namespace {

// Answers in this order; the last one for ever.
class ChangingResolver final : public http::Resolver {
 public:
  explicit ChangingResolver(std::deque<std::vector<std::string>> answers)
      : answers_(std::move(answers)) {}
  void resolve(const std::string& /*host*/, Done done) override {
    ++asked;
    std::vector<std::string> answer = answers_.front();
    if (answers_.size() > 1) answers_.pop_front();
    done(std::move(answer));
  }
  int asked = 0;

 private:
  std::deque<std::vector<std::string>> answers_;
};

class DispatcherEgress : public testing::Test {
 protected:
  http::Loop loop;
  TestFolder folder;
  std::string file = folder.file("w.db");
};

// As if the API had not checked the URLs: they are in the store.
TEST_F(DispatcherEgress, TrapW4_NoSpellingOfAnOwnAddressIsConnectedTo) {
  TestReceiver receiver(loop);
  const std::string url = receiver.url();
  const std::string port = url.substr(url.rfind(':'), url.rfind('/') - url.rfind(':'));
  const std::vector<std::string> hosts = {"127.0.0.1",
                                          "localhost",
                                          "localhost.",
                                          "2130706433",
                                          "0x7f000001",
                                          "0x7f.0x0.0x0.0x1",
                                          "017700000001",
                                          "0177.0.0.1",
                                          "127.1",
                                          "127.0.0.1.",
                                          "0.0.0.0",
                                          "[::1]",
                                          "[::]",
                                          "[::ffff:127.0.0.1]",
                                          "[::ffff:7f00:1]",
                                          "[::127.0.0.1]",
                                          "[64:ff9b::127.0.0.1]",
                                          "[64:ff9b:1::7f00:1]",
                                          "[2002:7f00:1::]",
                                          "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
                                          "user@127.0.0.1",
                                          "example.com@127.0.0.1",
                                          "127.0.0.1%00.example.com",
                                          "169.254.169.254"};
  DispatcherOptions options;  // Nothing is allowed but public addresses.
  options.connect_timeout = std::chrono::seconds(1);
  TestDispatcher test(loop, file, options);
  for (const std::string& host : hosts) {
    test.add_endpoint("http://" + host + port + "/hook");
    test.add_endpoint("http://" + host + "/hook");
  }
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] {
    return test.dispatcher->totals().failed >= 2 * hosts.size();
  })) << test.dispatcher->totals().failed;
  EXPECT_EQ(test.dispatcher->totals().delivered, 0U);
  EXPECT_EQ(receiver.requests, 0);
}

TEST_F(DispatcherEgress, TrapW4_AMetadataAddressIsRefusedAlsoIfItsNetworkIsAllowed) {
  DispatcherOptions options;
  options.guard.allowed = {*http::Network::find("169.254.0.0/16")};
  TestDispatcher test(loop, file, options);
  const Id endpoint = test.add_endpoint("http://169.254.169.254/latest/meta-data/");
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().dead == 1; }));
  EXPECT_EQ(test.dispatcher->status(endpoint).last_error, "address_refused");
}

TEST_F(DispatcherEgress, TrapW4_ARedirectToAnOwnAddressIsAFailure) {
  TestReceiver inside(loop);
  TestReceiver outside(loop, [&](const http::ExchangePtr& exchange) {
    TestReceiver::respond(exchange, 307, {{"Location", inside.url()}});
  });
  TestDispatcher test(loop, file);
  test.add_endpoint(outside.url());
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().failed == 1; }));
  ASSERT_TRUE(turn_until(loop, [&] { return test.count().waiting == 1; }));
  EXPECT_EQ(inside.requests, 0);
}

// What the first lookup said does not count for the second connection, after a restart here.
TEST_F(DispatcherEgress, TrapW4_ANameThatChangesItsAddressIsRefusedAtTheNextConnect) {
  TestReceiver receiver(loop);
  const std::string url = receiver.url();
  ChangingResolver resolver({{"127.0.0.1"}, {"127.0.0.2", "10.0.0.1", "169.254.169.254"}});
  DispatcherOptions options;
  options.guard.allowed = {*http::Network::find("127.0.0.1/32")};
  options.resolver = &resolver;
  Id endpoint{};
  {
    TestDispatcher test(loop, file, options);
    endpoint = test.add_endpoint("http://shop.test" + url.substr(url.rfind(':')));
    test.send();
    ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 1; }));
    ASSERT_TRUE(turn_until(loop, [&] { return test.count().waiting == 0; }));
  }
  TestDispatcher test(loop, file, options);
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().dead == 1; }));
  EXPECT_EQ(test.dispatcher->status(endpoint).last_error, "address_refused");
  EXPECT_EQ(receiver.requests, 1);
  EXPECT_EQ(resolver.asked, 2);
}

// ---- Through a proxy --------------------------------------------------------------------------

[[nodiscard]] DispatcherOptions options_with(const http::TestProxy& proxy) {
  DispatcherOptions options = test_options();
  options.proxy = proxy.options();
  options.connect_timeout = std::chrono::seconds(2);
  return options;
}

TEST_F(DispatcherEgress, AProxyTunnelsHttp) {
  TestReceiver receiver(loop);
  const http::TestProxy proxy(loop);
  TestDispatcher test(loop, file, options_with(proxy));
  test.add_endpoint(receiver.url());
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 1; }));
  EXPECT_EQ(receiver.requests, 1);
  EXPECT_EQ(receiver.invalid, 0);
  EXPECT_EQ(proxy.targets().size(), 1U);
}

TEST_F(DispatcherEgress, AProxyTunnelsHttpsAndTheNameIsVerified) {
  const http::TestCertificate certificate = http::make_certificate("shop.test");
  http::TlsServerOptions tls;
  tls.identity.certificate_pem = certificate.certificate_pem;
  tls.identity.key_pem = certificate.key_pem;
  TestReceiver receiver(loop, {}, {.tls = *http::TlsSettings::for_server(tls)});
  const std::string url = receiver.url();
  const std::string rest = url.substr(url.rfind(':'));
  ChangingResolver resolver({{"127.0.0.1"}});
  const http::TestProxy proxy(loop);
  DispatcherOptions options = options_with(proxy);
  options.tls.ca_pem = certificate.certificate_pem;
  options.resolver = &resolver;
  TestDispatcher test(loop, file, options);
  test.add_endpoint("https://shop.test" + rest);
  const Id other = test.add_endpoint("https://other.test" + rest);
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] {
    return test.dispatcher->totals().delivered == 1 && test.dispatcher->totals().failed == 1;
  }));
  EXPECT_EQ(receiver.requests, 1);
  EXPECT_EQ(test.dispatcher->status(other).last_error, "handshake_failed");
  for (const std::string& target : proxy.targets())
    EXPECT_EQ(target, "127.0.0.1" + rest.substr(0, rest.find('/')));
}

TEST_F(DispatcherEgress, TrapW4_ARefusedAddressNeverReachesTheProxy) {
  TestReceiver receiver(loop);
  const std::string url = receiver.url();
  ChangingResolver resolver({{"127.0.0.1"}});
  const http::TestProxy proxy(loop);
  DispatcherOptions options;  // Nothing is allowed but public addresses.
  options.proxy = proxy.options();
  options.resolver = &resolver;
  TestDispatcher test(loop, file, options);
  test.add_endpoint(url);
  test.add_endpoint("http://inside.test" + url.substr(url.rfind(':')));
  test.add_endpoint("http://169.254.169.254/latest/");
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().dead == 3; }));
  EXPECT_TRUE(proxy.targets().empty());
  EXPECT_EQ(receiver.requests, 0);
}

// Also of a proxy that answers: with 407, with an endless head, with 200 and junk.
TEST_F(DispatcherEgress, AFailingProxyHoldsDeliveriesWithoutAVerdict) {
  std::optional<http::TestProxy::Answer> answer;
  TestReceiver receiver(loop);
  const http::TestProxy proxy(loop, [&](const std::string&) { return answer; });
  DispatcherOptions options = options_with(proxy);
  options.policy.breaker.consecutive_failures = 1;
  options.policy.retries = *schedule::ListedDelays::from({}, Percent(0));  // One attempt.
  TestDispatcher test(loop, file, options);
  const Id endpoint = test.add_endpoint(receiver.url());
  std::uint64_t failures = 0;
  for (const http::TestProxy::Answer& bad :
       {http::TestProxy::Answer{"HTTP/1.1 407 X\r\nProxy-Authenticate: Basic\r\n\r\n"},
        http::TestProxy::Answer{"HTTP/1.1 200 X\r\nX-A: a", true},
        http::TestProxy::Answer{"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 500 X\r\n\r\n"}}) {
    answer = bad;
    test.send();
    ASSERT_TRUE(
        turn_until(loop, [&] { return test.dispatcher->totals().proxy_failures > failures; }));
    failures = test.dispatcher->totals().proxy_failures;
  }
  EXPECT_EQ(test.dispatcher->status(endpoint).breaker, admit::BreakerState::closed);
  EXPECT_EQ(test.dispatcher->totals().dead, 0U);
  EXPECT_EQ(test.count().waiting, 3);
  EXPECT_EQ(receiver.requests, 0);
  answer.reset();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 3; }));
  EXPECT_EQ(receiver.invalid, 0);
}

TEST_F(DispatcherEgress, ADeadProxyIsAskedByOneAttemptAtATime) {
  TestReceiver receiver(loop);
  http::TestProxy proxy(loop);
  DispatcherOptions options = options_with(proxy);
  proxy.stop();
  TestDispatcher test(loop, file, options);
  const Id endpoint = test.add_endpoint(receiver.url());
  for (int i = 0; i < 20; ++i) test.send();
  const Instant end = add(run::now(), std::chrono::seconds(2));
  ASSERT_TRUE(turn_until(loop, [&] { return run::now() > end; }));
  EXPECT_GE(test.dispatcher->totals().proxy_failures, 1U);
  // What was claimed before the first failure, at most twice kFirstConcurrency; then, one at a
  // time, after half a second and after one more.
  EXPECT_LE(test.dispatcher->totals().proxy_failures, 11U);
  EXPECT_EQ(test.dispatcher->status(endpoint).breaker, admit::BreakerState::closed);
  EXPECT_EQ(test.count().waiting, 20);
}

TEST_F(DispatcherEgress, ADeadEndpointBehindAWorkingProxyIsJudged) {
  TestReceiver receiver(loop);
  const http::TestProxy proxy(loop);
  DispatcherOptions options = options_with(proxy);
  options.policy.breaker.consecutive_failures = 1;
  ChangingResolver resolver({{"127.0.0.1"}});
  options.resolver = &resolver;
  TestDispatcher test(loop, file, options);
  const Id dead = test.add_endpoint("http://dead.test:1/hook");
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().proxy_failures == 1; }));
  test.add_endpoint(receiver.url());
  test.send();
  ASSERT_TRUE(turn_until(
      loop, [&] { return test.dispatcher->status(dead).breaker == admit::BreakerState::open; }));
  EXPECT_EQ(test.dispatcher->status(dead).last_error, "connect_refused");
  EXPECT_EQ(receiver.requests, 1);
}

}  // namespace
}  // namespace damper::webhooks
