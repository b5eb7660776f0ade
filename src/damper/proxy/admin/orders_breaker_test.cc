#include "damper/proxy/admin/orders.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::proxy {
namespace {

using admit::BreakerForce;

std::string error_of(std::string_view text) {
  const auto order = parse_breaker_order(text);
  return order ? "" : order.error();
}

TEST(BreakerOrder, NamesScopeStateReasonAndLength) {
  const auto order = parse_breaker_order(
      R"({"scope":"route/checkout","force":"open","reason":"db failover","for":"30m"})");
  ASSERT_TRUE(order) << order.error();
  EXPECT_EQ(order->scope, SwitchScope::route("checkout"));
  EXPECT_EQ(order->replica, "");
  EXPECT_EQ(order->force, BreakerForce::open);
  EXPECT_EQ(order->setting().length, std::chrono::minutes(30));
  EXPECT_EQ(order->setting().reason, "db failover");
  const auto replica = parse_breaker_order(
      R"({"scope":"cluster/payments","replica":"10.0.0.7:80","force":"closed","reason":"x"})");
  ASSERT_TRUE(replica) << replica.error();
  EXPECT_EQ(replica->replica, "10.0.0.7:80");
  EXPECT_EQ(replica->setting().length, std::chrono::minutes(10));  // The default: never without.
}

TEST(BreakerOrder, ForcingNeedsAReasonAndABoundedLength) {  // (1)
  EXPECT_EQ(error_of(R"({"scope":"route/a","force":"open"})"),
            "reason is missing: the next person on duty has to know why the breaker is forced");
  EXPECT_EQ(error_of(R"({"scope":"route/a","force":"none"})"), "");
  EXPECT_EQ(error_of(R"({"scope":"route/a","force":"open","reason":"x","for":"25h"})"),
            "for is 25h; it must be from 1ms to 24h");
  EXPECT_EQ(error_of(R"({"scope":"route/a","force":"open","reason":"x","for":"1ns"})"),
            "for is 1ns; it must be from 1ms to 24h");
  EXPECT_EQ(error_of(R"({"scope":"route/a","force":"open","reason":"x","for":"0s"})"),
            "for is 0; it must be more than 0");
  EXPECT_EQ(error_of(R"({"scope":"route/a","force":"none","for":"1m"})"),
            "for is only accepted with force: open or closed");
}

TEST(BreakerOrder, AnInvalidOneIsRefusedInASentence) {
  EXPECT_EQ(error_of(R"({"force":"open","reason":"x"})"),  // (2)
            "scope is the process; it must be cluster/NAME or route/NAME");
  EXPECT_EQ(error_of(R"({"scope":"route/a","replica":"b","force":"none"})"),
            "replica is only accepted with a scope of cluster/NAME");
  EXPECT_EQ(error_of(R"({"scope":"cluster/a","replica":"","force":"none"})"),
            "replica has 0 bytes; it must have from 1 to 300");
  EXPECT_EQ(error_of(R"({"scope":"route/a"})"), "force is missing: one of none, open, closed");
  EXPECT_EQ(error_of(R"({"scope":"route/a","force":"ajar"})"),
            R"(force is "ajar"; it must be one of none, open, closed)");
  EXPECT_EQ(error_of(R"({"scope":"route/a","force":true})"), "force must be a string");
  EXPECT_EQ(error_of(R"({"scope":"route/a","force":"open","resaon":"x"})"),
            "unknown key \"resaon\"; did you mean reason? (accepted: scope, replica, force, "
            "reason, for)");
}

TEST(BreakerOrder, HostileTextsAreRefused) {
  EXPECT_NE(error_of(""), "");
  EXPECT_EQ(error_of("[]"),
            "the body must be a JSON object with scope, replica, force, reason, for");
  EXPECT_NE(error_of(R"({"scope":"route/a","force":"none"} x)"), "");
  EXPECT_NE(error_of("{\"scope\":\"route/a\",\"force\":\"\xff\"}"), "");
  EXPECT_NE(error_of(std::string(60'000, '[')), "");
  EXPECT_EQ(error_of(std::string(kMostOrderBytes + 1, ' ')),
            "the body is invalid: it has more than 65536 bytes");
  EXPECT_EQ(error_of(R"({"scope":"cluster/a","replica":")" + std::string(301, 'x') +
                     R"(","force":"none"})"),
            "replica has 301 bytes; it must have from 1 to 300");
}

TEST(BreakerOrder, APrintedOneReadsTheSame) {  // (3)
  const BreakerOrder order{.scope = SwitchScope::cluster("\"x\""),
                           .replica = "http://a:1 10.0.0.7",
                           .force = BreakerForce::closed,
                           .reason = "a\nb \\",
                           .length = std::chrono::seconds(90)};
  const auto back = parse_breaker_order(print_breaker_order(order));
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(*back, order);
}

}  // namespace
}  // namespace damper::proxy
