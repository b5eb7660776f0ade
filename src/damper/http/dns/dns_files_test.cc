#include "damper/http/dns/dns_files.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "damper/http/dns/hosts_file.h"
#include "damper/http/dns/resolv_conf.h"

namespace damper::http {
namespace {

using std::chrono::seconds;
using Texts = std::vector<std::string>;

Texts servers(const ResolvConf& conf) {
  Texts all;
  for (const DnsServer& one : conf.servers) all.push_back(one.text());
  return all;
}
Texts texts(const std::vector<IpAddress>& addresses) {
  Texts all;
  for (const IpAddress& one : addresses) all.push_back(one.text());
  return all;
}

TEST(DnsServer, IsAnAddressWithOrWithoutAPort) {
  EXPECT_EQ(parse_dns_server("10.0.0.53")->text(), "10.0.0.53:53");
  EXPECT_EQ(parse_dns_server("10.0.0.53:5353")->text(), "10.0.0.53:5353");
  EXPECT_EQ(parse_dns_server("fd00::35")->text(), "[fd00::35]:53");
  EXPECT_EQ(parse_dns_server("[fd00::35]:5353")->text(), "[fd00::35]:5353");
  for (const char* text :
       {"", ":", "53", "dns.test", "dns.test:53", "10.0.0.53:", "10.0.0.53:0", "10.0.0.53:65536",
        "10.0.0.53:x", "[fd00::35]", "[10.0.0.53]:53", "[]:53", "[:53", "10.0.0.53:53:53"}) {
    EXPECT_FALSE(parse_dns_server(text)) << text;
  }
}

TEST(ResolvConf, IsReadAsByTheCLibrary) {
  const ResolvConf conf = ResolvConf::parse(
      "# a comment\n"
      "; another\n"
      "nameserver 10.0.0.1\r\n"
      "\tnameserver   fd00::1  # the second\n"
      "nameserver fe80::1%eth0\n"
      "nameserver dns.test\n"
      "domain old.test\n"
      "search A.test. b.test .bad\n"
      "sortlist 10.0.0.0\n"
      "options ndots:2 timeout:3 rotate attempts:4");
  EXPECT_EQ(servers(conf), (Texts{"10.0.0.1:53", "[fd00::1]:53"}));
  EXPECT_EQ(conf.search, (Texts{"a.test", "b.test"}));
  EXPECT_EQ(conf.ndots, 2U);
  EXPECT_EQ(conf.timeout, seconds(3));
  EXPECT_EQ(conf.attempts, 4U);
}

TEST(ResolvConf, WhatIsMissingOrWrongHasItsDefault) {
  EXPECT_EQ(ResolvConf::parse(""), ResolvConf());
  EXPECT_EQ(servers(ResolvConf()), Texts{"127.0.0.1:53"});
  EXPECT_EQ(ResolvConf::parse("nameserver\nsearch\noptions\noptions ndots:x timeout: attempts:-1\n"
                              "nameserver 10.0.0\n\n\n"),
            ResolvConf());
}

TEST(ResolvConf, NumbersAndListsAreBounded) {
  std::string text = "options ndots:99 timeout:999 attempts:99\nsearch";
  for (int i = 0; i < 50; ++i) text += " s" + std::to_string(i) + ".test";
  for (int i = 0; i < 50; ++i) text += "\nnameserver 10.0.0." + std::to_string(i);
  const ResolvConf conf = ResolvConf::parse(text);
  EXPECT_EQ(conf.ndots, 15U);
  EXPECT_EQ(conf.timeout, seconds(30));
  EXPECT_EQ(conf.attempts, 5U);
  EXPECT_EQ(conf.search.size(), ResolvConf::kMostSearch);
  EXPECT_EQ(conf.servers.size(), ResolvConf::kMostServers);
  const ResolvConf least = ResolvConf::parse("options timeout:0 attempts:0 ndots:0");
  EXPECT_EQ(least.timeout, seconds(1));
  EXPECT_EQ(least.attempts, 1U);
  EXPECT_EQ(least.ndots, 0U);
  // What is after the bound is not read.
  const std::string filler(ResolvConf::kMostBytes, '\n');
  EXPECT_EQ(ResolvConf::parse(filler + "nameserver 10.0.0.1"), ResolvConf());
}

TEST(ResolvConf, ANameWithFewDotsIsSearchedFirst) {
  const ResolvConf conf = ResolvConf::parse("search a.test b.test\noptions ndots:2");
  EXPECT_EQ(conf.candidates("api"), (Texts{"api.a.test", "api.b.test", "api"}));
  EXPECT_EQ(conf.candidates("api.x"), (Texts{"api.x.a.test", "api.x.b.test", "api.x"}));
  EXPECT_EQ(conf.candidates("api.x.y"), (Texts{"api.x.y", "api.x.y.a.test", "api.x.y.b.test"}));
  EXPECT_EQ(ResolvConf().candidates("api"), Texts{"api"});
  // Without the suffixes that make it too long.
  const std::string longest = std::string(63, 'a') + '.' + std::string(63, 'b') + '.' +
                              std::string(63, 'c') + '.' + std::string(61, 'd');
  EXPECT_EQ(conf.candidates(longest), Texts{longest});
}

TEST(HostsFile, NamesHaveTheirAddressesInOrder) {
  const HostsFile file = HostsFile::parse(
      "127.0.0.1 localhost\n"
      "::1\tlocalhost ip6-localhost # also gone.test\n"
      "#10.0.0.1 gone.test\n"
      "10.0.0.2 API.test api\r\n"
      "10.0.0.2 api.test\n"
      "10.0.0.3 api.test #gone.test\n"
      "nonsense api.test\n"
      "10.0.0.4\n");
  EXPECT_EQ(texts(file.find("localhost")), (Texts{"127.0.0.1", "::1"}));
  EXPECT_EQ(texts(file.find("api.test")), (Texts{"10.0.0.2", "10.0.0.3"}));
  EXPECT_EQ(texts(file.find("api")), Texts{"10.0.0.2"});
  EXPECT_TRUE(file.find("gone.test").empty());
  EXPECT_TRUE(HostsFile().find("localhost").empty());
}

TEST(HostsFile, IsBounded) {
  std::string text;
  for (std::size_t i = 0; i < HostsFile::kMostAddresses + 5; ++i) {
    text += "10.0.0." + std::to_string(i) + " many.test\n";
  }
  for (std::size_t i = 0; i < HostsFile::kMostNames; ++i) {
    text += "10.0.1.1 n" + std::to_string(i) + ".test\n";
  }
  const HostsFile file = HostsFile::parse(text);
  EXPECT_EQ(file.find("many.test").size(), HostsFile::kMostAddresses);
  EXPECT_EQ(file.find("n" + std::to_string(HostsFile::kMostNames - 2) + ".test").size(), 1U);
  EXPECT_TRUE(file.find("n" + std::to_string(HostsFile::kMostNames - 1) + ".test").empty());
}

TEST(DnsFiles, AreReadAgainWhenTheyChange) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "damper_dns_files_test";
  std::filesystem::create_directories(folder);
  const std::string conf = folder / "resolv.conf";
  const std::string hosts = folder / "hosts";
  std::filesystem::remove(conf);
  std::filesystem::remove(hosts);
  DnsFiles files(conf, hosts);
  files.refresh();
  EXPECT_EQ(files.conf(), ResolvConf());
  EXPECT_TRUE(files.hosts().find("api").empty());
  std::ofstream(conf) << "nameserver 10.0.0.1\n";
  std::ofstream(hosts) << "10.0.0.7 api\n";
  files.refresh();
  EXPECT_EQ(servers(files.conf()), Texts{"10.0.0.1:53"});
  EXPECT_EQ(texts(files.hosts().find("api")), Texts{"10.0.0.7"});
  // As editors do it: another file of the same size takes its place.
  std::ofstream(conf + ".new") << "nameserver 10.0.0.2\n";
  std::filesystem::rename(conf + ".new", conf);
  std::filesystem::remove(hosts);
  files.refresh();
  EXPECT_EQ(servers(files.conf()), Texts{"10.0.0.2:53"});
  EXPECT_TRUE(files.hosts().find("api").empty());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace damper::http
