#include "damper/proxy/config/trust.h"

#include <gtest/gtest.h>

namespace damper::proxy {
namespace {

using Words = std::vector<std::string>;

TEST(Trust, IsAllNoneOrNetworks) {
  const Trust networks = Trust::of(Words{"10.0.0.0/8", "fd00::/8", "192.0.2.7"}, false);
  EXPECT_TRUE(networks.trusts("10.200.0.1"));
  EXPECT_TRUE(networks.trusts("fd00::1"));
  EXPECT_TRUE(networks.trusts("192.0.2.7"));
  EXPECT_FALSE(networks.trusts("192.0.2.8"));
  EXPECT_FALSE(networks.trusts("11.0.0.1"));
  EXPECT_FALSE(networks.trusts(""));
  EXPECT_FALSE(networks.trusts("10.0.0.1, 1.1.1.1"));
  EXPECT_TRUE(Trust::of(Words{"all"}, false).trusts("11.0.0.1"));
  EXPECT_FALSE(Trust::of(Words{"none"}, true).trusts("127.0.0.1"));
  EXPECT_FALSE(Trust().trusts("127.0.0.1"));
}

TEST(Trust, ByDefaultOnlyAListenerOnLoopbackTrustsItsPeers) {
  EXPECT_TRUE(Trust::of(Words{"auto"}, true).trusts("127.0.0.1"));
  EXPECT_FALSE(Trust::of(Words{"auto"}, false).trusts("127.0.0.1"));
}

TEST(Trust, AnIpv4AddressInsideOfIpv6IsTheIpv4Address) {
  const Trust trust = Trust::of(Words{"10.0.0.0/8"}, false);
  EXPECT_TRUE(trust.trusts("::ffff:10.0.0.1"));
  EXPECT_FALSE(trust.trusts("::ffff:11.0.0.1"));
  EXPECT_FALSE(trust.trusts("::10.0.0.1"));
}

// The client by x-forwarded-for in one line, or in several.
std::string client_of(const Trust& trust, const Words& lines, std::string_view peer) {
  std::string_view client = peer;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (!trust.follow(*line, client)) break;
  }
  return std::string(client);
}

TEST(Trust, TheClientIsTheLastOfTheChainThatIsNotTrusted) {
  const Trust trust = Trust::of(Words{"10.0.0.0/8"}, false);
  EXPECT_EQ(client_of(trust, {""}, "1.1.1.1"), "1.1.1.1");
  EXPECT_EQ(client_of(trust, {"9.9.9.9"}, "1.1.1.1"), "1.1.1.1");  // A stranger's own words.
  EXPECT_EQ(client_of(trust, {"9.9.9.9"}, "10.0.0.1"), "9.9.9.9");
  EXPECT_EQ(client_of(trust, {"8.8.8.8, 9.9.9.9,10.0.0.2"}, "10.0.0.1"), "9.9.9.9");
  EXPECT_EQ(client_of(trust, {"10.0.0.3, 10.0.0.2"}, "10.0.0.1"), "10.0.0.3");
  EXPECT_EQ(client_of(trust, {"8.8.8.8, unknown, 10.0.0.2"}, "10.0.0.1"), "10.0.0.2");
  EXPECT_EQ(client_of(trust, {","}, "10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(client_of(trust, {"8.8.8.8,,10.0.0.2,"}, "10.0.0.1"), "8.8.8.8");  // RFC 9110, 5.6.1.2
  EXPECT_EQ(client_of(Trust::all(), {"8.8.8.8, 9.9.9.9"}, "10.0.0.1"), "8.8.8.8");
}

TEST(Trust, SeveralLinesAreReadAsOne) {
  const Trust trust = Trust::of(Words{"10.0.0.0/8"}, false);
  const Words cases[] = {{"6.6.6.6", "unknown"},  {"6.6.6.6", "10.0.0.2, unknown"},
                         {"6.6.6.6", "10.0.0.2"}, {"6.6.6.6", "9.9.9.9"},
                         {"6.6.6.6", ""},         {"6.6.6.6", "unknown, 10.0.0.2", "10.0.0.3"}};
  for (const Words& lines : cases) {
    std::string joined;
    for (const std::string& line : lines) joined += (joined.empty() ? "" : ", ") + line;
    EXPECT_EQ(client_of(trust, lines, "10.0.0.1"), client_of(trust, {joined}, "10.0.0.1"))
        << joined;
  }
  EXPECT_EQ(client_of(trust, {"6.6.6.6", "unknown"}, "10.0.0.1"), "10.0.0.1");
}

TEST(Trust, APartOfTheChainMayHaveAPort) {
  const Trust trust = Trust::of(Words{"10.0.0.0/8", "fd00::/8"}, false);
  EXPECT_EQ(client_of(trust, {"9.9.9.9:8080"}, "10.0.0.1"), "9.9.9.9");
  EXPECT_EQ(client_of(trust, {"8.8.8.8, 10.0.0.2:5, [fd00::1]:80, [fd00::2]"}, "10.0.0.1"),
            "8.8.8.8");
  EXPECT_EQ(client_of(trust, {"[2001:db8::1]:80"}, "10.0.0.1"), "2001:db8::1");
  for (const char* const none : {"9.9.9.9:", "9.9.9.9:x", "9.9.9.9:123456", "[9.9.9.9]:1", "[::1",
                                 "[::1]x", "[::1]:", "[]", "[", ":80", "::1]:80"}) {
    EXPECT_EQ(client_of(trust, {none}, "10.0.0.1"), "10.0.0.1") << none;
  }
}

TEST(Trust, IsReadWordByWord) {
  EXPECT_EQ(*read_trust("10.0.0.0/8"), "10.0.0.0/8");
  EXPECT_EQ(*read_trust("all"), "all");
  EXPECT_EQ(read_trust("10.0.0.1/8").error(),
            "its length is out of bounds, or it has bits after its length");
  EXPECT_EQ(read_trust("everyone").error(), "");
  EXPECT_FALSE(find_peers_error(Words{"10.0.0.0/8", "::1"}));
  EXPECT_EQ(find_peers_error(Words{"10.0.0.0/8", "all"}), "\"all\" stands alone, without networks");
  EXPECT_EQ(find_peers_error(Words{}), "it is empty: write none");
}

TEST(Trust, ANetworkOfIpv4AddressesInsideOfIpv6IsTheIpv4Network) {
  EXPECT_EQ(*read_trust("::ffff:127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(*read_peers("::ffff:127.0.0.0/104"), "127.0.0.0/8");
  EXPECT_EQ(*read_peers("::ffff:0:0/96"), "0.0.0.0/0");
  EXPECT_EQ(*read_peers("::FFFF:10.1.0.0/112"), "10.1.0.0/16");
  EXPECT_EQ(*read_peers("::/0"), "::/0");
  EXPECT_EQ(*read_peers("::10.0.0.0/104"), "::10.0.0.0/104");
  EXPECT_FALSE(read_peers("::ffff:127.0.0.0/95"));
  EXPECT_FALSE(read_peers("::ffff:127.0.0.1/104"));
  const Trust trust = Trust::of(Words{"::ffff:127.0.0.0/104"}, false);
  EXPECT_TRUE(trust.trusts("127.0.0.1"));
  EXPECT_TRUE(trust.trusts("::ffff:127.0.0.1"));
  EXPECT_FALSE(trust.trusts("128.0.0.1"));
  EXPECT_FALSE(trust.trusts("::1"));
}

}  // namespace
}  // namespace damper::proxy
