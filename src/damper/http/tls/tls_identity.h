#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace damper::http {

// A certificate with its key, in files or as text, both PEM. The chain follows the certificate.
struct TlsIdentity {
  std::string certificate_file;
  std::string key_file;
  std::string certificate_pem;  // instead of the files
  std::string key_pem;

  [[nodiscard]] bool empty() const noexcept {
    return certificate_file.empty() && certificate_pem.empty();
  }
  friend bool operator==(const TlsIdentity&, const TlsIdentity&) = default;
};

// A certificate of a server that has several.
struct TlsServerCertificate {
  TlsIdentity identity;
  // Server names (SNI) that get it: "shop.example", "*.shop.example". Empty: the DNS names of the
  // certificate.
  std::vector<std::string> server_names{};

  friend bool operator==(const TlsServerCertificate&, const TlsServerCertificate&) = default;
};

// What is shown of a certificate in use.
struct CertificateFacts {
  std::string file;                // empty: it was given as text
  std::int64_t not_after = 0;      // its last second, Unix time
  std::vector<std::string> names;  // that a server has it for, in lower case

  friend bool operator==(const CertificateFacts&, const CertificateFacts&) = default;
};

}  // namespace damper::http
