#include "damper/webhooks/dispatch/holds.h"

#include <gtest/gtest.h>

namespace damper::webhooks {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow{};
constexpr Id kEndpoint{7};
const HoldScope kAll{};
const HoldScope kAcme{.application = "acme"};
const HoldScope kOne{.application = "acme", .endpoint = kEndpoint};
const HoldOrder kOff{.off = true, .reason = "why"};

TEST(Holds, AnAttemptIsHeldByItsEndpointItsApplicationOrEverything) {
  for (const HoldScope& scope : {kAll, kAcme, kOne}) {
    Holds holds;
    EXPECT_FALSE(holds.held_until(Hold::deliveries, "acme", kEndpoint, kNow));
    ASSERT_TRUE(holds.set(scope, Hold::deliveries, kOff, kNow));
    EXPECT_EQ(holds.held_until(Hold::deliveries, "acme", kEndpoint, kNow), kNever);
    EXPECT_FALSE(holds.held_until(Hold::retries, "acme", kEndpoint, kNow));
    const bool all = scope.application.empty();
    EXPECT_EQ(holds.held_until(Hold::deliveries, "other", Id{8}, kNow).has_value(), all);
    EXPECT_EQ(holds.held_until(Hold::deliveries, "acme", Id{8}, kNow).has_value(),
              !scope.endpoint.has_value());
    ASSERT_TRUE(holds.set(scope, Hold::deliveries, {}, kNow));
    EXPECT_FALSE(holds.held_until(Hold::deliveries, "acme", kEndpoint, kNow));
  }
}

TEST(Holds, TheLongestHoldCountsAndEndsByItself) {
  Holds holds;
  HoldOrder order = kOff;
  order.length = 10s;
  ASSERT_TRUE(holds.set(kAll, Hold::retries, order, kNow));
  order.length = 20s;
  ASSERT_TRUE(holds.set(kOne, Hold::retries, order, kNow));
  EXPECT_EQ(holds.held_until(Hold::retries, "acme", kEndpoint, kNow), kNow + 20s);
  EXPECT_EQ(holds.held_until(Hold::retries, "acme", kEndpoint, kNow + 20s), std::nullopt);
  EXPECT_EQ(holds.status(kOne, Hold::retries, kNow + 5s).remaining, Duration(15s));
  EXPECT_EQ(holds.list(kNow).size(), 2U);
  EXPECT_EQ(holds.list(kNow + 10s).size(), 1U);
  EXPECT_FALSE(holds.status(kAll, Hold::retries, kNow + 10s).off);
}

TEST(Holds, TheirNumberIsBoundedButEverythingCanBeHeld) {
  Holds holds;
  HoldOrder order = kOff;
  order.length = 1s;
  for (std::size_t i = 0; i < Holds::kMost; ++i) {
    const HoldScope scope{.application = "a", .endpoint = Id{static_cast<std::int64_t>(i)}};
    ASSERT_TRUE(holds.set(scope, Hold::deliveries, order, kNow));
  }
  const HoldScope more{.application = "a", .endpoint = Id{1 << 20}};
  EXPECT_FALSE(holds.set(more, Hold::retries, kOff, kNow));
  EXPECT_TRUE(holds.set({.application = "a", .endpoint = Id{5}}, Hold::deliveries, order, kNow));
  EXPECT_TRUE(holds.set({.application = "a"}, Hold::retries, kOff, kNow)) << "the tenant itself";
  EXPECT_TRUE(holds.set(kAll, Hold::retries, kOff, kNow));
  EXPECT_TRUE(holds.set(more, Hold::retries, kOff, kNow + 1s)) << "those that ended do not count";
}

TEST(Holds, TheLastEndOfAHoldIsRemembered) {
  Holds holds;
  HoldOrder order = kOff;
  order.length = 10s;
  const auto last_end = [&](Instant now) { return holds.last_end("acme", kEndpoint, now); };
  EXPECT_EQ(last_end(kNow), Instant::min());
  ASSERT_TRUE(holds.set(kAcme, Hold::deliveries, order, kNow));
  EXPECT_EQ(last_end(kNow + 9s), Instant::min()) << "it has not ended";
  EXPECT_EQ(last_end(kNow + 30s), kNow + 10s) << "by itself";
  ASSERT_TRUE(holds.set(kOne, Hold::retries, kOff, kNow + 15s));
  ASSERT_TRUE(holds.set(kOne, Hold::retries, {}, kNow + 20s));
  EXPECT_EQ(last_end(kNow + 30s), kNow + 20s) << "by an order";
  ASSERT_TRUE(holds.set(kOne, Hold::retries, {}, kNow + 25s));
  EXPECT_EQ(last_end(kNow + 30s), kNow + 20s) << "an order without effect";
  EXPECT_EQ(holds.last_end("acme", Id{8}, kNow + 30s), kNow + 10s);
  EXPECT_EQ(holds.last_end("other", Id{8}, kNow + 30s), Instant::min());
  order.length = -5s;  // as it is read from the store
  ASSERT_TRUE(holds.set(kAll, Hold::deliveries, order, kNow + 30s));
  EXPECT_FALSE(holds.held_until(Hold::deliveries, "other", Id{8}, kNow + 30s));
  EXPECT_EQ(holds.last_end("other", Id{8}, kNow + 30s), kNow + 25s);
}

TEST(Holds, AStoredHoldIsReadAgain) {
  const UnixTime now{1000s};
  HoldOrder order{.off = true, .reason = "a \"quote\"", .length = 30s};
  for (const HoldScope& scope : {kAll, kAcme, kOne}) {
    const std::string name = hold_setting(scope, Hold::retries);
    const std::string text = hold_text(scope, order, now);
    const auto hold = find_stored_hold(name, text, now + 10s);
    ASSERT_TRUE(hold) << name << text;
    EXPECT_EQ(hold->scope.application, scope.application);
    EXPECT_EQ(hold->scope.endpoint, scope.endpoint);
    EXPECT_EQ(hold->which, Hold::retries);
    EXPECT_EQ(hold->order.reason, order.reason);
    EXPECT_EQ(hold->order.length, Duration(20s));
    // One that has ended is read as such, whether by itself or by an order.
    EXPECT_EQ(find_stored_hold(name, text, now + 40s)->order.length, Duration(-10s));
    EXPECT_EQ(find_stored_hold(name, hold_text(scope, {}, now), now + 1s)->order.length,
              Duration(-1s));
  }
  EXPECT_FALSE(find_stored_hold("other", "{}", now));
  EXPECT_FALSE(find_stored_hold("hold.hedging", "{}", now));
  EXPECT_FALSE(find_stored_hold("hold.retries.endpoint.x", "{}", now));
  EXPECT_FALSE(find_stored_hold("hold.retries", "[", now));
}

}  // namespace
}  // namespace damper::webhooks
