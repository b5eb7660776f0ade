#include "damper/http/dns/dns_client.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "damper/http/dns/dns_testing.h"
#include "damper/http/net/net_testing.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const DnsQuestion kA{"api.test", DnsType::a};
constexpr Duration kLong = seconds(60);  // no timeout

class DnsClientTest : public testing::Test {
 protected:
  void use(const std::vector<const TestDnsServer*>& servers, Duration timeout = kLong,
           unsigned attempts = 2) {
    DnsClientOptions options{.servers = {}, .timeout = timeout, .attempts = attempts};
    for (const TestDnsServer* one : servers) options.servers.push_back(one->server());
    client_->use(options);
  }
  DnsAnswer ask(const DnsQuestion& question = kA) {
    DnsAnswer got;
    int calls = 0;
    client_->query(question, [&](const DnsAnswer& answer) {
      ++calls;
      got = answer;
    });
    EXPECT_EQ(calls, 0);  // Not from within query().
    const Watchdog watchdog(loop_);
    while (calls == 0) loop_.poll();
    EXPECT_EQ(calls, 1);
    return got;
  }
  [[nodiscard]] std::uint64_t count(DnsResult result) const {
    return counts_.queries[static_cast<std::size_t>(result)];
  }
  static std::vector<std::string> texts(const DnsAnswer& answer) {
    std::vector<std::string> all;
    for (const IpAddress& one : answer.addresses) all.push_back(one.text());
    return all;
  }

  Loop loop_;
  DnsCounts counts_;
  std::unique_ptr<DnsClient> client_ = std::make_unique<DnsClient>(loop_, counts_);
};
using Texts = std::vector<std::string>;

TEST_F(DnsClientTest, AnswersComeOverUdp) {
  TestDnsServer server;
  server.set_addresses("api.test", 7, {"10.0.0.1", "10.0.0.2"});
  use({&server});
  const DnsAnswer answer = ask();
  EXPECT_EQ(answer.result, DnsResult::found);
  EXPECT_EQ(texts(answer), (Texts{"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(answer.ttl, seconds(7));
  EXPECT_EQ(ask({"api.test", DnsType::aaaa}).result, DnsResult::no_data);
  EXPECT_EQ(ask({"nobody.test", DnsType::a}).result, DnsResult::no_name);
  EXPECT_EQ(server.queries(), 3U);
  EXPECT_EQ(count(DnsResult::found), 1U);
  EXPECT_EQ(count(DnsResult::no_data), 1U);
  EXPECT_EQ(count(DnsResult::no_name), 1U);
}

TEST_F(DnsClientTest, EqualQuestionsAtTheSameTimeAreOne) {
  TestDnsServer server;
  server.set_addresses("api.test", 7, {"10.0.0.1"});
  use({&server});
  int others = 0;
  for (int i = 0; i < 5; ++i) client_->query(kA, [&](const DnsAnswer& /*answer*/) { ++others; });
  EXPECT_EQ(ask().result, DnsResult::found);
  EXPECT_EQ(others, 5);
  EXPECT_EQ(server.queries(), 1U);
  EXPECT_EQ(ask().result, DnsResult::found);  // Nothing is kept.
  EXPECT_EQ(server.queries(), 2U);
}

TEST_F(DnsClientTest, AServerThatFailsIsFollowedByTheNextWhichStaysTheFirst) {
  TestDnsServer bad;
  TestDnsServer good;
  bad.fail_with(2);
  good.set_addresses("api.test", 7, {"10.0.0.1"});
  use({&bad, &good});
  EXPECT_EQ(texts(ask()), Texts{"10.0.0.1"});
  EXPECT_EQ(count(DnsResult::server_failed), 1U);
  EXPECT_EQ(texts(ask()), Texts{"10.0.0.1"});
  EXPECT_EQ(bad.queries(), 1U);
  EXPECT_EQ(good.queries(), 2U);
  good.fail_with(5);
  bad.fail_with(0);
  bad.set_addresses("api.test", 7, {"10.0.0.2"});
  EXPECT_EQ(texts(ask()), Texts{"10.0.0.2"});
}

TEST_F(DnsClientTest, ARefusedPortIsFollowedByTheNextServer) {
  TestDnsServer gone;
  TestDnsServer good;
  good.set_addresses("api.test", 7, {"10.0.0.1"});
  use({&gone, &good});
  gone.stop();
  EXPECT_EQ(texts(ask()), Texts{"10.0.0.1"});
  EXPECT_EQ(count(DnsResult::unreachable), 1U);
}

TEST_F(DnsClientTest, SilentServersAreQueriedInRoundsAndThenItHasFailed) {
  TestDnsServer one;
  TestDnsServer two;
  one.set(kA, {.silent = true});
  two.set(kA, {.silent = true});
  use({&one, &two}, milliseconds(10), 3);
  EXPECT_EQ(ask().result, DnsResult::timed_out);
  EXPECT_EQ(count(DnsResult::timed_out), 6U);
  use({&one, &two}, milliseconds(10), 1);
  EXPECT_EQ(ask().result, DnsResult::timed_out);
  EXPECT_EQ(count(DnsResult::timed_out), 8U);
}

TEST_F(DnsClientTest, ATruncatedAnswerIsFetchedOverTcp) {
  TestDnsServer server;
  TestAnswer many{.truncated = true};
  Texts expected;
  for (int i = 0; i < 200; ++i) {
    expected.push_back("10.0.0." + std::to_string(i));
    many.records.push_back(address_record("api.test", 9, expected.back()));
  }
  server.set(kA, many);
  use({&server});
  const DnsAnswer answer = ask();
  EXPECT_EQ(texts(answer), expected);
  EXPECT_EQ(answer.ttl, seconds(9));
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_FALSE(seen[0].tcp);
  EXPECT_TRUE(seen[1].tcp);
  EXPECT_EQ(count(DnsResult::truncated), 1U);
  EXPECT_EQ(count(DnsResult::found), 1U);
}

TEST_F(DnsClientTest, OverTcpASilentServerTimesOutAndAClosedConnectionIsAFailure) {
  TestDnsServer server;
  server.set(kA, {.truncated = true});
  server.hold();  // over UDP
  use({&server}, kLong, 1);
  DnsResult result = DnsResult::found;
  bool done = false;
  client_->query(kA, [&](const DnsAnswer& answer) {
    done = true;
    result = answer.result;
  });
  const Watchdog watchdog(loop_);
  while (server.queries() == 0) loop_.poll();
  server.set(kA, {.truncated = true});
  server.release();  // Truncated; and then over TCP the connection is closed without an answer.
  server.set(kA, {.silent = true});
  while (!done) loop_.poll();
  EXPECT_EQ(result, DnsResult::unreachable);
  EXPECT_EQ(count(DnsResult::truncated), 1U);
  EXPECT_TRUE(server.seen().back().tcp);
}

TEST_F(DnsClientTest, ForgedAnswersAreIgnored) {
  TestDnsServer server;
  server.set_addresses("api.test", 7, {"10.0.0.1"});
  server.forge(32);
  use({&server});
  EXPECT_EQ(texts(ask()), Texts{"10.0.0.1"});
  EXPECT_EQ(counts_.ignored, 24U);  // The kernel drops what is from another port.
}

TEST_F(DnsClientTest, TooManyForgedAnswersEndAQuery) {
  TestDnsServer server;
  TestDnsServer other;
  server.set_addresses("api.test", 7, {"10.0.0.1"});
  other.set_addresses("api.test", 7, {"10.0.0.2"});
  server.forge(DnsClient::kMostIgnored * 4 / 3 + 4);
  use({&server, &other});
  EXPECT_EQ(texts(ask()), Texts{"10.0.0.2"});
  EXPECT_EQ(counts_.ignored, DnsClient::kMostIgnored);
  EXPECT_EQ(count(DnsResult::malformed), 1U);
}

TEST_F(DnsClientTest, IdsAndPortsAreNotPredictable) {
  TestDnsServer server;
  server.set_addresses("api.test", 7, {"10.0.0.1"});
  use({&server});
  constexpr std::size_t kQueries = 100;
  for (std::size_t i = 0; i < kQueries; ++i) EXPECT_EQ(ask().result, DnsResult::found);
  std::set<unsigned> ids;
  std::set<unsigned> steps;  // from one id to the next
  std::set<std::uint16_t> ports;
  unsigned last = 0;
  for (const auto& one : server.seen()) {
    ids.insert(one.id);
    steps.insert((one.id - last) & 0xffffU);
    last = one.id;
    ports.insert(one.port);
  }
  // Of 100 of 65536, 10 equal ones are impossible; ports are of at least 16384.
  EXPECT_GT(ids.size(), kQueries - 10);
  EXPECT_GT(steps.size(), kQueries - 10);
  EXPECT_GT(ports.size(), kQueries - 10);
}

TEST_F(DnsClientTest, QuestionsUnderWayAreBounded) {
  TestDnsServer server;
  server.hold();
  use({&server});
  constexpr std::size_t kMore = 6;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < DnsClient::kMostInFlight + kMore; ++i) {
    client_->query({"n" + std::to_string(i) + ".test", DnsType::a},
                   [&order, i](const DnsAnswer& /*answer*/) { order.push_back(i); });
  }
  const Watchdog watchdog(loop_);
  while (server.queries() < DnsClient::kMostInFlight) loop_.poll();
  for (int i = 0; i < 50; ++i) loop_.poll();
  EXPECT_EQ(server.queries(), DnsClient::kMostInFlight);
  EXPECT_TRUE(order.empty());
  server.release();
  while (order.size() < DnsClient::kMostInFlight + kMore) loop_.poll();
  EXPECT_EQ(server.queries(), DnsClient::kMostInFlight + kMore);
}

TEST_F(DnsClientTest, AnAnswerMayLeadToAnotherQuestion) {
  TestDnsServer server;
  server.set_addresses("api.test", 7, {"10.0.0.1"});
  use({&server});
  int answers = 0;
  client_->query(kA, [&](const DnsAnswer& /*answer*/) {
    ++answers;
    client_->query(kA, [&](const DnsAnswer& /*answer*/) { ++answers; });
  });
  const Watchdog watchdog(loop_);
  while (answers < 2) loop_.poll();
  EXPECT_EQ(server.queries(), 2U);
}

TEST_F(DnsClientTest, ADestroyedClientCallsNobody) {
  TestDnsServer server;
  server.hold();
  use({&server});
  bool called = false;
  client_->query(kA, [&](const DnsAnswer& /*answer*/) { called = true; });
  {
    const Watchdog watchdog(loop_);
    while (server.queries() == 0) loop_.poll();
  }
  client_.reset();
  server.release();
  loop_.run();  // Nothing is left to wait for.
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace damper::http
