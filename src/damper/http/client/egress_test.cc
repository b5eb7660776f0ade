// Clients with an EgressGuard: hostile URLs, names that resolve into the own network, and how a
// refusal ends a call.
#include "damper/http/client/client.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/http/client/client_testing.h"
#include "damper/http/client/fetch_testing.h"
#include "damper/http/client/guarded_client.h"
#include "damper/http/client/url.h"

namespace damper::http {
namespace {

using Addresses = std::vector<std::string>;

// Answers each question with the next of its answers; the last one stays. An attacker's DNS server.
class ScriptedResolver final : public Resolver {
 public:
  explicit ScriptedResolver(std::deque<Addresses> answers) : answers_(std::move(answers)) {}
  void resolve(const std::string& /*host*/, Done done) override {
    ++asked;
    Addresses answer = answers_.front();
    if (answers_.size() > 1) answers_.pop_front();
    done(std::move(answer));
  }
  int asked = 0;

 private:
  std::deque<Addresses> answers_;
};

std::shared_ptr<const EgressGuard> guard(std::initializer_list<std::string_view> allowed = {}) {
  auto made = std::make_shared<EgressGuard>();
  for (const std::string_view network : allowed) made->allowed.push_back(*Network::find(network));
  return made;
}

ClientOptions with(std::shared_ptr<const EgressGuard> guard, Resolver* resolver = nullptr) {
  ClientOptions options;
  options.dialer.guard = std::move(guard);
  options.resolver = resolver;
  return options;
}

// A request for a name, to the port of a server.
Request named(const TestServer& server) {
  return make_request("GET", *parse_url("http://shop.test:" + std::to_string(server.port()) + "/"));
}

std::string sentence(const Failure& failure) {
  if (failure.exception == nullptr) return "none";
  try {
    std::rethrow_exception(failure.exception);
  } catch (const EgressRefused& refused) {
    return refused.what();
  } catch (...) {
    return "another one";
  }
}

// Each is refused by the URL alone: it is no URL, or its host is an address that is not public.
// What is a name is refused by its addresses, below.
TEST(Egress, TrapW4_HostileUrlsAreRefused) {
  const EgressGuard strangers{.ports = {80, 443}};
  for (const char* url :
       {// Plain.
        "http://127.0.0.1/", "http://127.8.9.10/", "http://0.0.0.0/", "http://10.1.2.3/",
        "http://172.16.0.1/", "http://192.168.1.1/", "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/", "http://100.100.100.200/", "http://168.63.129.16/",
        "http://192.0.0.192/", "http://198.18.0.1/", "http://224.0.0.1/", "http://240.0.0.1/",
        "http://255.255.255.255/", "https://[::1]/", "http://[::]/", "http://[fe80::1]/",
        "http://[fec0::1]/", "http://[fc00::1]/", "http://[fd00:ec2::254]/", "http://[ff02::1]/",
        "http://[2001:db8::1]/", "http://[100::1]/", "http://[4000::1]/",
        // An IPv4 address inside of IPv6.
        "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:ffff:7f00:1]/",
        "http://[::127.0.0.1]/", "http://[::7f00:1]/", "http://[::ffff:0:127.0.0.1]/",
        "http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b::a9fe:a9fe]/",
        "http://[64:ff9b:1::10.0.0.1]/", "http://[2002:7f00:1::]/", "http://[2002:a9fe:a9fe::1]/",
        "http://[2001:0:4136:e378:8000:63bf:5601:5601]/", "http://[::FFFF:127.0.0.1]/",
        // Numbers that other parsers take for addresses.
        "http://2130706433/", "http://0x7f000001/", "http://0X7F000001/", "http://017700000001/",
        "http://0x7f.1/", "http://0x7f.0x0.0x0.0x1/", "http://0177.0.0.1/", "http://127.1/",
        "http://127.0.1/", "http://127.0.0.01/", "http://127.00.0.1/", "http://0/", "http://1/",
        "http://3232235777/", "http://0xa9fea9fe/", "http://0xA9.0xFE.0xA9.0xFE/",
        "http://425.510.425.510/", "http://127.0.0.1.0/", "http://4294967297/",
        "http://127.0.0.0x1/",
        // Endings, digits and dots of other alphabets, escapes, spaces.
        "http://127.0.0.1./", "http://localhost./", "http://169.254.169.254./",
        "http://\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1/",
        "http://127\xe3\x80\x82"
        "0.0.1/",
        "http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/", "http://127%2e0.0.1/",
        "http://%31%32%37.0.0.1/", "http://127.0.0.1%00.example.com/", "http://127.0.0.1 /",
        "http://127.0.0.1\t/", "http://127.0.0.1\r\nHost: x/", "http://[::1%25eth0]/",
        "http://[fe80::1%eth0]/", "http://[::1]x/", "http://[127.0.0.1]/", "http://[0x7f.1]/",
        // Another host, by a user name or by a parser that sees it elsewhere.
        "http://example.com@127.0.0.1/", "http://127.0.0.1@example.com/", "http://a:b@example.com/",
        "http://example.com:80@127.0.0.1/", "http://example.com\\@127.0.0.1/",
        "http://127.0.0.1\\.example.com/", "http://example.com#@127.0.0.1/", "http:\\\\127.0.0.1/",
        "http:/127.0.0.1/", "http:127.0.0.1", "//127.0.0.1/", "http:///127.0.0.1/",
        // Schemes and ports.
        "file:///etc/passwd", "gopher://127.0.0.1:6379/_x", "ftp://example.com/", "dict://a/",
        "javascript:1", "data:,x", "unix:/run/docker.sock", "http+unix://%2Frun%2Fdocker.sock/",
        "http://example.com:22/", "https://example.com:6379/", "http://example.com:0/",
        "http://example.com:65616/", "http://example.com:-80/", "http://example.com:80:22/",
        "http://example.com:+80/", "", "http://", "http://:80/"}) {
    const auto parsed = parse_url(url, strangers);
    EXPECT_FALSE(parsed) << url << " is " << parsed->endpoint.text();
    EXPECT_TRUE(parsed || !parsed.error().empty());
  }
}

TEST(Egress, OrdinaryUrlsAreAccepted) {
  const EgressGuard strangers{.ports = {80, 443, 8443}};
  for (const char* url :
       {"https://example.com/hooks?a=b", "http://example.com:80/", "https://8.8.8.8/",
        "https://hooks.example.co.uk:8443/x", "https://[2606:4700::1111]/",
        "http://[::ffff:8.8.8.8]/", "https://1password.com/", "https://0x.example/",
        "https://xn--bcher-kva.example/"}) {
    const auto parsed = parse_url(url, strangers);
    EXPECT_TRUE(parsed) << url << ": " << (parsed ? "" : parsed.error());
  }
  // An address after the host is a part of the query.
  EXPECT_EQ(parse_url("http://example.com?@127.0.0.1:22", strangers)->endpoint.host, "example.com");
  EXPECT_EQ(parse_url("http://127.0.0.1/", strangers).error(),
            "127.0.0.1 is a loopback address, which is not allowed (loopback)");
}

TEST(Egress, ARefusalIsPermanentAndSaysWhy) {
  Loop loop;
  TestServer server(loop, echo);
  Client client(loop, with(guard()));
  const auto results = fetch_all(loop, client, {request(server)});
  ASSERT_FALSE(results[0].second);
  const Failure& failure = results[0].second.error();
  EXPECT_EQ(failure.error, CloseReason::address_refused);
  EXPECT_EQ(failure.error.message(), "address_refused");
  EXPECT_EQ(failure.report.outcome, decide::Outcome::permanent);
  EXPECT_TRUE(failure.report.unknown);
  EXPECT_EQ(sentence(failure), "127.0.0.1 is a loopback address, which is not allowed (loopback)");
  EXPECT_EQ(ClientMetrics::of(client.metrics().failed_dials, CloseReason::address_refused), 1U);
  EXPECT_EQ(server.connections, 0);
}

TEST(Egress, WithoutAGuardEverythingIsDialed) {
  Loop loop;
  TestServer server(loop, echo);
  Client client(loop);
  EXPECT_TRUE(fetch_all(loop, client, {request(server)})[0].second);
}

// 127.0.0.1 stands for a public address, 127.0.0.2 for one of the own network.
TEST(Egress, TrapW4_ANameThatResolvesElsewhereTheSecondTimeIsRefused) {
  Loop loop;
  TestServer outside(loop, {.address = "127.0.0.1"}, echo);
  TestServer inside(loop, {.address = "127.0.0.2", .port = outside.port()}, echo);
  ScriptedResolver resolver(std::deque<Addresses>{{"127.0.0.1"}, {"127.0.0.2"}});
  Client client(loop, with(guard({"127.0.0.1"}), &resolver));

  // One lookup for one dial: the answer that is checked is the one that is connected to.
  ASSERT_TRUE(fetch_all(loop, client, {named(outside)})[0].second);
  EXPECT_EQ(resolver.asked, 1);
  outside.close_all();  // The next request needs a new connection, when the client has seen it.
  while (client.metrics().connections != 0) run_for(loop, std::chrono::milliseconds(1));

  const auto results = fetch_all(loop, client, {named(outside)});
  ASSERT_FALSE(results[0].second);
  EXPECT_EQ(results[0].second.error().error, CloseReason::address_refused);
  EXPECT_EQ(sentence(results[0].second.error()),
            "shop.test resolves to 127.0.0.2, a loopback address, which is not allowed (loopback)");
  EXPECT_EQ(resolver.asked, 2);
  EXPECT_EQ(inside.connections, 0);
}

// A check by the application sees the first answer, the dial the second.
TEST(Egress, TrapW4_ACheckBeforeTheDialIsNotReliedUpon) {
  Loop loop;
  TestServer inside(loop, {.address = "127.0.0.2"}, echo);
  ScriptedResolver resolver(std::deque<Addresses>{{"8.8.8.8"}, {"127.0.0.2"}});
  Client client(loop, with(guard({"127.0.0.1"}), &resolver));
  bool good = false;
  resolver.resolve("shop.test", [&](const Addresses& addresses) {
    good = !EgressGuard{}.find_refusal(*IpAddress::find(addresses[0]));
  });
  EXPECT_TRUE(good);
  EXPECT_FALSE(fetch_all(loop, client, {named(inside)})[0].second);
  EXPECT_EQ(inside.connections, 0);
}

TEST(Egress, TrapW4_OfMixedAnswersOnlyTheAllowedAddressesAreUsed) {
  for (const Addresses& mixed :
       {Addresses{"127.0.0.2", "10.0.0.1", "127.0.0.1", "::1", "169.254.169.254"},
        Addresses{"::ffff:127.0.0.2", "::ffff:127.0.0.1"}}) {
    Loop loop;
    TestServer outside(loop, {.address = "127.0.0.1"}, echo);
    TestServer inside(loop, {.address = "127.0.0.2", .port = outside.port()}, echo);
    ScriptedResolver resolver(std::deque<Addresses>{mixed});
    Client client(loop, with(guard({"127.0.0.1"}), &resolver));
    EXPECT_TRUE(fetch_all(loop, client, {named(outside)})[0].second);
    EXPECT_EQ(outside.connections, 1);
    EXPECT_EQ(inside.connections, 0);
  }
}

// The allowed address does not answer: the others are not tried instead.
TEST(Egress, TrapW4_AFailedAddressIsNotReplacedByARefusedOne) {
  Loop loop;
  TestServer inside(loop, {.address = "127.0.0.2"}, echo);
  ScriptedResolver resolver(std::deque<Addresses>{Addresses{"127.0.0.1", "127.0.0.2"}});
  Client client(loop, with(guard({"127.0.0.1"}), &resolver));
  const auto results =
      fetch_all(loop, client, {named(inside)});  // 127.0.0.1 does not listen there.
  ASSERT_FALSE(results[0].second);
  EXPECT_EQ(results[0].second.error().error, CloseReason::connect_refused);
  EXPECT_EQ(inside.connections, 0);
}

TEST(Egress, ANameWithoutAddressIsNotResolved) {
  Loop loop;
  const TestServer server(loop, echo);
  ScriptedResolver resolver(std::deque<Addresses>(1));
  Client client(loop, with(guard(), &resolver));
  const auto results = fetch_all(loop, client, {named(server)});
  EXPECT_EQ(results[0].second.error().error, CloseReason::name_not_resolved);
}

TEST(Egress, NoNameIsResolvedForARefusedPortOrScheme) {
  Loop loop;
  TestServer server(loop, echo);
  ScriptedResolver resolver(std::deque<Addresses>{Addresses{"127.0.0.1"}});
  for (const EgressGuard& refusing :
       {EgressGuard{.allowed = {*Network::find("127.0.0.1")}, .ports = {1}},
        EgressGuard{.allowed = {*Network::find("127.0.0.1")}, .allow_plain = false}}) {
    Client client(loop, with(std::make_shared<EgressGuard>(refusing), &resolver));
    const auto results = fetch_all(loop, client, {named(server)});
    ASSERT_FALSE(results[0].second);
    EXPECT_EQ(results[0].second.error().error, CloseReason::address_refused);
    EXPECT_EQ(sentence(results[0].second.error()),
              refusing.allow_plain ? "the port " + std::to_string(server.port()) + " is not allowed"
                                   : "the scheme http is not allowed; https is");
  }
  EXPECT_EQ(resolver.asked, 0);
  EXPECT_EQ(server.connections, 0);
}

// A redirect is an answer like any other: the client has no code that follows one.
TEST(Egress, TrapW4_ARedirectIsNotFollowed) {
  Loop loop;
  TestServer inside(loop, echo);
  TestServer outside(loop, [&](TestServer::Exchange& exchange) {
    exchange.respond(307, {}, FieldList{{"location", inside.url()}});
  });
  Client client(loop);
  const auto results = fetch_all(loop, client, {request(outside)});
  ASSERT_TRUE(results[0].second);
  EXPECT_EQ(results[0].second->status, 307);

  Dependency dependency("shop");
  GuardedClient guarded(loop, dependency, {.endpoints = {outside.url()}});
  const Watchdog watchdog(loop);
  int status = 0;
  guarded.get("/", in(std::chrono::seconds(5)), [&](const HttpResult& result) {
    if (result) status = result->status;
    loop.stop();
  });
  loop.run();
  EXPECT_EQ(status, 307);
  EXPECT_EQ(outside.requests, 2);
  EXPECT_EQ(inside.connections, 0);
}

// It is our own refusal: no retry, and no verdict to what calls share.
TEST(Egress, ARefusalIsNotRetriedAndIsNoSignOfTheDependencysHealth) {
  Loop loop;
  TestServer server(loop, echo);
  engine::Policy policy;
  policy.breaker.emplace();
  policy.breaker->consecutive_failures = 2;
  policy.throttle.emplace();
  policy.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  Dependency dependency("shop", policy);
  GuardedClientOptions options{.endpoints = {server.url(), server.url()}};
  options.client = with(guard());
  GuardedClient client(loop, dependency, options);
  for (int i = 0; i < 5; ++i) {
    const Watchdog watchdog(loop);
    std::optional<HttpResult> got;
    client.get("/", in(std::chrono::seconds(5)), [&](HttpResult result) {
      got.emplace(std::move(result));
      loop.stop();
    });
    loop.run();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->verdict(), Verdict::permanent);
    EXPECT_EQ(got->attempts(), 1U);
    ASSERT_NE(got->failure(), nullptr);
    EXPECT_EQ(sentence(*got->failure()),
              "127.0.0.1 is a loopback address, which is not allowed (loopback)");
  }
  EXPECT_EQ(dependency.breaker().state(loop.now()), admit::BreakerState::closed);
  EXPECT_EQ(dependency.latencies().samples(loop.now()), 0);
  EXPECT_EQ(dependency.throttle().reject_probability(loop.now()), 0.0);
  EXPECT_EQ(dependency.limit().in_flight(), 0);
  EXPECT_EQ(server.connections, 0);
}

// Two failures in a row eject a replica; a refusal in between is neither a failure nor a success.
TEST(Egress, ARefusalIsNoAnswerOfTheReplica) {
  Loop loop;
  ScriptedResolver resolver(
      std::deque<Addresses>{{"127.0.0.1"}, {"127.0.0.2"}, {"127.0.0.2"}, {"127.0.0.1"}});
  engine::Policy once;
  once.call.max_attempts = 1;
  Dependency dependency("shop", once);
  const std::string url = "http://shop.test:" + std::to_string(closed_port(loop));
  GuardedClientOptions options{.endpoints = {url, url}};
  options.client = with(guard({"127.0.0.1"}), &resolver);
  options.replicas.breaker.consecutive_failures = 2;
  GuardedClient client(loop, dependency, options);
  client.replicas().force(1, {.force = admit::BreakerForce::open}, loop.now());
  std::string ends;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(client.replicas().state(0, loop.now()), admit::BreakerState::closed) << i;
    const Watchdog watchdog(loop);
    client.get("/", in(std::chrono::seconds(5)), [&](const HttpResult& result) {
      ends += result.failure()->error.message() + " ";
      loop.stop();
    });
    loop.run();
  }
  EXPECT_EQ(ends, "connect_refused address_refused address_refused connect_refused ");
  EXPECT_EQ(client.replicas().state(0, loop.now()), admit::BreakerState::open);
}

}  // namespace
}  // namespace damper::http
