#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/http/tls/pem.h"
#include "damper/http/tls/tls_identity.h"

namespace damper::http {

// ServerCertificates are the certificates of a server, found by the server name of a handshake.
//
// Model: an exact name is preferred to a wildcard, which stands for one label: *.shop.example is
// a.shop.example, neither shop.example nor a.b.shop.example (RFC 6125, 6.4.3). A name may have one
// certificate for each type of key (RSA and ECDSA), of which OpenSSL selects one that the client
// accepts; of two of one type the first has the name. The first certificate is the default.
// Thread safety: immutable. Cost: a lookup is one or two searches in a map.
class ServerCertificates {
 public:
  static constexpr std::size_t kMost = 256;

  // One sentence: what is wrong. REQUIRES: there is one at least.
  [[nodiscard]] static Expected<ServerCertificates> load(
      const std::vector<TlsServerCertificate>& certificates);

  // The certificates of a server name; empty: none has it.
  [[nodiscard]] const std::vector<std::size_t>& find(std::string_view server_name) const;
  [[nodiscard]] const LoadedIdentity& at(std::size_t index) const { return all_[index]; }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] const std::vector<CertificateFacts>& facts() const noexcept { return facts_; }

 private:
  void add_name(const std::string& name, std::size_t index);

  std::vector<LoadedIdentity> all_;
  std::vector<CertificateFacts> facts_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_name_;
};

}  // namespace damper::http
