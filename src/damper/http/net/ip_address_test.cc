#include "damper/http/net/ip_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>

#include "damper/base/random.h"

namespace damper::http {
namespace {

// As the C library reads it.
std::optional<IpAddress> find_by_libc(const std::string& text) {
  IpAddress::V4 v4{};
  IpAddress::V6 v6{};
  if (inet_pton(AF_INET, text.c_str(), v4.data()) == 1) return IpAddress(v4);
  if (inet_pton(AF_INET6, text.c_str(), v6.data()) == 1) return IpAddress(v6);
  return std::nullopt;
}

TEST(IpAddress, IsReadAsTheCLibraryReadsIt) {
  for (const char* text : {"1.2.3.4",
                           "0.0.0.0",
                           "255.255.255.255",
                           "256.1.1.1",
                           "1.2.3",
                           "1.2.3.4.5",
                           "01.2.3.4",
                           "00.0.0.0",
                           "1..2.3",
                           "1.2.3.",
                           ".1.2.3",
                           "1.2.3.4 ",
                           " 1.2.3.4",
                           "0x7f.0.0.1",
                           "2130706433",
                           "",
                           "::",
                           "::1",
                           "1::",
                           ":::",
                           ":",
                           "1:",
                           ":1",
                           "1::2::3",
                           "1:2:3:4:5:6:7:8",
                           "1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:8:9",
                           "::1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7::",
                           "::1:2:3:4:5:6:7:8",
                           "1:2:3:4::5:6:7:8",
                           "fFfF::ABCD",
                           "12345::",
                           "g::",
                           "::1.2.3.4",
                           "::ffff:127.0.0.1",
                           "1:2:3:4:5:6:1.2.3.4",
                           "1:2:3:4:5:6:7:1.2.3.4",
                           "1.2.3.4::",
                           "::1.2.3",
                           "::1.2.3.4:5",
                           "64:ff9b::1.2.3.4",
                           "fe80::1%1",
                           "[::1]",
                           "1:2:3:4:5:6:7::8",
                           "0:0:0:0:0:0:0:0",
                           "::01.2.3.4",
                           "1::1.2.3.256"}) {
    EXPECT_EQ(IpAddress::find(text), find_by_libc(text)) << text;
  }
}

TEST(IpAddress, AnyTextOfItsCharactersIsReadAsTheCLibraryReadsIt) {
  constexpr std::string_view kCharacters = "0123456789abf::::..";
  Random random(7);
  int valid = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    const std::size_t size = random.bits() % 12;
    for (std::size_t j = 0; j < size; ++j) text += kCharacters[random.bits() % kCharacters.size()];
    const auto found = IpAddress::find(text);
    ASSERT_EQ(found, find_by_libc(text)) << text;
    valid += found ? 1 : 0;
  }
  EXPECT_GT(valid, 50);
}

TEST(IpAddress, IsWrittenAsItIsRead) {
  for (const char* text : {"127.0.0.1", "::", "::1", "2001:db8::7", "::ffff:127.0.0.1"}) {
    EXPECT_EQ(IpAddress::find(text)->text(), text);
  }
}

TEST(IpAddress, AMappedAddressIsIpv4) {
  const auto unmapped = [](std::string_view text) {
    return IpAddress::find(text)->unmapped().text();
  };
  EXPECT_EQ(unmapped("::ffff:10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(unmapped("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(unmapped("2001:db8::ffff:a00:1"), "2001:db8::ffff:a00:1");
  EXPECT_EQ(unmapped("::1"), "::1");
}

TEST(IpAddress, ANetworkIsItsFirstBits) {
  const auto contains = [](std::string_view network, std::string_view address) {
    return Network::find(network)->contains(*IpAddress::find(address));
  };
  EXPECT_TRUE(contains("10.0.0.0/8", "10.255.255.255"));
  EXPECT_FALSE(contains("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(contains("172.16.0.0/12", "172.31.255.255"));
  EXPECT_FALSE(contains("172.16.0.0/12", "172.32.0.0"));
  EXPECT_FALSE(contains("172.16.0.0/12", "172.15.255.255"));
  EXPECT_TRUE(contains("0.0.0.0/0", "8.8.8.8"));
  EXPECT_FALSE(contains("0.0.0.0/0", "::1"));
  EXPECT_FALSE(contains("::/0", "8.8.8.8"));
  EXPECT_TRUE(contains("127.0.0.1", "127.0.0.1"));
  EXPECT_FALSE(contains("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(contains("fe80::/10", "febf::1"));
  EXPECT_FALSE(contains("fe80::/10", "fec0::1"));
}

TEST(IpAddress, ANetworkHasNoBitsAfterItsLength) {
  for (const char* bad : {"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/a",
                          "10.0.0.0/-1", "/8", "::1/127", "::/129", "10.0.0.0/8/8"}) {
    EXPECT_FALSE(Network::find(bad)) << bad;
  }
}

}  // namespace
}  // namespace damper::http
