#include "damper/proxy/control/control_address.h"

#include <gtest/gtest.h>

namespace damper::proxy {
namespace {

TEST(ControlAddress, HasMembersAndAPrefix) {
  const auto one = parse_control_address("etcd://127.0.0.1:2379/damper/prod");
  ASSERT_TRUE(one) << one.error();
  ASSERT_EQ(one->endpoints.size(), 1U);
  EXPECT_EQ(one->endpoints[0].text(), "http://127.0.0.1:2379");
  EXPECT_EQ(one->prefix, "/damper/prod");

  const auto three = parse_control_address("etcds://a,b:1234,[::1]/x");
  ASSERT_TRUE(three) << three.error();
  ASSERT_EQ(three->endpoints.size(), 3U);
  EXPECT_EQ(three->endpoints[0].text(), "https://a:2379");
  EXPECT_EQ(three->endpoints[1].text(), "https://b:1234");
  EXPECT_EQ(three->endpoints[2].text(), "https://[::1]:2379");
}

TEST(ControlAddress, CertificatesAreOfTlsAndCanBeRead) {
  http::TlsClientOptions tls;
  EXPECT_TRUE(parse_control_address("etcds://a/x", tls));  // The system's.
  tls.ca_file = "/nowhere/ca.pem";
  const auto missing = parse_control_address("etcds://a/x", tls);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().find("/nowhere/ca.pem"), std::string::npos) << missing.error();
  const auto plain = parse_control_address("etcd://a/x", tls);
  ASSERT_FALSE(plain);
  EXPECT_NE(plain.error().find("etcds://"), std::string::npos) << plain.error();
  tls = {};
  tls.identity.certificate_file = "/nowhere/cert.pem";
  const auto half = parse_control_address("etcds://a/x", tls);
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().find("go together"), std::string::npos) << half.error();
}

TEST(ControlAddress, WhatIsNotIsASentence) {
  for (const char* text :
       {"", "etcd://", "http://127.0.0.1:2379/damper", "etcd://127.0.0.1:2379",
        "etcd://127.0.0.1:2379/", "etcd:///damper", "etcd://a,/damper", "etcd://a/x/",
        "etcd://a/x//y", "etcd://a/x y", "etcd://a/x?y", "etcd://user@a/x", "etcd://a:0/x",
        "etcd://a:99999/x", "etcd://a,a,a,a,a,a,a,a,a,a/x"}) {
    EXPECT_FALSE(parse_control_address(text)) << text;
  }
  EXPECT_FALSE(parse_control_address("etcd://a/" + std::string(200, 'x')));
  EXPECT_TRUE(parse_control_address("etcd://a/" + std::string(199, 'x')));
}

}  // namespace
}  // namespace damper::proxy
