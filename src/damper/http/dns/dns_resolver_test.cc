#include "damper/http/dns/dns_resolver.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "damper/http/dns/dns_testing.h"
#include "damper/http/net/net_testing.h"

namespace damper::http {
namespace {

using std::chrono::seconds;
using Texts = std::vector<std::string>;

constexpr std::string_view kService = "_http._tcp.test";

class DnsResolverTest : public testing::Test {
 protected:
  DnsResolverTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("damper_dns_" + std::to_string(server_.server().port))) {
    std::filesystem::create_directories(folder_);
    resolver_ = std::make_unique<DnsResolver>(loop_, counts_,
                                              DnsFiles(folder_ / "resolv.conf", folder_ / "hosts"));
    resolver_->use({server_.server()});
  }
  ~DnsResolverTest() override { std::filesystem::remove_all(folder_); }

  void write_conf(const std::string& text) { std::ofstream(folder_ / "resolv.conf") << text; }
  void write_hosts(const std::string& text) { std::ofstream(folder_ / "hosts") << text; }
  // The server's answer to a question of the name, and the RCODE 2 to others of it.
  void fail(const std::string& name, DnsType type) { server_.set({name, type}, {.code = 2}); }

  DnsLookup addresses_of(const std::string& name) {
    return finish([&](DnsResolver::Done done) { resolver_->look_up_addresses(name, done); });
  }
  DnsLookup service() {
    return finish(
        [&](DnsResolver::Done done) { resolver_->look_up_service(std::string(kService), done); });
  }
  // "found 7s 10.0.0.1 10.0.0.2".
  static std::string text_of(const DnsLookup& found) {
    std::string out(kDnsResultNames[found.result]);
    out += ' ' + std::to_string(found.ttl / seconds(1)) + 's';
    for (const std::string& place : found.places) out += ' ' + place;
    return out;
  }
  std::string look_up(const std::string& name) { return text_of(addresses_of(name)); }
  std::string look_up_service() { return text_of(service()); }
  void set_services(std::uint32_t ttl, const std::vector<SrvRecord>& services) {
    server_.set_service(std::string(kService), ttl, services);
  }
  // The names of the queries so far, in order, each once in a row.
  [[nodiscard]] Texts queried() const {
    Texts names;
    for (const auto& one : server_.seen()) {
      if (names.empty() || names.back() != one.question.name) names.push_back(one.question.name);
    }
    return names;
  }

  TestDnsServer server_;
  Loop loop_;
  DnsCounts counts_;
  std::filesystem::path folder_;
  std::unique_ptr<DnsResolver> resolver_;

 private:
  template <class Start>
  DnsLookup finish(Start start) {
    DnsLookup result;
    int calls = 0;
    start([&](const DnsLookup& found) {
      ++calls;
      result = found;
    });
    const Watchdog watchdog(loop_);
    while (calls == 0) loop_.poll();
    EXPECT_EQ(calls, 1);
    return result;
  }
};

TEST_F(DnsResolverTest, BothFamiliesAreLookedUp) {
  server_.set_addresses("api.test", 9, {"10.0.0.1", "fd00::1", "10.0.0.2"});
  EXPECT_EQ(look_up("api.test"), "found 9s 10.0.0.1 10.0.0.2 fd00::1");
  server_.set_addresses("api.test", 9, {"fd00::1"});
  EXPECT_EQ(look_up("api.test"), "found 9s fd00::1");
  server_.set_addresses("api.test", 9, {});
  EXPECT_EQ(look_up("api.test"), "no_data 0s");
}

TEST_F(DnsResolverTest, TheTtlIsThatOfTheFamilyWithAddresses) {
  server_.set({"api.test", DnsType::a}, {.records = {address_record("api.test", 60, "10.0.0.1")}});
  server_.set({"api.test", DnsType::aaaa}, {.authorities = {authority_record("test", 5, 5)}});
  EXPECT_EQ(look_up("api.test"), "found 60s 10.0.0.1");
  server_.set({"api.test", DnsType::a}, {.authorities = {authority_record("test", 9, 9)}});
  EXPECT_EQ(look_up("api.test"), "no_data 5s");
}

TEST_F(DnsResolverTest, TheHostsFileIsFirstAndIsReadAgain) {
  server_.set_addresses("api.test", 9, {"10.0.0.1"});
  write_hosts("10.0.0.7 api.test\n");
  EXPECT_EQ(look_up("api.test"), "found 0s 10.0.0.7");
  EXPECT_EQ(server_.queries(), 0U);
  write_hosts("10.0.0.7 other.test other\n");
  EXPECT_EQ(look_up("api.test"), "found 9s 10.0.0.1");
}

TEST_F(DnsResolverTest, TheSearchListIsTriedInOrder) {
  write_conf("search a.test b.test\n");
  server_.set_addresses("api.b.test", 9, {"10.0.0.1"});
  EXPECT_EQ(look_up("api"), "found 9s 10.0.0.1");
  EXPECT_EQ(queried(), (Texts{"api.a.test", "api.b.test"}));
  EXPECT_EQ(look_up("nobody"), "no_name 0s");
  EXPECT_EQ(queried(),
            (Texts{"api.a.test", "api.b.test", "nobody.a.test", "nobody.b.test", "nobody"}));
  // A suffix may be that of the hosts file.
  write_hosts("10.0.0.7 nobody.b.test\n");
  EXPECT_EQ(look_up("nobody"), "found 0s 10.0.0.7");
  // That a name exists is remembered.
  server_.set_addresses("empty.a.test", 9, {});
  EXPECT_EQ(look_up("empty"), "no_data 0s");
}

TEST_F(DnsResolverTest, AServerThatFailsEndsTheSearch) {
  write_conf("search a.test b.test\n");
  server_.set_addresses("api.b.test", 9, {"10.0.0.1"});
  fail("api.a.test", DnsType::a);
  EXPECT_EQ(look_up("api"), "server_failed 0s");
  EXPECT_EQ(queried(), Texts{"api.a.test"});
}

TEST_F(DnsResolverTest, AFamilyThatFailsKeepsItsAddresses) {
  server_.set_addresses("api.test", 9, {"10.0.0.1", "fd00::1"});
  EXPECT_EQ(look_up("api.test"), "found 9s 10.0.0.1 fd00::1");
  server_.set_addresses("api.test", 9, {"10.0.0.2"});
  fail("api.test", DnsType::aaaa);
  EXPECT_EQ(look_up("api.test"), "found 0s 10.0.0.2 fd00::1");
  fail("api.test", DnsType::a);  // Both: it has failed.
  EXPECT_EQ(look_up("api.test"), "server_failed 0s");
  // An answer without records is an answer.
  server_.set_addresses("api.test", 9, {"10.0.0.2"});
  EXPECT_EQ(look_up("api.test"), "found 9s 10.0.0.2");
  fail("api.test", DnsType::aaaa);
  EXPECT_EQ(look_up("api.test"), "found 0s 10.0.0.2");
}

TEST_F(DnsResolverTest, AServiceIsItsTargetsAddressesWithTheirPorts) {
  set_services(30, {{.port = 8080, .target = "a.test"},
                    {.port = 8081, .target = "a.test"},
                    {.port = 9000, .target = "b.test"}});
  server_.set_addresses("a.test", 20, {"10.0.0.1", "fd00::1"});
  server_.set_addresses("b.test", 40, {"10.0.0.2"});
  EXPECT_EQ(look_up_service(),
            "found 20s 10.0.0.1:8080 10.0.0.1:8081 10.0.0.2:9000 [fd00::1]:8080 [fd00::1]:8081");
  EXPECT_EQ(server_.queries(), 5U);  // Each target once.
  set_services(10, {{.port = 8080, .target = "a.test"}});
  EXPECT_EQ(look_up_service(), "found 10s 10.0.0.1:8080 [fd00::1]:8080");
}

TEST_F(DnsResolverTest, TheLeastPriorityThatHasAddressesIsUsed) {
  set_services(30, {{.priority = 2, .port = 2, .target = "b.test"},
                    {.priority = 1, .port = 1, .target = "a.test"},
                    {.priority = 3, .port = 3, .target = "c.test"}});
  server_.set_addresses("a.test", 20, {"10.0.0.1"});
  server_.set_addresses("b.test", 20, {"10.0.0.2"});
  server_.set_addresses("c.test", 20, {"10.0.0.3"});
  EXPECT_EQ(look_up_service(), "found 20s 10.0.0.1:1");
  EXPECT_EQ(server_.queries(), 3U);
  server_.set_addresses("a.test", 20, {});  // It has none.
  EXPECT_EQ(look_up_service(), "found 0s 10.0.0.2:2");
}

TEST_F(DnsResolverTest, AFailureOfDnsIsNoReasonForTheNextPriority) {
  set_services(30, {{.priority = 1, .port = 1, .target = "a.test"},
                    {.priority = 2, .port = 2, .target = "b.test"}});
  fail("a.test", DnsType::a);
  fail("a.test", DnsType::aaaa);
  server_.set_addresses("b.test", 20, {"10.0.0.2"});
  EXPECT_EQ(look_up_service(), "server_failed 0s");
}

TEST_F(DnsResolverTest, RecordsOfWeight0AreLeftOutBesideOthers) {
  set_services(30, {{.weight = 0, .port = 1, .target = "a.test"},
                    {.weight = 5, .port = 2, .target = "a.test"}});
  server_.set_addresses("a.test", 20, {"10.0.0.1"});
  EXPECT_EQ(look_up_service(), "found 20s 10.0.0.1:2");
  set_services(30, {{.weight = 0, .port = 1, .target = "a.test"},
                    {.weight = 0, .port = 2, .target = "a.test"}});
  EXPECT_EQ(look_up_service(), "found 20s 10.0.0.1:1 10.0.0.1:2");
}

TEST_F(DnsResolverTest, ATargetThatFailsKeepsItsAddresses) {
  set_services(30, {{.port = 1, .target = "a.test"}, {.port = 2, .target = "b.test"}});
  server_.set_addresses("a.test", 20, {"10.0.0.1"});
  server_.set_addresses("b.test", 20, {"10.0.0.2"});
  EXPECT_EQ(look_up_service(), "found 20s 10.0.0.1:1 10.0.0.2:2");
  fail("b.test", DnsType::a);
  fail("b.test", DnsType::aaaa);
  EXPECT_EQ(look_up_service(), "found 0s 10.0.0.1:1 10.0.0.2:2");
  server_.set_addresses("b.test", 20, {});  // Now it has none.
  EXPECT_EQ(look_up_service(), "found 0s 10.0.0.1:1");
}

TEST_F(DnsResolverTest, AServiceThatIsNotThereSaysSo) {
  EXPECT_EQ(look_up_service(), "no_name 0s");
  server_.set({std::string(kService), DnsType::srv},
              {.authorities = {authority_record("test", 8, 8)}, .code = 3});
  EXPECT_EQ(look_up_service(), "no_name 8s");
  set_services(30, {{.port = 0, .target = ""}});  // RFC 2782: decidedly not.
  EXPECT_EQ(look_up_service(), "no_data 30s");
  set_services(30, {{.port = 0, .target = "a.test"}});
  EXPECT_EQ(look_up_service(), "no_data 30s");
  fail(std::string(kService), DnsType::srv);
  EXPECT_EQ(look_up_service(), "server_failed 0s");
}

TEST_F(DnsResolverTest, AServiceHasTheSearchListAndItsTargetsHaveNot) {
  write_conf("search x.test\noptions ndots:5\n");
  server_.set_service(std::string(kService) + ".x.test", 30, {{.port = 1, .target = "a"}});
  server_.set_addresses("a", 20, {"10.0.0.1"});
  EXPECT_EQ(look_up_service(), "found 20s 10.0.0.1:1");
  EXPECT_EQ(queried(), (Texts{std::string(kService) + ".x.test", "a"}));
}

TEST_F(DnsResolverTest, TargetsOfAServiceMayBeInTheHostsFile) {
  write_hosts("10.0.0.7 a.test\n10.0.0.8 b.test\n");
  set_services(30, {{.port = 1, .target = "a.test"}, {.port = 2, .target = "b.test"}});
  EXPECT_EQ(look_up_service(), "found 0s 10.0.0.7:1 10.0.0.8:2");
}

TEST_F(DnsResolverTest, AServiceHasABoundedNumberOfTargets) {
  std::vector<SrvRecord> services;
  for (std::uint16_t i = 0; i < DnsResolver::kMostTargets + 20; ++i) {
    const std::string name = "t" + std::to_string(i) + ".test";
    services.push_back({.priority = i, .port = 1, .target = name});
    server_.set_addresses(name, 20, {});
  }
  TestAnswer answer{.truncated = true};
  for (const SrvRecord& one : services) {
    answer.records.push_back(srv_record(kService, 30, one));
  }
  server_.set({std::string(kService), DnsType::srv}, answer);
  EXPECT_EQ(look_up_service(), "no_data 0s");
  EXPECT_EQ(server_.queries(), 2 + 2 * DnsResolver::kMostTargets);
}

TEST_F(DnsResolverTest, ADestroyedResolverCallsNobody) {
  set_services(30, {{.port = 1, .target = "a.test"}});
  server_.set({"a.test", DnsType::a}, {.silent = true});
  bool called = false;
  resolver_->look_up_service(std::string(kService),
                             [&](const DnsLookup& /*found*/) { called = true; });
  {
    const Watchdog watchdog(loop_);
    while (server_.queries() < 2) loop_.poll();
  }
  resolver_.reset();
  loop_.run();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace damper::http
