#include "damper/proxy/admin/orders.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::proxy {
namespace {

std::string error_of(std::string_view text) {
  const auto order = parse_switch_order(text);
  return order ? "" : order.error();
}

TEST(SwitchOrder, SaysWhereWhatWhyAndForHowLong) {
  const auto order = parse_switch_order(
      R"({"scope":"route/checkout","switch":"hedging","off":true,"reason":"db","for":"30m"})");
  ASSERT_TRUE(order) << order.error();
  EXPECT_EQ(order->scope, SwitchScope::route("checkout"));
  EXPECT_EQ(order->which, admit::Switch::hedging);
  EXPECT_TRUE(order->off);
  EXPECT_EQ(order->reason, "db");
  EXPECT_EQ(order->length, std::chrono::minutes(30));
  const Instant now{std::chrono::hours(1)};
  EXPECT_EQ(order->setting(now).until, now + std::chrono::minutes(30));
}

TEST(SwitchOrder, WithoutALengthItIsUntilItIsTurnedOn) {
  const auto order = parse_switch_order(R"({"switch":"retries","off":true,"reason":"db"})");
  ASSERT_TRUE(order) << order.error();
  EXPECT_EQ(order->scope, SwitchScope{});
  EXPECT_EQ(order->setting(Instant{}).until, kNever);
}

TEST(SwitchOrder, TurningOffNeedsAReason) {  // (1)
  EXPECT_EQ(error_of(R"({"switch":"retries","off":true})"),
            "reason is missing: the next person on duty has to know why the switch is off");
  EXPECT_NE(error_of(R"({"switch":"retries","off":true,"reason":" \n"})"), "");
  EXPECT_EQ(error_of(R"({"switch":"retries","off":false})"), "");
  EXPECT_EQ(
      error_of(R"({"switch":"retries","off":true,"reason":")" + std::string(121, 'x') + "\"}"),
      "reason has 121 bytes; it must have at most 120");
}

TEST(SwitchOrder, WhatIsWrongIsSaidInASentence) {
  EXPECT_EQ(error_of(R"({"switch":"retrys","off":true,"reason":"x"})"),
            R"(switch is "retrys"; it must be one of retries, hedging)");
  EXPECT_EQ(error_of(R"({"switch":"retries","off":true,"resaon":"x"})"),
            "unknown key \"resaon\"; did you mean reason? (accepted: scope, switch, off, reason, "
            "for)");
  EXPECT_EQ(error_of(R"({"switch":"retries","off":1,"reason":"x"})"), "off must be true or false");
  EXPECT_EQ(error_of(R"({"switch":"retries","off":true,"reason":7})"), "reason must be a string");
  EXPECT_EQ(error_of(R"({"switch":"retries","off":true,"reason":"x","for":"0s"})"),
            "for is 0; it must be more than 0");
  EXPECT_NE(error_of(R"({"switch":"retries","off":true,"reason":"x","for":"soon"})"), "");
  EXPECT_EQ(error_of(R"({"switch":"retries","off":false,"for":"1m"})"),
            "for is only accepted with off: true");
  EXPECT_EQ(error_of(R"({"scope":"checkout","switch":"retries","off":false})"),
            R"(scope is "checkout"; it must be process, cluster/NAME or route/NAME)");
  EXPECT_NE(error_of(R"({"scope":"route/","switch":"retries","off":false})"), "");  // (2)
}

TEST(SwitchOrder, HostileTextsAreRefused) {
  EXPECT_NE(error_of(""), "");
  EXPECT_NE(error_of("[]"), "");
  EXPECT_NE(error_of(R"({"off":true)"), "");
  EXPECT_NE(error_of(R"({"switch":"retries","off":false} x)"), "");
  EXPECT_NE(error_of("{\"switch\":\"\xff\",\"off\":true}"), "");
  EXPECT_NE(error_of(std::string(60'000, '[')), "");
  EXPECT_EQ(error_of(std::string(kMostOrderBytes + 1, ' ')),
            "the body is invalid: it has more than 65536 bytes");
  const std::string deep = R"({"scope":{"a":{"b":{"c":{"d":1}}}}})";
  EXPECT_EQ(error_of(deep).find("the body is invalid: it is nested deeper"), 0U) << error_of(deep);
}

TEST(SwitchOrder, WhatIsPrintedReadsTheSame) {  // (3)
  const SwitchOrder order{.scope = SwitchScope::cluster("\"x\""),
                          .which = admit::Switch::hedging,
                          .off = true,
                          .reason = "a\nb \\",
                          .length = std::chrono::seconds(90)};
  const auto back = parse_switch_order(print_order(order));
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(*back, order);
}

}  // namespace
}  // namespace damper::proxy
