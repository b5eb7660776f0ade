#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/http/tls/ticket_keys.h"
#include "damper/http/tls/tls_identity.h"
#include "damper/http/tls/tls_protocol.h"

// OpenSSL's types, so that its headers stay out of ours.
struct ssl_ctx_st;
struct ssl_st;

namespace damper::http {

class SessionCache;

struct TlsServerOptions {
  static constexpr Range<Duration> kSessionTimeout{Duration{0}, std::chrono::hours(24)};

  TlsIdentity identity;  // the default certificate; may be empty if `certificates` is not
  bool offer_h1 = true;  // with ALPN; one of the two at least
  bool offer_h2 = true;
  // The CA of client certificates. A client's certificate must be signed by it; with
  // require_client_certificate (mTLS) a client must have one, and the CA must be set.
  std::string client_ca_file{};
  std::string client_ca_pem{};  // instead of client_ca_file
  bool require_client_certificate = false;
  // More certificates, selected by the name that the client asks for (SNI).
  std::vector<TlsServerCertificate> certificates{};
  // A handshake without a server name, or for a name that no certificate has: refused with
  // unrecognized_name, instead of the default certificate.
  bool reject_unknown_names = false;
  TlsProtocolOptions protocol{};
  // How long a client may resume a session; 0: never.
  Duration session_timeout = std::chrono::hours(2);
};

struct TlsClientOptions {
  std::string ca_file;   // trusted CAs; with ca_pem empty, too: those of the system
  std::string ca_pem;    // instead of ca_file
  TlsIdentity identity;  // our certificate, for servers that request one
  bool offer_h2 = true;  // with ALPN; http/1.1 always
  // Disables verification: anyone on the path can impersonate the server. For tests only.
  bool insecure_trust_anyone_who_answers = false;
  std::string server_name{};  // sent (SNI) and verified instead of the host of the URL
  TlsProtocolOptions protocol{};

  friend bool operator==(const TlsClientOptions&, const TlsClientOptions&) = default;
};

// TlsSettings are the common settings of TLS connections: trusted CAs, our certificate, ALPN.
//
// Model: TLS 1.2 and 1.3, no renegotiation, no compression, no early data. A client verifies the
// chain and the name, unless insecure_trust_anyone_who_answers is set. A server with a client CA
// verifies its clients' chains, and no name: every certificate of that CA is accepted. Sessions are
// resumed by tickets: a server's are encrypted with its TicketKeys, a client keeps those of its
// servers in a SessionCache.
// Invariants:
//   (1) A client connects to no server whose certificate is not valid for the requested name.
//   (2) A server that requires a certificate accepts no client without one of its CA.
//   (3) Key material is never in an error's text.
//   (4) A server resumes a session only if the client certificate rules (CA and requirement) were
//       the same when the session began; the client's verified certificate is that of the session.
// Thread safety: immutable; copies share, and may be used by any thread.
class TlsSettings {
 public:
  // One sentence says what is wrong: a file that cannot be read, a key that does not fit. `keys`:
  // nullptr for keys of its own.
  [[nodiscard]] static Expected<TlsSettings> for_server(const TlsServerOptions& options,
                                                        std::shared_ptr<TicketKeys> keys = nullptr);
  [[nodiscard]] static Expected<TlsSettings> for_client(const TlsClientOptions& options);

  [[nodiscard]] ssl_ctx_st* native() const noexcept { return settings_.get(); }
  // Our certificates.
  [[nodiscard]] const std::vector<CertificateFacts>& certificates() const noexcept {
    return *certificates_;
  }
  // See TlsClientOptions; empty: the host's.
  [[nodiscard]] const std::string& server_name() const noexcept { return server_name_; }
  // Of a client; nullptr for a server.
  [[nodiscard]] const std::shared_ptr<SessionCache>& sessions() const noexcept { return sessions_; }

 private:
  TlsSettings(std::shared_ptr<ssl_ctx_st> settings, std::vector<CertificateFacts> certificates)
      : settings_(std::move(settings)),
        certificates_(
            std::make_shared<const std::vector<CertificateFacts>>(std::move(certificates))) {}

  std::shared_ptr<ssl_ctx_st> settings_;
  std::shared_ptr<const std::vector<CertificateFacts>> certificates_;
  std::string server_name_;
  std::shared_ptr<SessionCache> sessions_;
};

}  // namespace damper::http
