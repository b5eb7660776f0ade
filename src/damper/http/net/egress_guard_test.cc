#include "damper/http/net/egress_guard.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::http {
namespace {

std::string refusal(const EgressGuard& guard, std::string_view address,
                    std::string_view host = {}) {
  return guard.find_refusal(*IpAddress::find(address), host).value_or("allowed");
}

TEST(EgressGuard, ARefusalNamesTheAddressAndItsClass) {
  const EgressGuard guard;
  EXPECT_EQ(refusal(guard, "8.8.8.8"), "allowed");
  EXPECT_EQ(refusal(guard, "10.0.0.7"),
            "10.0.0.7 is a private address, which is not allowed (private_use)");
  EXPECT_EQ(refusal(guard, "10.0.0.7", "10.0.0.7"),
            "10.0.0.7 is a private address, which is not allowed (private_use)");
  EXPECT_EQ(refusal(guard, "127.0.0.1", "shop.test"),
            "shop.test resolves to 127.0.0.1, a loopback address, which is not allowed (loopback)");
  EXPECT_EQ(refusal(guard, "169.254.169.254"),
            "169.254.169.254 is the address of a cloud's metadata service, which is not allowed "
            "(metadata)");
}

TEST(EgressGuard, AnAllowedNetworkIsAllowedInItsMappedFormToo) {
  const EgressGuard guard{.allowed = {*Network::find("127.0.0.0/8"), *Network::find("::1")}};
  for (const char* address : {"127.0.0.1", "::ffff:127.0.0.1", "::1", "8.8.8.8"}) {
    EXPECT_EQ(refusal(guard, address), "allowed") << address;
  }
  for (const char* address : {"10.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::127.0.0.1",
                              "2002:7f00:1::", "fd00::1"}) {
    EXPECT_NE(refusal(guard, address), "allowed") << address;
  }
}

TEST(EgressGuard, MetadataIsRefusedWhateverIsAllowed) {
  const EgressGuard guard{.allowed = {*Network::find("0.0.0.0/0"), *Network::find("::/0"),
                                      *Network::find("169.254.169.254")}};
  EXPECT_EQ(refusal(guard, "10.0.0.1"), "allowed");
  EXPECT_EQ(refusal(guard, "fe80::1"), "allowed");
  for (const char* address : {"169.254.169.254", "::ffff:169.254.169.254", "::169.254.169.254",
                              "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "fd00:ec2::254"}) {
    EXPECT_NE(refusal(guard, address), "allowed") << address;
  }
}

TEST(EgressGuard, ARefusedNetworkIsRefusedWhateverIsAllowed) {
  const EgressGuard guard{.allowed = {*Network::find("10.0.0.0/8")},
                          .refused = {*Network::find("8.8.0.0/16"), *Network::find("10.9.0.0/16"),
                                      *Network::find("2a00:64:ff9b::/96")}};
  EXPECT_EQ(refusal(guard, "8.9.0.1"), "allowed");
  EXPECT_EQ(refusal(guard, "10.8.0.1"), "allowed");
  for (const char* address : {"8.8.8.8", "::ffff:8.8.8.8", "10.9.0.1", "2a00:64:ff9b::a9fe:a9fe"}) {
    EXPECT_NE(refusal(guard, address), "allowed") << address;
  }
}

TEST(EgressGuard, AnAddressInAnotherSpellingDoesNotResolve) {
  EXPECT_EQ(refusal({}, "::ffff:7f00:1", "0:0:0:0:0:ffff:127.0.0.1"), refusal({}, "::ffff:7f00:1"));
}

TEST(EgressGuard, SchemesAndPortsAreListed) {
  EXPECT_FALSE(EgressGuard{}.find_refusal(false, 22));
  const EgressGuard guard{.ports = {443, 8443}, .allow_plain = false};
  EXPECT_FALSE(guard.find_refusal(true, 443));
  EXPECT_FALSE(guard.find_refusal(true, 8443));
  EXPECT_EQ(guard.find_refusal(true, 22), "the port 22 is not allowed");
  EXPECT_EQ(guard.find_refusal(false, 443), "the scheme http is not allowed; https is");
}

TEST(EgressGuard, ListsAreBounded) {
  EXPECT_FALSE(find_error(EgressGuard{}));
  EXPECT_EQ(find_error(EgressGuard{.ports = std::vector<std::uint16_t>(1001)}),
            "ports is 1001; it must be from 0 to 1000");
  EXPECT_TRUE(
      find_error(EgressGuard{.allowed = std::vector<Network>(1001, *Network::find("127.0.0.1"))}));
  EXPECT_EQ(find_error(EgressGuard{.refused = {{*IpAddress::find("1.2.3.4"), 33}}}),
            "the network 1.2.3.4/33 is longer than its address");
}

}  // namespace
}  // namespace damper::http
