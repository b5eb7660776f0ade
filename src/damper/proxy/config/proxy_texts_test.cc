#include "damper/proxy/config/proxy_texts.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::proxy {
namespace {

std::string shown(const Expected<std::string>& read) {
  return read ? *read : "error: " + read.error();
}

TEST(ProxyTexts, AHostIsANameAnAddressOrEverythingUnderAName) {
  EXPECT_EQ(shown(read_host("Shop.Example")), "shop.example");
  EXPECT_EQ(shown(read_host("*.Shop.example")), "*.shop.example");
  EXPECT_EQ(shown(read_host("10.0.0.1")), "10.0.0.1");
  EXPECT_EQ(shown(read_host("[::1]")), "[::1]");
  EXPECT_EQ(shown(read_host("*")), "error: leave hosts out to take every host");
  EXPECT_EQ(shown(read_host("a.*.example")), "error: a * stands only before the first dot");
  EXPECT_EQ(shown(read_host("*.*.example")), "error: a * stands only before the first dot");
  EXPECT_EQ(shown(read_host("*shop.example")), "error: a * stands only before the first dot");
  EXPECT_EQ(shown(read_host("*.10.0.0.1")), "error: an address has no subdomains");
  for (const std::string_view wrong :
       {"", "shop.example:80", "shop.example:81", "shop.example/", "shop.example.", "http://a",
        "a b", "user@a", "*.", "a..b"}) {
    EXPECT_FALSE(read_host(wrong)) << wrong;
  }
}

TEST(ProxyTexts, APathBeginsWithASlashAndHasNoQuery) {
  EXPECT_EQ(shown(read_path("/")), "/");
  EXPECT_EQ(shown(read_path("/a/../b%2e")), "/a/../b%2e");
  for (const std::string_view wrong : {"", "a", "/a?b", "/a#b", "/a b", "/%", "*", "/\xc3\xa4"}) {
    EXPECT_FALSE(read_path(wrong)) << wrong;
  }
  EXPECT_TRUE(read_path("/" + std::string(1023, 'a')));
  EXPECT_FALSE(read_path("/" + std::string(1024, 'a')));
}

TEST(ProxyTexts, AMethodIsInCapitals) {
  EXPECT_EQ(shown(read_method("M-SEARCH")), "M-SEARCH");
  for (const std::string_view wrong : {"", "get", "GEt", "GET POST", "GET,PUT"}) {
    EXPECT_FALSE(read_method(wrong)) << wrong;
  }
  EXPECT_FALSE(read_method(std::string(33, 'A')));
}

TEST(ProxyTexts, AnUpgradeIsAProtocolAndNeverH2c) {
  EXPECT_EQ(shown(read_upgrade("WebSocket")), "websocket");
  EXPECT_EQ(shown(read_upgrade("*")), "*");
  EXPECT_EQ(shown(read_upgrade("H2C")),
            "error: the requests inside would pass by routes, limits and the log");
  for (const std::string_view wrong : {"", "a b", "a,b", "a/1"}) {
    EXPECT_FALSE(read_upgrade(wrong)) << wrong;
  }
  EXPECT_FALSE(read_upgrade(std::string(33, 'a')));
}

TEST(ProxyTexts, AHeaderIsOneThatARequestsFieldsCanHave) {
  EXPECT_EQ(shown(read_header_name("X-Canary")), "x-canary");
  EXPECT_EQ(shown(read_header_name("Host")), "error: hosts is for that");
  EXPECT_EQ(shown(read_header_name("Connection")),
            "error: this one is about one hop and never passed on");
  for (const std::string_view wrong : {"", "a b", "a:", ":path", "\xc3\xa4"}) {
    EXPECT_FALSE(read_header_name(wrong)) << wrong;
  }
  EXPECT_EQ(shown(read_header_value("a \"b\" \\")), "a \"b\" \\");
  for (const std::string_view wrong : {"", " a", "a ", "a\nb", "a\tb", "\x7f"}) {
    EXPECT_FALSE(read_header_value(wrong)) << wrong;
  }
}

TEST(ProxyTexts, AnEndpointIsAUrlWithoutAPath) {
  EXPECT_EQ(shown(read_endpoint("HTTP://A.example:80/")), "http://a.example");
  EXPECT_EQ(shown(read_endpoint("https://[::1]:9000")), "https://[::1]:9000");
  EXPECT_EQ(shown(read_endpoint("10.0.0.1:9000")), "error: a URL begins with http:// or https://");
  EXPECT_EQ(shown(read_endpoint("http://a/b")), "error: an endpoint has neither path nor query");
  EXPECT_EQ(shown(read_endpoint("http://a:0")), "error: a port is a number from 1 to 65535");
}

TEST(ProxyTexts, AnAuthorityMayHaveAPort) {
  EXPECT_EQ(shown(read_authority("Shop.example:8080")), "shop.example:8080");
  EXPECT_EQ(shown(read_authority("10.0.0.1")), "10.0.0.1");
  for (const std::string_view wrong : {"", "a/", "a/b", "a?", "u@a", "a:b", "http://a"}) {
    EXPECT_FALSE(read_authority(wrong)) << wrong;
  }
}

TEST(ProxyTexts, FilesAndNamesArePrintable) {
  EXPECT_EQ(shown(read_file_name("/etc/my keys/a.pem")), "/etc/my keys/a.pem");
  EXPECT_FALSE(read_file_name(""));
  EXPECT_FALSE(read_file_name("a\nb"));
  EXPECT_FALSE(read_file_name(std::string(1025, 'a')));
}

}  // namespace
}  // namespace damper::proxy
