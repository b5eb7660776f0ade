#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/http/tls/openssl_types.h"
#include "damper/http/tls/tls_identity.h"

namespace damper::http {

inline constexpr std::size_t kMostPemBytes = std::size_t{4} << 20;  // of a file

// A certificate, its chain and its key, as OpenSSL has them.
struct LoadedIdentity {
  CertificatePointer certificate;
  ChainPointer chain;  // without the certificate; may be empty
  KeyPointer key;

  [[nodiscard]] std::int64_t not_after() const;  // Unix time
  // DNS names of the subject alternative name, in lower case; without any, the common name.
  [[nodiscard]] std::vector<std::string> names() const;
};

// Reads a certificate with its chain and its key.
//
// Why not OpenSSL's functions for files: a chain that ends in the middle of a certificate (a file
// that is still being written) is accepted by them as a shorter chain.
// Invariants:
//   (1) The key belongs to the certificate.
//   (2) A file with a damaged or incomplete block is refused.
//   (3) Key material is never in an error's text. An encrypted key is refused: there is no prompt.
[[nodiscard]] Expected<LoadedIdentity> load_identity(const TlsIdentity& identity);

// The certificates of a file of CAs or, if `file` is empty, of `pem`; at least one. `option` names
// them in errors: client_ca becomes client_ca_file or client_ca_pem.
struct LoadedCas {
  std::string pem;
  std::vector<CertificatePointer> certificates;
};
[[nodiscard]] Expected<LoadedCas> load_cas(const std::string& file, const std::string& pem,
                                           std::string_view option);

}  // namespace damper::http
