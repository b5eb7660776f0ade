#include "damper/http/tls/tls_settings.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/http/net/net_testing.h"

namespace damper::http {
namespace {

TlsServerOptions server_options(const TestCertificate& certificate) {
  TlsServerOptions options;
  options.identity.certificate_pem = certificate.certificate_pem;
  options.identity.key_pem = certificate.key_pem;
  return options;
}

TEST(TlsSettings, SaysWhatIsWrong) {
  const TestCertificate one = make_certificate("one");
  const TestCertificate two = make_certificate("two");
  TlsServerOptions options;
  EXPECT_EQ(TlsSettings::for_server(options).error(), "a server needs a certificate");
  options.identity.certificate_file = "/nowhere/at/all";
  EXPECT_NE(TlsSettings::for_server(options).error().find("certificate_file /nowhere/at/all"),
            std::string::npos);
  options = server_options({one.certificate_pem, two.key_pem});
  EXPECT_NE(TlsSettings::for_server(options).error().find("key_pem has no key that fits"),
            std::string::npos);
  options = server_options({"nonsense", two.key_pem});
  EXPECT_NE(TlsSettings::for_server(options).error().find("certificate_pem has no"),
            std::string::npos);
  options = server_options(one);
  options.protocol.cipher_suites = {"HIGH"};
  EXPECT_NE(TlsSettings::for_server(options).error().find("cipher_suites has"), std::string::npos);
  options = server_options(one);
  options.require_client_certificate = true;
  EXPECT_EQ(TlsSettings::for_server(options).error(),
            "require_client_certificate needs a client_ca_file: whose certificates are good");
  options.client_ca_file = "/nowhere/at/all";
  EXPECT_NE(TlsSettings::for_server(options).error().find("client_ca_file /nowhere"),
            std::string::npos);
  options.client_ca_pem = "nonsense";
  EXPECT_NE(TlsSettings::for_server(options).error().find("client_ca_pem has no"),
            std::string::npos);
  TlsClientOptions client;
  client.ca_pem = "nonsense";
  EXPECT_NE(TlsSettings::for_client(client).error().find("ca_pem has no"), std::string::npos);
  client = {};
  client.ca_file = "/nowhere/at/all";
  EXPECT_NE(TlsSettings::for_client(client).error().find("ca_file /nowhere"), std::string::npos);
}

}  // namespace
}  // namespace damper::http
