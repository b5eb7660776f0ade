#include "damper/proxy/names/name_rule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace damper::proxy {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr NameRule kTtl{
    .every = kForever, .shortest = seconds(10), .longest = seconds(100), .needs_dns = true};

Duration after(Duration ttl, double draw = 0, http::DnsResult result = http::DnsResult::found) {
  return next_lookup(kTtl, {.result = result, .ttl = ttl}, 0, draw);
}
Duration after_failures(const NameRule& rule, std::uint32_t failures, double draw = 0) {
  return next_lookup(rule, {.result = http::DnsResult::timed_out}, failures, draw);
}

TEST(NameRule, ATtlCountsWithinItsBounds) {
  EXPECT_EQ(after(seconds(50)), seconds(50));
  EXPECT_EQ(after(seconds(10)), seconds(10));
  EXPECT_EQ(after(seconds(0)), seconds(10));
  EXPECT_EQ(after(seconds(9)), seconds(10));
  EXPECT_EQ(after(seconds(100)), seconds(100));
  EXPECT_EQ(after(seconds(0x7fffffff)), seconds(100));
  EXPECT_EQ(after(seconds(0), 0, http::DnsResult::no_name), seconds(10));
  EXPECT_EQ(after(seconds(30), 0, http::DnsResult::no_data), seconds(30));
}

TEST(NameRule, ALookupIsLaterThanTheTtlButNotOutsideOfTheBounds) {
  EXPECT_EQ(after(seconds(50), 0.5), milliseconds(52'500));
  EXPECT_EQ(after(seconds(0), 0.5), milliseconds(10'500));
  EXPECT_EQ(after(seconds(100), 0.5), seconds(95));  // Later is not allowed.
  for (const int ttl : {0, 9, 10, 50, 91, 95, 99, 100, 1000}) {
    for (const double draw : {0.0, 0.1, 0.5, 0.999}) {
      EXPECT_GE(after(seconds(ttl), draw), seconds(10));
      EXPECT_LE(after(seconds(ttl), draw), seconds(100));
    }
  }
  const NameRule exact{.every = kForever, .shortest = seconds(7), .longest = seconds(7)};
  EXPECT_EQ(next_lookup(exact, {.result = http::DnsResult::found}, 0, 0.9), seconds(7));
}

TEST(NameRule, WithoutBoundsItHasItsInterval) {
  const NameRule rule{.every = seconds(10)};
  const http::DnsLookup found{.result = http::DnsResult::found, .ttl = seconds(1)};
  EXPECT_EQ(next_lookup(rule, found, 0, 0), seconds(10));
  EXPECT_EQ(next_lookup(rule, found, 0, 0.5), milliseconds(9'500));
}

TEST(NameRule, FailuresAreFollowedByLongerWaits) {
  EXPECT_EQ(after_failures(kTtl, 1), seconds(10));  // Half of 20, and up to that.
  EXPECT_EQ(after_failures(kTtl, 1, 0.5), seconds(15));
  EXPECT_EQ(after_failures(kTtl, 2), seconds(15));  // Of 30.
  EXPECT_EQ(after_failures(kTtl, 50), seconds(15));
  EXPECT_LE(after_failures(kTtl, 0xffffffffU, 0.999), NameRule::kLongestBackoff);
  // An interval that is longer than the longest backoff is not shortened by a failure.
  EXPECT_EQ(after_failures({.every = minutes(10)}, 1), minutes(10));
  EXPECT_EQ(after_failures({.every = seconds(1), .shortest = seconds(10)}, 1), seconds(1));
}

TEST(NameRule, TwoClustersHaveTheStricterOfTheirRules) {
  NameRule rule{.every = seconds(10)};
  rule.join(kTtl);
  EXPECT_EQ(rule, (NameRule{.every = seconds(10),
                            .shortest = seconds(10),
                            .longest = seconds(100),
                            .needs_dns = true}));
  rule.join({.every = seconds(3), .shortest = seconds(20), .longest = seconds(20)});
  EXPECT_EQ(rule, (NameRule{.every = seconds(3),
                            .shortest = seconds(10),
                            .longest = seconds(20),
                            .needs_dns = true}));
  // The interval and the TTL: what is earlier.
  const http::DnsLookup found{.result = http::DnsResult::found, .ttl = seconds(1)};
  EXPECT_EQ(next_lookup(rule, found, 0, 0), seconds(3));
}

TEST(NameRule, NamesAreTheHostsAndServicesOfEndpoints) {
  ProxyConfig config;
  config.clusters.resize(2);
  config.clusters[0].endpoints = {"http://10.0.0.1",    "http://[::1]:80",
                                  "unix:/run/app.sock", "http://api.test:80",
                                  "http://api.test:81", "http+srv://_http._tcp.shop.test"};
  config.clusters[0].dns.refresh = seconds(7);
  config.clusters[1].endpoints = {"https://api.test", "https://other.test"};
  config.clusters[1].dns = {
      .respect_ttl = true, .min_refresh = seconds(10), .max_refresh = seconds(100)};
  const NameRules names = names_in(config);
  ASSERT_EQ(names.size(), 3U);
  EXPECT_EQ(names.at("api.test"), (NameRule{.every = seconds(7),
                                            .shortest = seconds(10),
                                            .longest = seconds(100),
                                            .needs_dns = true}));
  EXPECT_EQ(names.at("other.test"), kTtl);
  EXPECT_EQ(names.at("srv:_http._tcp.shop.test"),
            (NameRule{.every = seconds(7), .needs_dns = true}));
}

}  // namespace
}  // namespace damper::proxy
