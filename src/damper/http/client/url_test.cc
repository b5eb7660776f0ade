#include "damper/http/client/url.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::http {
namespace {

std::string parts(std::string_view text) {
  const auto url = parse_url(text);
  if (!url) return "error: " + url.error();
  return std::string(url->endpoint.scheme()) + " " + url->endpoint.host + " " +
         std::to_string(url->endpoint.port) + " " + url->target;
}

TEST(Url, IsReadInItsParts) {
  EXPECT_EQ(parts("http://example.com"), "http example.com 80 /");
  EXPECT_EQ(parts("https://example.com"), "https example.com 443 /");
  EXPECT_EQ(parts("HTTPS://Example.COM:8443/A/b?q=%2F&r"), "https example.com 8443 /A/b?q=%2F&r");
  EXPECT_EQ(parts("http://127.0.0.1:9000/x"), "http 127.0.0.1 9000 /x");
  EXPECT_EQ(parts("http://[::1]:9000/x"), "http ::1 9000 /x");
  EXPECT_EQ(parts("http://a?q"), "http a 80 /?q");
  EXPECT_EQ(parts("http://a_b.c-d/"), "http a_b.c-d 80 /");
}

TEST(Url, AnAuthorityLeavesOutTheSchemesOwnPort) {
  EXPECT_EQ(parse_url("http://a:80/")->endpoint.authority(), "a");
  EXPECT_EQ(parse_url("https://a:80/")->endpoint.authority(), "a:80");
  EXPECT_EQ(parse_url("https://[2001:db8::1]:443/")->endpoint.authority(), "[2001:db8::1]");
  EXPECT_EQ(parse_url("https://a:8443/")->endpoint.text(), "https://a:8443");
}

TEST(Url, WhatTwoReadersCouldTakeForTwoHostsIsRefused) {
  for (const char* text : {
           "http://user@example.com/",     // a user name
           "http://good.com@evil.com/",    //
           "http://good.com\\@evil.com/",  // a backslash
           "http://good.com%2f.evil.com/",
           "http:///path",
           "http://",
           "http:/a",
           "//a/b",
           "ftp://a/",
           "http://a:/",
           "http://a:0/",
           "http://a:65536/",
           "http://a:080/",
           "http://a:8 0/",
           "http://a..b/",
           "http://.a/",
           "http://a./",
           "http://2130706433/",  // 127.0.0.1 to some
           "http://0x7f.1/",
           "http://0x7f000001/",
           "http://127.1/",
           "http://127.0.0.01/",
           "http://127.0.0.256/",
           "http://1.2.3.4.5/",
           "http://[::1/",
           "http://[::1]x/",
           "http://[fe80::1%25eth0]/",
           "http://[127.0.0.1]/",
           "http://::1/",
           "http://a/ b",
           "http://a/b\r\nHost: c",
           "http://a/\x80",
           "http://a/%2",
           "http://a/%zz",
           "http://a/b#c",
           "http://a#c",
           "http://a/<b>",
       }) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
  EXPECT_FALSE(parse_url(std::string_view("http://a/\0", 10)));
}

TEST(Url, SizesAreBounded) {
  const std::string base = "http://a/";
  EXPECT_TRUE(parse_url(base + std::string(kMostUrlBytes - base.size(), 'x')));
  EXPECT_FALSE(parse_url(base + std::string(kMostUrlBytes - base.size() + 1, 'x')));
  EXPECT_TRUE(parse_url("http://" + std::string(63, 'a') + ".b/"));
  EXPECT_FALSE(parse_url("http://" + std::string(64, 'a') + ".b/"));
}

TEST(Url, AnEndpointHasNoTarget) {
  EXPECT_EQ(parse_endpoint("http://127.0.0.1:9000")->port, 9000);
  EXPECT_EQ(parse_endpoint("http://127.0.0.1:9000/")->port, 9000);
  EXPECT_FALSE(parse_endpoint("http://127.0.0.1:9000/x"));
  EXPECT_FALSE(parse_endpoint("http://127.0.0.1:9000?x"));
}

TEST(Url, AnAddressIsKnownFromAName) {
  EXPECT_TRUE(is_address("127.0.0.1"));
  EXPECT_TRUE(is_address("::1"));
  EXPECT_FALSE(is_address("localhost"));
}

}  // namespace
}  // namespace damper::http
