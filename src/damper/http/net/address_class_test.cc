#include "damper/http/net/address_class.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace damper::http {
namespace {

std::string_view class_name(std::string_view text) {
  const auto address = IpAddress::find(text);
  return address ? name(class_of(*address)) : "no address";
}

static_assert(class_of(*IpAddress::find("127.0.0.1")) == AddressClass::loopback);  // constexpr

TEST(AddressClass, EachRangeIsKnownFromItsFirstToItsLastAddress) {
  const std::vector<std::array<std::string_view, 3>> ranges = {
      {"0.0.0.0", "0.255.255.255", "this_network"},
      {"10.0.0.0", "10.255.255.255", "private_use"},
      {"100.64.0.0", "100.127.255.255", "shared_space"},
      {"127.0.0.0", "127.255.255.255", "loopback"},
      {"169.254.0.0", "169.254.255.255", "link_local"},
      {"172.16.0.0", "172.31.255.255", "private_use"},
      {"192.0.0.0", "192.0.0.255", "special"},
      {"192.0.2.0", "192.0.2.255", "documentation"},
      {"192.31.196.0", "192.31.196.255", "special"},
      {"192.52.193.0", "192.52.193.255", "special"},
      {"192.88.99.0", "192.88.99.255", "transition"},
      {"192.168.0.0", "192.168.255.255", "private_use"},
      {"192.175.48.0", "192.175.48.255", "special"},
      {"198.18.0.0", "198.19.255.255", "benchmarking"},
      {"198.51.100.0", "198.51.100.255", "documentation"},
      {"203.0.113.0", "203.0.113.255", "documentation"},
      {"224.0.0.0", "239.255.255.255", "multicast"},
      {"240.0.0.0", "255.255.255.255", "reserved"},
      {"::", "::", "this_network"},
      {"::1", "::1", "loopback"},
      {"100::", "100::ffff:ffff:ffff:ffff", "special"},
      {"100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", "special"},
      {"2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "benchmarking"},
      {"2001:1::", "2001:1:ffff::", "special"},
      {"2001:3::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "special"},
      {"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"},
      {"2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "special"},
      {"3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"},
      {"5f00::", "5f00:ffff::", "special"},
      {"fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "private_use"},
      {"fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "link_local"},
      {"fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "site_local"},
      {"ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast"},
      {"4000::", "5eff:ffff::", "reserved"},
      {"6000::", "fbff:ffff::", "reserved"},
      {"1000::", "1fff:ffff::", "reserved"},
  };
  for (const auto& [first, last, wanted] : ranges) {
    EXPECT_EQ(class_name(first), wanted) << first;
    EXPECT_EQ(class_name(last), wanted) << last;
  }
}

TEST(AddressClass, TheNeighboursOfARangeArePublic) {
  for (const char* text :
       {"1.0.0.0",         "9.255.255.255",   "11.0.0.0",        "100.63.255.255",
        "100.128.0.0",     "126.255.255.255", "128.0.0.0",       "169.253.255.255",
        "169.255.0.0",     "172.15.255.255",  "172.32.0.0",      "191.255.255.255",
        "192.0.1.0",       "192.0.3.0",       "192.31.195.255",  "192.31.197.0",
        "192.52.192.255",  "192.52.194.0",    "192.88.98.255",   "192.88.100.0",
        "192.167.255.255", "192.169.0.0",     "192.175.47.255",  "192.175.49.0",
        "198.17.255.255",  "198.20.0.0",      "198.51.99.255",   "198.51.101.0",
        "203.0.112.255",   "203.0.114.0",     "223.255.255.255", "8.8.8.8",
        "2000::",          "2001:200::",      "2001:db7:ffff::", "2001:db9::",
        "2003::",          "2606:4700::1111", "2620:4f:7fff::",  "2620:4f:8001::",
        "3ffe:ffff::",     "3fff:1000::"}) {
    EXPECT_EQ(class_name(text), "public_address") << text;
  }
}

TEST(AddressClass, MetadataIsAClassOfItsOwn) {
  for (const char* text :
       {"169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192",
        "168.63.129.16", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"}) {
    EXPECT_EQ(class_name(text), "metadata") << text;
  }
  EXPECT_EQ(class_name("169.254.169.253"), "link_local");
  EXPECT_EQ(class_name("fd00:ec2::255"), "private_use");
}

TEST(AddressClass, AnEmbeddedIpv4AddressDecides) {
  // The address in each format: mapped, NAT64, and those that are refused with any address inside.
  struct Embedded {
    std::string_view v4, hex, inverted;
    std::string_view wanted, in_transition;
  };
  const std::vector<Embedded> all = {
      {"127.0.0.1", "7f00:1", "80ff:fffe", "loopback", "loopback"},
      {"10.0.0.7", "a00:7", "f5ff:fff8", "private_use", "private_use"},
      {"169.254.169.254", "a9fe:a9fe", "5601:5601", "metadata", "metadata"},
      {"8.8.8.8", "808:808", "f7f7:f7f7", "public_address", "transition"},
  };
  for (const Embedded& one : all) {
    const std::string v4(one.v4);
    const std::string hex(one.hex);
    EXPECT_EQ(class_name("::ffff:" + v4), one.wanted) << v4;
    EXPECT_EQ(class_name("::ffff:" + hex), one.wanted) << v4;
    EXPECT_EQ(class_name("64:ff9b::" + v4), one.wanted) << v4;
    EXPECT_EQ(class_name("::" + v4), one.in_transition) << v4;
    EXPECT_EQ(class_name("::ffff:0:" + v4), one.in_transition) << v4;
    EXPECT_EQ(class_name("64:ff9b:1::" + v4), one.in_transition) << v4;
    EXPECT_EQ(class_name("2002:" + hex + "::1"), one.in_transition) << v4;
    // Teredo: the server, and the client with inverted bits.
    EXPECT_EQ(class_name("2001:0:" + hex + ":0:0:f7f7:f7f7"), one.in_transition) << v4;
    EXPECT_EQ(class_name("2001:0:808:808:0:0:" + std::string(one.inverted)), one.in_transition)
        << v4;
  }
  // RFC 6052 with a prefix of 48 bits: around the octet 64 to 71.
  EXPECT_EQ(class_name("64:ff9b:1:a9fe:a9:fe00::"), "metadata");
  // Metadata beside another address that is not public.
  EXPECT_EQ(class_name("2001:0:a9fe:a9fe:0:0:f5ff:fff8"), "metadata");
}

TEST(AddressClass, TheKernelConnectsAMappedAddressToTheIpv4Address) {
  EXPECT_EQ(unmapped(*IpAddress::find("::ffff:127.0.0.1")), *IpAddress::find("127.0.0.1"));
  EXPECT_EQ(unmapped(*IpAddress::find("::1")), *IpAddress::find("::1"));
  EXPECT_EQ(unmapped(*IpAddress::find("127.0.0.1")), *IpAddress::find("127.0.0.1"));
}

}  // namespace
}  // namespace damper::http
