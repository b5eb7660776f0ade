#include "damper/http/tls/tls_settings.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "damper/http/tls/openssl_types.h"
#include "damper/http/tls/pem.h"
#include "damper/http/tls/server_state.h"
#include "damper/http/tls/session_cache.h"
#include "damper/http/tls/tls_transport.h"

namespace damper::http {
namespace {

using Settings = std::shared_ptr<SSL_CTX>;
using Error = std::optional<std::string>;

// In ALPN's form: each name after its length. A server picks the first that the client offers.
constexpr std::string_view kOffer = "\x02h2\x08http/1.1";
constexpr std::string_view kOfferH1 = "\x08http/1.1";
constexpr std::string_view kOfferH2 = "\x02h2";

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Error use_identity(SSL_CTX* settings, const LoadedIdentity& identity) {
  if (SSL_CTX_use_cert_and_key(settings, identity.certificate.get(), identity.key.get(),
                               identity.chain.get(), 1) == 1) {
    return std::nullopt;
  }
  return openssl_failure("OpenSSL refuses the certificate");
}

void trust(SSL_CTX* settings, const LoadedCas& cas) {
  for (const CertificatePointer& ca : cas.certificates) {
    (void)X509_STORE_add_cert(SSL_CTX_get_cert_store(settings), ca.get());
  }
  ERR_clear_error();
}

// Sessions are resumed only under the same rules for client certificates: invariant (4).
void set_session_context(SSL_CTX* settings, const TlsServerOptions& options,
                         const std::string& ca_pem) {
  const std::string rules =
      (options.require_client_certificate ? "required " : "optional ") + ca_pem;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> context{};
  SHA256(bytes(rules), rules.size(), context.data());
  SSL_CTX_set_session_id_context(settings, context.data(), static_cast<unsigned>(context.size()));
}

// The CA of client certificates.
Error trust_clients(SSL_CTX* settings, const TlsServerOptions& options) {
  if (options.client_ca_file.empty() && options.client_ca_pem.empty()) {
    set_session_context(settings, options, {});
    if (!options.require_client_certificate) return std::nullopt;
    return "require_client_certificate needs a client_ca_file: whose certificates are good";
  }
  const auto cas = load_cas(options.client_ca_file, options.client_ca_pem, "client_ca");
  if (!cas) return cas.error();
  const int required = options.require_client_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(settings, SSL_VERIFY_PEER | required, nullptr);
  set_session_context(settings, options, cas->pem);
  trust(settings, *cas);
  // The CA names sent to a client, so that it can choose a certificate.
  for (const CertificatePointer& ca : cas->certificates) {
    (void)SSL_CTX_add_client_CA(settings, ca.get());
  }
  return std::nullopt;
}

Error trust_servers(SSL_CTX* settings, const TlsClientOptions& options) {
  if (!options.ca_pem.empty() || !options.ca_file.empty()) {
    const auto cas = load_cas(options.ca_file, options.ca_pem, "ca");
    if (!cas) return cas.error();
    trust(settings, *cas);
    return std::nullopt;
  }
  if (SSL_CTX_set_default_verify_paths(settings) == 1) return std::nullopt;
  return openssl_failure("the system's certificates cannot be read");
}

Settings make(const SSL_METHOD* method) {
  Settings settings(SSL_CTX_new(method), OpensslFree<SSL_CTX_free>());
  if (!settings) return settings;
  SSL_CTX_set_options(settings.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_read_ahead(settings.get(), 1);  // A record is one system call, not two.
  // An idle connection keeps no buffers; and a write goes on from wherever the output lies then.
  SSL_CTX_set_mode(settings.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return settings;
}

template <const std::string_view& kOffered>
int select_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* in, unsigned int in_size, void*) {
  unsigned char* selected = nullptr;
  const int result = SSL_select_next_proto(&selected, out_size, bytes(kOffered),
                                           static_cast<unsigned>(kOffered.size()), in, in_size);
  *out = selected;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

Error use_protocol(SSL_CTX* settings, const TlsProtocolOptions& options, bool is_server) {
  if (auto error = find_error(options)) return std::move(error->sentence);
  if (try_apply(options, settings, is_server)) return std::nullopt;
  return openssl_failure("OpenSSL refuses the cipher suites or curves");
}

// Stateless: a session that only the server knows would be memory that clients fill.
void use_tickets(SSL_CTX* settings, Duration timeout) {
  SSL_CTX_set_session_cache_mode(settings, SSL_SESS_CACHE_OFF);
  if (timeout > Duration{0}) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(timeout).count();
    SSL_CTX_set_timeout(settings, static_cast<long>(seconds));
  } else {
    SSL_CTX_set_options(settings, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(settings, 0);
  }
}

// Of a client: the server has sent a ticket. 1: the session is ours now.
int keep_session(SSL* tls, SSL_SESSION* session) {
  return TlsTransport::try_keep_session(tls, session) ? 1 : 0;
}

}  // namespace

Expected<TlsSettings> TlsSettings::for_server(const TlsServerOptions& options,
                                              std::shared_ptr<TicketKeys> keys) {
  Settings settings = make(TLS_server_method());
  if (!settings) return unexpected(openssl_failure("no TLS"));
  std::vector<TlsServerCertificate> all;
  if (!options.identity.empty()) all.push_back({.identity = options.identity});
  all.insert(all.end(), options.certificates.begin(), options.certificates.end());
  if (all.empty()) return unexpected(std::string("a server needs a certificate"));
  if (Error error = use_protocol(settings.get(), options.protocol, true)) {
    return unexpected(*std::move(error));
  }
  auto certificates = ServerCertificates::load(all);
  if (!certificates) return unexpected(certificates.error());
  std::vector<CertificateFacts> facts = certificates->facts();
  if (Error error = use_identity(settings.get(), certificates->at(0))) {
    return unexpected(*std::move(error));
  }
  if (Error error = trust_clients(settings.get(), options)) return unexpected(*std::move(error));
  use_tickets(settings.get(), options.session_timeout);
  if (keys == nullptr) keys = std::make_shared<TicketKeys>();
  auto state = std::make_unique<TlsServerState>(
      TlsServerState{.certificates = *std::move(certificates),
                     .keys = std::move(keys),
                     .reject_unknown_names = options.reject_unknown_names});
  if (!try_attach(std::move(state), settings.get())) return unexpected(openssl_failure("no TLS"));
  SSL_CTX_set_alpn_select_cb(settings.get(),
                             !options.offer_h2   ? select_protocol<kOfferH1>
                             : !options.offer_h1 ? select_protocol<kOfferH2>
                                                 : select_protocol<kOffer>,
                             nullptr);
  return TlsSettings(std::move(settings), std::move(facts));
}

Expected<TlsSettings> TlsSettings::for_client(const TlsClientOptions& options) {
  Settings settings = make(TLS_client_method());
  if (!settings) return unexpected(openssl_failure("no TLS"));
  if (Error error = use_protocol(settings.get(), options.protocol, false)) {
    return unexpected(*std::move(error));
  }
  if (options.insecure_trust_anyone_who_answers) {
    SSL_CTX_set_verify(settings.get(), SSL_VERIFY_NONE, nullptr);
  } else {
    SSL_CTX_set_verify(settings.get(), SSL_VERIFY_PEER, nullptr);
    if (Error error = trust_servers(settings.get(), options)) return unexpected(*std::move(error));
  }
  std::vector<CertificateFacts> facts;
  if (!options.identity.empty()) {
    const auto identity = load_identity(options.identity);
    if (!identity) return unexpected(identity.error());
    if (Error error = use_identity(settings.get(), *identity)) return unexpected(*std::move(error));
    facts.push_back({.file = options.identity.certificate_file,
                     .not_after = identity->not_after(),
                     .names = {}});
  }
  const std::string_view offer = options.offer_h2 ? kOffer : kOfferH1;
  SSL_CTX_set_alpn_protos(settings.get(), bytes(offer), static_cast<unsigned>(offer.size()));
  SSL_CTX_set_session_cache_mode(settings.get(),
                                 SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(settings.get(), keep_session);
  TlsSettings made(std::move(settings), std::move(facts));
  made.server_name_ = options.server_name;
  made.sessions_ = std::make_shared<SessionCache>();
  return made;
}

}  // namespace damper::http
