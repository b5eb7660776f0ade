#include "damper/http/server/listen_address.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::http {
namespace {

// What is read, written again; or "error: why".
std::string read(std::string_view text) {
  const auto address = parse_listen_address(text);
  return address ? address->text() : "error: " + address.error();
}

TEST(ListenAddress, WithoutAnAddressItIsLoopbackAndOnlyZerosAreTheWorld) {
  EXPECT_EQ(read(":8080"), "127.0.0.1:8080");
  EXPECT_EQ(read("localhost:8080"), "127.0.0.1:8080");
  EXPECT_EQ(read("0.0.0.0:8080"), "0.0.0.0:8080");
  EXPECT_EQ(read("10.1.2.3:0"), "10.1.2.3:0");
  EXPECT_EQ(read("[::]:443"), "[::]:443");
  EXPECT_EQ(read("[0:0:0:0:0:0:0:1]:443"), "[::1]:443");
}

TEST(ListenAddress, WhatIsNoAddressIsRefusedWithTheReason) {
  EXPECT_EQ(read("8080"), "error: it has no port");
  for (const std::string_view port : {":", ":-1", ":65536", ":80x", ":999999", ": 80"}) {
    EXPECT_EQ(read(port), "error: a port is a number from 0 to 65535") << port;
  }
  for (const std::string_view host :
       {"shop.example:80", "::1:80", "[::1:80", "[127.0.0.1]:80", "127.1:80", "256.0.0.1:80",
        "[]:80", "*:80", "0x7f.0.0.1:80", "[fe80::1%eth0]:80"}) {
    EXPECT_EQ(read(host),
              "error: the address is neither IPv4 nor IPv6 in brackets; a name is not "
              "accepted")
        << host;
  }
}

TEST(ListenAddress, OneThatStandsForEveryAddressOverlapsWithEachOfItsPort) {
  const auto both = [](const char* one, const char* other) {
    const auto a = *parse_listen_address(one);
    const auto b = *parse_listen_address(other);
    EXPECT_EQ(overlap(a, b), overlap(b, a));
    return overlap(a, b);
  };
  EXPECT_TRUE(both(":80", ":80"));
  EXPECT_TRUE(both("0.0.0.0:80", "127.0.0.1:80"));
  EXPECT_TRUE(both("[::]:80", "127.0.0.1:80"));
  EXPECT_TRUE(both("[::]:80", "[::1]:80"));
  EXPECT_FALSE(both("0.0.0.0:80", "[::1]:80"));
  EXPECT_FALSE(both("0.0.0.0:80", "127.0.0.1:81"));
  EXPECT_FALSE(both("127.0.0.1:80", "127.0.0.2:80"));
}

}  // namespace
}  // namespace damper::http
