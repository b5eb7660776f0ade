#include "damper/http/tls/tls_protocol.h"

#include <algorithm>
#include <memory>

#include "damper/base/text/words.h"
#include "damper/http/tls/openssl_types.h"

namespace damper::http {
namespace {

using Settings = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>>;

// OpenSSL's name of a suite; that of TLS 1.3 is IANA's.
std::string openssl_name(const std::string& name) {
  if (name.find("_WITH_") == std::string::npos) return name;
  const char* const known = OPENSSL_cipher_name(name.c_str());
  return known == nullptr ? name : known;
}
bool is_tls13(const std::string& name) {
  return name.starts_with("TLS_") && name.find("_WITH_") == std::string::npos;
}

// The suite of exactly this name: OpenSSL also takes names of classes, such as ALL.
const SSL_CIPHER* find_suite(SSL_CTX* settings, const std::string& name) {
  const std::string own = openssl_name(name);
  const bool taken = is_tls13(name) ? SSL_CTX_set_ciphersuites(settings, own.c_str()) == 1
                                    : SSL_CTX_set_cipher_list(settings, own.c_str()) == 1;
  ERR_clear_error();
  if (!taken) return nullptr;
  STACK_OF(SSL_CIPHER)* const all = SSL_CTX_get_ciphers(settings);
  for (int i = 0; i < sk_SSL_CIPHER_num(all); ++i) {
    const SSL_CIPHER* const one = sk_SSL_CIPHER_value(all, i);
    if (own == SSL_CIPHER_get_name(one)) return one;
  }
  return nullptr;
}

std::string join(const std::vector<std::string>& names, bool tls13) {
  std::string out;
  for (const std::string& name : names) {
    if (is_tls13(name) != tls13) continue;
    out.append(out.empty() ? "" : ":").append(openssl_name(name));
  }
  return out;
}

std::string join_curves(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ":").append(name);
  return out;
}

int number_of(TlsVersion version) {
  return version == TlsVersion::tls1_2 ? TLS1_2_VERSION : TLS1_3_VERSION;
}

}  // namespace

std::optional<TlsProtocolError> find_error(const TlsProtocolOptions& options) {
  if (options.min_version > options.max_version) {
    return TlsProtocolError{.member = "min_version",
                            .sentence = "min_version is TLSv1_3, which is over max_version"};
  }
  if (options.cipher_suites.empty() && options.curves.empty()) return std::nullopt;
  const Settings settings(SSL_CTX_new(TLS_method()));
  if (!settings) return TlsProtocolError{.member = "cipher_suites", .sentence = "no TLS"};
  for (const std::string& name : options.cipher_suites) {
    const SSL_CIPHER* const suite = find_suite(settings.get(), name);
    if (suite == nullptr) {
      return TlsProtocolError{.member = "cipher_suites",
                              .sentence = "cipher_suites has " + text::in_quotes(name) +
                                          ", which OpenSSL does not have; a name is such as "
                                          "ECDHE-RSA-AES128-GCM-SHA256 or TLS_AES_128_GCM_SHA256"};
    }
    if (SSL_CIPHER_get_cipher_nid(suite) == NID_undef ||
        SSL_CIPHER_get_auth_nid(suite) == NID_auth_null) {
      return TlsProtocolError{.member = "cipher_suites",
                              .sentence = "cipher_suites has " + text::in_quotes(name) +
                                          ", which does not encrypt or does not authenticate"};
    }
  }
  for (const std::string& name : options.curves) {
    if (name.find(':') == std::string::npos &&
        SSL_CTX_set1_groups_list(settings.get(), name.c_str()) == 1) {
      continue;
    }
    ERR_clear_error();
    return TlsProtocolError{.member = "curves",
                            .sentence = "curves has " + text::in_quotes(name) +
                                        ", which OpenSSL does not have; a name is such as X25519 "
                                        "or P-256"};
  }
  return std::nullopt;
}

bool try_apply(const TlsProtocolOptions& options, ssl_ctx_st* settings, bool is_server) {
  std::string tls12 = join(options.cipher_suites, false);
  if (tls12.empty() && is_server) tls12 = kServerCiphers;
  const std::string tls13 = join(options.cipher_suites, true);
  const std::string curves = join_curves(options.curves);
  return SSL_CTX_set_min_proto_version(settings, number_of(options.min_version)) == 1 &&
         SSL_CTX_set_max_proto_version(settings, number_of(options.max_version)) == 1 &&
         (tls12.empty() || SSL_CTX_set_cipher_list(settings, tls12.c_str()) == 1) &&
         (tls13.empty() || SSL_CTX_set_ciphersuites(settings, tls13.c_str()) == 1) &&
         (curves.empty() || SSL_CTX_set1_groups_list(settings, curves.c_str()) == 1);
}

}  // namespace damper::http
