#include "damper/http/tls/server_certificates.h"

#include <gtest/gtest.h>

#include "damper/http/net/net_testing.h"

namespace damper::http {
namespace {

using Indexes = std::vector<std::size_t>;

TlsServerCertificate certificate_for(const std::string& name,
                                     std::vector<std::string> server_names = {}) {
  const TestCertificate made = make_certificate(name);
  return {.identity = {.certificate_file = {},
                       .key_file = {},
                       .certificate_pem = made.certificate_pem,
                       .key_pem = made.key_pem},
          .server_names = std::move(server_names)};
}

TEST(ServerCertificates, FindsAnExactNameThenAWildcardOfOneLabel) {
  const auto all = ServerCertificates::load({certificate_for("a.test"), certificate_for("*.b.test"),
                                             certificate_for("x.b.test"),
                                             certificate_for("c.test", {"d.test", "*.E.test"})});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->find("a.test"), Indexes{0});
  EXPECT_EQ(all->find("A.TEST"), Indexes{0});
  EXPECT_EQ(all->find("y.b.test"), Indexes{1});
  EXPECT_EQ(all->find("x.b.test"), Indexes{2});
  EXPECT_EQ(all->find("b.test"), Indexes{});
  EXPECT_EQ(all->find("y.z.b.test"), Indexes{});
  EXPECT_EQ(all->find(".b.test"), Indexes{});
  EXPECT_EQ(all->find("c.test"), Indexes{});  // server_names are instead of its own.
  EXPECT_EQ(all->find("d.test"), Indexes{3});
  EXPECT_EQ(all->find("z.e.test"), Indexes{3});
  EXPECT_EQ(all->find(""), Indexes{});
}

TEST(ServerCertificates, OfTwoOfOneKeyTypeTheFirstHasTheName) {
  const auto all = ServerCertificates::load({certificate_for("a.test"), certificate_for("a.test")});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->find("a.test"), Indexes{0});
}

TEST(ServerCertificates, KnowsTheEndOfEachCertificate) {
  const auto all = ServerCertificates::load({certificate_for("a.test")});
  ASSERT_TRUE(all);
  const std::int64_t left = all->facts()[0].not_after - std::time(nullptr);
  EXPECT_GT(left, 3000);
  EXPECT_LE(left, 3600);
  EXPECT_EQ(all->facts()[0].names, std::vector<std::string>{"a.test"});
}

TEST(ServerCertificates, RefusesADamagedChain) {
  TlsServerCertificate one = certificate_for("a.test");
  const std::string whole = one.identity.certificate_pem;
  one.identity.certificate_pem = whole + whole.substr(0, whole.size() / 2);
  EXPECT_NE(ServerCertificates::load({one}).error().find("has a damaged certificate"),
            std::string::npos);
}

}  // namespace
}  // namespace damper::http
