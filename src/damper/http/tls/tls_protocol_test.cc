#include "damper/http/tls/tls_protocol.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

TlsProtocolOptions with_suites(std::vector<std::string> suites) {
  TlsProtocolOptions options;
  options.cipher_suites = std::move(suites);
  return options;
}

TEST(TlsProtocol, TakesNamesOfOpensslAndOfIana) {
  EXPECT_FALSE(find_error(TlsProtocolOptions{}));
  EXPECT_FALSE(find_error(with_suites({"ECDHE-RSA-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256",
                                       "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "AES128-SHA"})));
  TlsProtocolOptions options;
  options.curves = {"X25519", "P-256"};
  EXPECT_FALSE(find_error(options));
}

TEST(TlsProtocol, NamesWhatOpensslDoesNotHave) {
  for (const std::string name : {"HIGH", "ALL", "ECDHE-NOT-THIS", "TLS_NOT_THIS", "A:B", ""}) {
    const auto error = find_error(with_suites({"ECDHE-RSA-AES128-GCM-SHA256", name}));
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->member, "cipher_suites");
    EXPECT_EQ(error->sentence, "cipher_suites has \"" + name +
                                   "\", which OpenSSL does not have; a name is such as "
                                   "ECDHE-RSA-AES128-GCM-SHA256 or TLS_AES_128_GCM_SHA256");
  }
  TlsProtocolOptions options;
  options.curves = {"P-256", "P-1"};
  EXPECT_EQ(find_error(options)->sentence,
            "curves has \"P-1\", which OpenSSL does not have; a name is such as X25519 or P-256");
  options = {};
  options.min_version = TlsVersion::tls1_3;
  options.max_version = TlsVersion::tls1_2;
  EXPECT_EQ(find_error(options)->sentence, "min_version is TLSv1_3, which is over max_version");
}

}  // namespace
}  // namespace damper::http
