#include "damper/http/tls/tls_settings.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace damper::http {
namespace {

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* thing) const {
    kFree(thing);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Settings = std::shared_ptr<SSL_CTX>;
using Error = std::optional<std::string>;

// In ALPN's form: each name after its length. A server picks the first that the client offers.
constexpr std::string_view kOffer = "\x02h2\x08http/1.1";
constexpr std::string_view kOfferH1 = "\x08http/1.1";

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string failure(std::string_view what) {
  std::string text(what);
  if (const char* reason = ERR_reason_error_string(ERR_peek_error()); reason != nullptr) {
    text.append(": ").append(reason);
  }
  ERR_clear_error();
  return text;
}

Bio read_from(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Error use_pem(SSL_CTX* settings, const TlsIdentity& identity) {
  const Bio certificates = read_from(identity.certificate_pem);
  Certificate own(PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr));
  if (!own || SSL_CTX_use_certificate(settings, own.get()) != 1) {
    return failure("certificate_pem has no certificate");
  }
  while (Certificate next{PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr)}) {
    if (SSL_CTX_add0_chain_cert(settings, next.get()) != 1) return failure("certificate_pem");
    (void)next.release();  // The settings have it now.
  }
  ERR_clear_error();  // The end of the text.
  const Bio text = read_from(identity.key_pem);
  const Key key(PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(settings, key.get()) != 1) {
    return failure("key_pem has no key that fits the certificate");
  }
  return std::nullopt;
}

Error use_identity(SSL_CTX* settings, const TlsIdentity& identity) {
  if (!identity.certificate_pem.empty()) return use_pem(settings, identity);
  if (SSL_CTX_use_certificate_chain_file(settings, identity.certificate_file.c_str()) != 1) {
    return failure("certificate_file " + identity.certificate_file + " cannot be used");
  }
  if (SSL_CTX_use_PrivateKey_file(settings, identity.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return failure("key_file " + identity.key_file + " cannot be used");
  }
  return std::nullopt;
}

Error trust_pem(SSL_CTX* settings, const std::string& pem, const std::string& option) {
  const Bio text = read_from(pem);
  int added = 0;
  while (const Certificate ca{PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)}) {
    added += X509_STORE_add_cert(SSL_CTX_get_cert_store(settings), ca.get());
  }
  if (added == 0) return failure(option + " has no certificate");
  ERR_clear_error();
  return std::nullopt;
}

// The CA of client certificates.
Error trust(SSL_CTX* settings, const TlsServerOptions& options) {
  if (options.client_ca_file.empty() && options.client_ca_pem.empty()) {
    if (!options.require_client_certificate) return std::nullopt;
    return "require_client_certificate needs a client_ca_file: whose certificates are good";
  }
  const int required = options.require_client_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(settings, SSL_VERIFY_PEER | required, nullptr);
  // Sessions of clients that were verified are good for servers of this name alone.
  static constexpr unsigned char kName[] = "damper";
  SSL_CTX_set_session_id_context(settings, kName, sizeof(kName) - 1);
  if (!options.client_ca_pem.empty()) {
    return trust_pem(settings, options.client_ca_pem, "client_ca_pem");
  }
  if (SSL_CTX_load_verify_file(settings, options.client_ca_file.c_str()) != 1) {
    return failure("client_ca_file " + options.client_ca_file + " cannot be used");
  }
  // The CA names sent to a client, so that it can choose a certificate.
  SSL_CTX_set_client_CA_list(settings, SSL_load_client_CA_file(options.client_ca_file.c_str()));
  ERR_clear_error();
  return std::nullopt;
}

Error trust(SSL_CTX* settings, const TlsClientOptions& options) {
  if (!options.ca_pem.empty()) return trust_pem(settings, options.ca_pem, "ca_pem");
  if (!options.ca_file.empty()) {
    if (SSL_CTX_load_verify_file(settings, options.ca_file.c_str()) == 1) return std::nullopt;
    return failure("ca_file " + options.ca_file + " cannot be used");
  }
  if (SSL_CTX_set_default_verify_paths(settings) == 1) return std::nullopt;
  return failure("the system's certificates cannot be read");
}

Settings make(const SSL_METHOD* method) {
  Settings settings(SSL_CTX_new(method), Freed<SSL_CTX_free>());
  if (!settings) return settings;
  SSL_CTX_set_min_proto_version(settings.get(), TLS1_2_VERSION);
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

}  // namespace

Expected<TlsSettings> TlsSettings::for_server(const TlsServerOptions& options) {
  Settings settings = make(TLS_server_method());
  if (!settings) return unexpected(failure("no TLS"));
  if (options.identity.empty()) return unexpected(std::string("a server needs a certificate"));
  if (Error error = use_identity(settings.get(), options.identity)) {
    return unexpected(std::move(*error));
  }
  if (Error error = trust(settings.get(), options)) return unexpected(std::move(*error));
  SSL_CTX_set_alpn_select_cb(settings.get(),
                             options.offer_h2 ? select_protocol<kOffer> : select_protocol<kOfferH1>,
                             nullptr);
  return TlsSettings(std::move(settings));
}

Expected<TlsSettings> TlsSettings::for_client(const TlsClientOptions& options) {
  Settings settings = make(TLS_client_method());
  if (!settings) return unexpected(failure("no TLS"));
  if (options.insecure_trust_anyone_who_answers) {
    SSL_CTX_set_verify(settings.get(), SSL_VERIFY_NONE, nullptr);
  } else {
    SSL_CTX_set_verify(settings.get(), SSL_VERIFY_PEER, nullptr);
    if (Error error = trust(settings.get(), options)) return unexpected(std::move(*error));
  }
  if (!options.identity.empty()) {
    if (Error error = use_identity(settings.get(), options.identity)) {
      return unexpected(std::move(*error));
    }
  }
  const std::string_view offer = options.offer_h2 ? kOffer : kOfferH1;
  SSL_CTX_set_alpn_protos(settings.get(), bytes(offer), static_cast<unsigned>(offer.size()));
  return TlsSettings(std::move(settings));
}

}  // namespace damper::http
