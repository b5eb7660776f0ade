#include "damper/proxy/data/kept_orders.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::proxy {
namespace {

using std::chrono::seconds;

struct Order {
  std::string text;
  Instant until = kNever;
};

const std::vector<SwitchScope> kExisting = {SwitchScope::route("shop@stable"),
                                            SwitchScope::route("shop@canary"),
                                            SwitchScope::route("assets")};

std::string find(const KeptOrders<Order>& orders, const std::string& route) {
  const Order* const found = orders.find(SwitchScope::route(route));
  return found == nullptr ? "-" : found->text;
}

TEST(KeptOrders, AnOrderForARouteIsOneForItsParts) {
  KeptOrders<Order> orders;
  orders.set(SwitchScope::route("shop"), {"off"}, kExisting);
  EXPECT_EQ(find(orders, "shop"), "off");
  EXPECT_EQ(find(orders, "shop@stable"), "off");
  EXPECT_EQ(find(orders, "shop@later"), "off");  // A reload adds it.
  EXPECT_EQ(find(orders, "shopping"), "-");
  EXPECT_EQ(find(orders, "assets"), "-");
  EXPECT_EQ(orders.find(SwitchScope::cluster("shop")), nullptr);
}

TEST(KeptOrders, AnOrderForAPartLeavesTheOthersAsTheyAre) {
  KeptOrders<Order> orders;
  orders.set(SwitchScope::route("shop"), {"off"}, kExisting);
  orders.set(SwitchScope::route("shop@canary"), {"on"}, kExisting);
  EXPECT_EQ(find(orders, "shop@canary"), "on");
  EXPECT_EQ(find(orders, "shop@stable"), "off");
  EXPECT_EQ(find(orders, "shop@later"), "-");
}

TEST(KeptOrders, AnOrderForARouteReplacesThoseForItsParts) {
  KeptOrders<Order> orders;
  orders.set(SwitchScope::route("shop@canary"), {"off"}, kExisting);
  orders.set(SwitchScope::route("shop@gone"), {"off"}, kExisting);
  EXPECT_EQ(find(orders, "shop@stable"), "-");
  orders.set(SwitchScope::route("shop"), {"on"}, kExisting);
  EXPECT_EQ(find(orders, "shop@canary"), "on");
  EXPECT_EQ(find(orders, "shop@gone"), "on");
}

TEST(KeptOrders, AnOrderIsForgottenAtItsEnd) {
  KeptOrders<Order> orders;
  const Instant at = Instant{} + seconds(10);
  orders.set(SwitchScope::route("assets"), {"off", at}, kExisting);
  orders.forget_expired(at - Duration(1));
  EXPECT_EQ(find(orders, "assets"), "off");
  orders.forget_expired(at);
  EXPECT_EQ(find(orders, "assets"), "-");
}

}  // namespace
}  // namespace damper::proxy
