#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

namespace damper::http {

// Owners of OpenSSL's objects. Only for sources: its headers stay out of ours.
template <auto kFree>
struct OpensslFree {
  template <class T>
  void operator()(T* object) const noexcept {
    kFree(object);
  }
};
inline void free_chain(STACK_OF(X509) * chain) noexcept { sk_X509_pop_free(chain, X509_free); }

using BioPointer = std::unique_ptr<BIO, OpensslFree<BIO_free_all>>;
using CertificatePointer = std::unique_ptr<X509, OpensslFree<X509_free>>;
using KeyPointer = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using ChainPointer = std::unique_ptr<STACK_OF(X509), OpensslFree<free_chain>>;
using NamesPointer = std::unique_ptr<GENERAL_NAMES, OpensslFree<GENERAL_NAMES_free>>;
using SessionPointer = std::unique_ptr<SSL_SESSION, OpensslFree<SSL_SESSION_free>>;

// `what`, and the reason of OpenSSL's oldest error, if there is one. Clears its errors.
[[nodiscard]] inline std::string openssl_failure(std::string_view what) {
  std::string text(what);
  if (const char* reason = ERR_reason_error_string(ERR_peek_error()); reason != nullptr) {
    text.append(": ").append(reason);
  }
  ERR_clear_error();
  return text;
}

}  // namespace damper::http
