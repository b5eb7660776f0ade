#pragma once

#include <memory>
#include <string>

#include "damper/base/expected.h"

// OpenSSL's types, so that its headers stay out of ours.
struct ssl_ctx_st;
struct ssl_st;

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

struct TlsServerOptions {
  TlsIdentity identity;  // needed
  bool offer_h2 = true;  // with ALPN; http/1.1 always
  // The CA of client certificates. A client's certificate must be signed by it; with
  // require_client_certificate (mTLS) a client must have one, and the CA must be set.
  std::string client_ca_file{};
  std::string client_ca_pem{};  // instead of client_ca_file
  bool require_client_certificate = false;
};

struct TlsClientOptions {
  std::string ca_file;   // trusted CAs; with ca_pem empty, too: those of the system
  std::string ca_pem;    // instead of ca_file
  TlsIdentity identity;  // our certificate, for servers that request one
  bool offer_h2 = true;  // with ALPN; http/1.1 always
  // Disables verification: anyone on the path can impersonate the server. For tests only.
  bool insecure_trust_anyone_who_answers = false;

  friend bool operator==(const TlsClientOptions&, const TlsClientOptions&) = default;
};

// TlsSettings are the common settings of TLS connections: trusted CAs, our certificate, ALPN.
//
// Model: TLS 1.2 and 1.3, no renegotiation, no compression. A client verifies the chain and the
// name, unless insecure_trust_anyone_who_answers is set. A server with a client CA verifies its
// clients' chains, and no name: every certificate of that CA is accepted.
// Invariants:
//   (1) A client connects to no server whose certificate is not valid for the requested name.
//   (2) A server that requires a certificate accepts no client without one of its CA.
//   (3) Key material is never in an error's text.
// Thread safety: immutable; copies share, and may be used by any thread.
class TlsSettings {
 public:
  // One sentence says what is wrong: a file that cannot be read, a key that does not fit.
  [[nodiscard]] static Expected<TlsSettings> for_server(const TlsServerOptions& options);
  [[nodiscard]] static Expected<TlsSettings> for_client(const TlsClientOptions& options);

  [[nodiscard]] ssl_ctx_st* native() const noexcept { return settings_.get(); }

 private:
  explicit TlsSettings(std::shared_ptr<ssl_ctx_st> settings) noexcept
      : settings_(std::move(settings)) {}
  std::shared_ptr<ssl_ctx_st> settings_;
};

}  // namespace damper::http
