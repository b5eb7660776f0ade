#ifndef DAMPER_HTTP_NET_TLS_SETTINGS_H_
#define DAMPER_HTTP_NET_TLS_SETTINGS_H_

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
  // Who signs the certificates of clients. A client that shows one has to show one of theirs; with
  // require_client_certificate it has to show one (mTLS), and there has to be a CA.
  std::string client_ca_file{};
  std::string client_ca_pem{};  // instead of client_ca_file
  bool require_client_certificate = false;
};

struct TlsClientOptions {
  std::string ca_file;   // whom to trust; empty, and ca_pem too: whom the system trusts
  std::string ca_pem;    // instead of ca_file
  TlsIdentity identity;  // of ours, for servers that ask for one
  bool offer_h2 = true;  // with ALPN; http/1.1 always
  // The server may be anybody, and so may whoever reads along. For tests alone.
  bool insecure_trust_anyone_who_answers = false;

  friend bool operator==(const TlsClientOptions&, const TlsClientOptions&) = default;
};

// TlsSettings are what the TLS connections of a server, or to servers, have in common: whom to
// trust, who we are, what ALPN offers.
//
// Model: TLS 1.2 and 1.3, no renegotiation, no compression. A client verifies the chain and the
// name, unless it was told not to in so many words. A server verifies its clients' chains where it
// was told whom to trust, and no name: whoever the CA signed is in.
// Invariants:
//   (1) A client connects to no server whose certificate does not stand for the name it asked for.
//   (2) A server that requires a certificate accepts no client without one of its CA's.
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

#endif  // DAMPER_HTTP_NET_TLS_SETTINGS_H_
