#include "damper/http/tls/server_state.h"

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "damper/run/clock.h"

namespace damper::http {
namespace {

void free_state(void*, void* state, CRYPTO_EX_DATA*, int, long, void*) {
  const std::unique_ptr<TlsServerState> owned(static_cast<TlsServerState*>(state));
}

int state_index() {
  static const int kIndex = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_state);
  return kIndex;
}

const TlsServerState& state_of(const SSL* tls) {
  return *static_cast<const TlsServerState*>(
      SSL_CTX_get_ex_data(SSL_get_SSL_CTX(tls), state_index()));
}

const std::vector<std::size_t>* find_certificates(const SSL* tls) {
  const char* const name = SSL_get_servername(tls, TLSEXT_NAMETYPE_host_name);
  if (name == nullptr) return nullptr;
  const std::vector<std::size_t>& found = state_of(tls).certificates.find(name);
  return found.empty() ? nullptr : &found;
}

// Of a full handshake, after the client's extensions were read.
int select_certificate(SSL* tls, void*) {
  const std::vector<std::size_t>* const found = find_certificates(tls);
  if (found == nullptr) return 1;  // The default.
  SSL_certs_clear(tls);
  for (const std::size_t index : *found) {
    const LoadedIdentity& one = state_of(tls).certificates.at(index);
    if (SSL_use_cert_and_key(tls, one.certificate.get(), one.key.get(), one.chain.get(), 1) != 1) {
      return 0;
    }
  }
  return 1;
}

int check_name(SSL* tls, int* alert, void*) {
  if (find_certificates(tls) != nullptr) return SSL_TLSEXT_ERR_OK;
  *alert = SSL_AD_UNRECOGNIZED_NAME;
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

bool set_mac(EVP_MAC_CTX* mac, TicketKeys::Key& key) {
  std::array<char, 7> digest{"SHA256"};
  const std::array<OSSL_PARAM, 3> params = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac.data(), key.mac.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  return EVP_MAC_CTX_set_params(mac, params.data()) == 1;
}

// 1: go on; 2: go on, and send a new ticket; 0: no ticket, a full handshake; -1: failed.
int use_ticket_key(SSL* tls, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                   EVP_MAC_CTX* mac, int encrypts) {
  TicketKeys& keys = *state_of(tls).keys;
  const Instant now = run::now();
  if (encrypts == 1) {
    auto key = keys.newest(now);
    if (!key) return 0;
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return -1;
    std::copy(key->name.begin(), key->name.end(), name);
    const bool made =
        EVP_EncryptInit_ex2(cipher, EVP_aes_256_cbc(), key->cipher.data(), iv, nullptr) == 1 &&
        set_mac(mac, *key);
    return made ? 1 : -1;
  }
  TicketKeys::Name wanted{};
  std::copy(name, name + wanted.size(), wanted.begin());
  auto found = keys.find(wanted, now);
  if (!found) return 0;
  const bool made =
      EVP_DecryptInit_ex2(cipher, EVP_aes_256_cbc(), found->key.cipher.data(), iv, nullptr) == 1 &&
      set_mac(mac, found->key);
  if (!made) return -1;
  return found->is_newest ? 1 : 2;
}

}  // namespace

bool try_attach(std::unique_ptr<TlsServerState> state, SSL_CTX* settings) {
  const bool selects = state->certificates.size() > 1;
  const bool rejects = state->reject_unknown_names;
  const bool has_tickets = state->keys != nullptr;
  if (SSL_CTX_set_ex_data(settings, state_index(), state.get()) != 1) return false;
  (void)state.release();  // The settings have it now.
  if (selects) SSL_CTX_set_cert_cb(settings, select_certificate, nullptr);
  if (rejects) {  // SSL_CTX_set_tlsext_servername_callback() without its old-style cast.
    SSL_CTX_callback_ctrl(settings, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB,
                          reinterpret_cast<void (*)()>(check_name));
  }
  return !has_tickets || SSL_CTX_set_tlsext_ticket_key_evp_cb(settings, use_ticket_key) == 1;
}

}  // namespace damper::http
