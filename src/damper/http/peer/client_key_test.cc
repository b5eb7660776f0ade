#include "damper/http/peer/client_key.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

ClientKey key(std::string_view address) { return ClientKey::of_address(address); }

TEST(ClientKey, IsTheWholeIpv4Address) {
  EXPECT_EQ(key("10.0.0.7"), key("10.0.0.7"));
  EXPECT_NE(key("10.0.0.7"), key("10.0.0.8"));
  EXPECT_NE(key("10.0.0.7"), key("11.0.0.7"));
}

TEST(ClientKey, IsTheFirst64BitsOfAnIpv6Address) {
  EXPECT_EQ(key("2001:db8:0:1::1"), key("2001:db8:0:1:ffff:ffff:ffff:ffff"));
  EXPECT_NE(key("2001:db8:0:1::1"), key("2001:db8:0:2::1"));
}

TEST(ClientKey, OfAMappedAddressIsThatOfTheIpv4Address) {
  EXPECT_EQ(key("::ffff:10.0.0.7"), key("10.0.0.7"));
  EXPECT_NE(key("::ffff:10.0.0.7"), key("::ffff:10.0.0.8"));
  EXPECT_EQ(key("::10.0.0.7"), key("::10.0.0.8"));  // Not mapped: one /64.
}

TEST(ClientKey, OfATextIsNeverThatOfAnAddress) {
  EXPECT_NE(ClientKey::of_text("10.0.0.7"), key("10.0.0.7"));
  EXPECT_EQ(ClientKey::of_text("alice"), ClientKey::of_text("alice"));
  EXPECT_NE(ClientKey::of_text("alice"), ClientKey::of_text("bob"));
  EXPECT_EQ(key(""), ClientKey::of_text(""));
}

}  // namespace
}  // namespace damper::http
