#include "damper/proxy/config/tls_schema.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {
namespace {

std::string tls_file_with(const std::string& listener_tls, const std::string& cluster_tls = "") {
  return "listeners:\n  web:\n    address: \":0\"\n    tls: { " + listener_tls +
         " }\nclusters:\n  up:\n    endpoints: [\"https://10.0.0.1:1\"]\n    tls: { " +
         cluster_tls + " }\n";
}

std::string tls_error_of(const std::string& listener_tls, const std::string& cluster_tls = "") {
  const auto loaded = load_proxy(tls_file_with(listener_tls, cluster_tls), "f");
  return loaded ? "" : to_string(loaded.error());
}

TEST(TlsSchema, EveryKeyIsReadAndPrinted) {
  const auto loaded = load_proxy(
      tls_file_with(
          "certificates: [{ certificate_file: a.crt, key_file: a.key }, { certificate_chain: "
          "b.crt, private_key: b.key, server_names: [B.test, \"*.c.test\"] }], "
          "reject_unknown_names: true, min_version: TLSv1_3, max_version: TLSv1_3, "
          "cipher_suites: [TLS_AES_128_GCM_SHA256], curves: [X25519], session_timeout: off",
          "sni: up.test, tls_minimum_protocol_version: TLSv1_3, ecdh_curves: [P-256], "
          "cipher_suites: [AES128-SHA]"),
      "f");
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  for (const auto& again : {*loaded, *load_proxy(print_proxy(*loaded), "f")}) {
    const http::TlsServerOptions& tls = *again.listeners[0].tls;
    ASSERT_EQ(tls.certificates.size(), 2u);
    EXPECT_EQ(tls.certificates[0].identity.certificate_file, "a.crt");
    EXPECT_EQ(tls.certificates[1].identity.key_file, "b.key");
    EXPECT_EQ(tls.certificates[1].server_names, (std::vector<std::string>{"b.test", "*.c.test"}));
    EXPECT_TRUE(tls.reject_unknown_names);
    EXPECT_EQ(tls.protocol.min_version, http::TlsVersion::tls1_3);
    EXPECT_EQ(tls.protocol.cipher_suites, std::vector<std::string>{"TLS_AES_128_GCM_SHA256"});
    EXPECT_EQ(tls.protocol.curves, std::vector<std::string>{"X25519"});
    EXPECT_EQ(tls.session_timeout, Duration{0});
    const http::TlsClientOptions& client = again.clusters[0].tls;
    EXPECT_EQ(client.server_name, "up.test");
    EXPECT_EQ(client.protocol.min_version, http::TlsVersion::tls1_3);
    EXPECT_EQ(client.protocol.cipher_suites, std::vector<std::string>{"AES128-SHA"});
    EXPECT_EQ(client.protocol.curves, std::vector<std::string>{"P-256"});
  }
}

TEST(TlsSchema, AnErrorIsOneSentenceWithItsPlace) {
  const std::string good = "certificate_file: a, key_file: b, ";
  EXPECT_EQ(tls_error_of("certificate_file: a"),
            "f:4:30: listener web has tls but not both of certificate_file and key_file");
  EXPECT_EQ(tls_error_of("min_version: TLSv1_2"),
            "f:2:3: listener web has tls but not both of certificate_file and key_file");
  EXPECT_EQ(tls_error_of(good + "cipher_suites: [HIGH]"),
            "f:4:61: listener web: cipher_suites has \"HIGH\", which OpenSSL does not have; a name "
            "is such as ECDHE-RSA-AES128-GCM-SHA256 or TLS_AES_128_GCM_SHA256");
  EXPECT_NE(tls_error_of(good + "curves: [P-1]").find("listener web: curves has \"P-1\""),
            std::string::npos);
  EXPECT_NE(tls_error_of(good + "min_version: TLSv1_3, max_version: TLSv1_2")
                .find("min_version is TLSv1_3, which is over max_version"),
            std::string::npos);
  EXPECT_NE(tls_error_of(good, "cipher_suites: [NULL-SHA256]").find("f:8:"), std::string::npos);
  for (const std::string bad :
       {"min_version: TLSv1_1", "cipher_suites: []", "cipher_suites: [\"A:B\"]", "curves: [\"!\"]",
        "session_timeout: 25h", "certificates: []", "certificates: [{ certificate_file: a }]",
        "certificates: [{ certificate_file: a, key_file: b, names: [c] }]",
        "certificates: [{ certificate_file: a, key_file: b, server_names: [\"*\"] }]",
        "certificates: { certificate_file: a, key_file: b }"}) {
    EXPECT_EQ(tls_error_of(good + bad).find("f:4:"), 0u) << bad << ": " << tls_error_of(good + bad);
  }
  EXPECT_EQ(tls_error_of(good, "sni: \"a b\"").find("f:8:"), 0u);
  EXPECT_EQ(tls_error_of(good, "sni: \"*.up.test\"").find("f:8:"), 0u);
}

}  // namespace
}  // namespace damper::proxy
