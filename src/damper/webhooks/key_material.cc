#include "damper/webhooks/key_material.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>
#include <utility>

#include "damper/base/check.h"

namespace damper::webhooks {
namespace {

const unsigned char* octets(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* octets(std::string& text) noexcept {
  return reinterpret_cast<unsigned char*>(text.data());
}

struct FreeMac {
  void operator()(EVP_MAC_CTX* context) const noexcept { EVP_MAC_CTX_free(context); }
};
struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};

// Fetched once for the process: a fetch takes locks and walks the providers.
EVP_MAC* hmac_algorithm() {
  static EVP_MAC* const kAlgorithm = EVP_MAC_fetch(nullptr, OSSL_MAC_NAME_HMAC, nullptr);
  DAMPER_CHECK(kAlgorithm != nullptr);
  return kAlgorithm;
}

}  // namespace

void cleanse(std::string& secret) noexcept { OPENSSL_cleanse(secret.data(), secret.size()); }

void KeyMaterial::FreeKey::operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }

KeyMaterial::KeyMaterial(std::string secret) : KeyMaterial(std::move(secret), nullptr) {
  DAMPER_CHECK(!bytes_.empty());
}

KeyMaterial::KeyMaterial(std::string bytes, EVP_PKEY* key) : bytes_(std::move(bytes)), key_(key) {}

KeyMaterial::~KeyMaterial() { cleanse(bytes_); }

std::shared_ptr<const KeyMaterial> KeyMaterial::from_seed(std::string seed) {
  EVP_PKEY* const key =
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, octets(seed), seed.size());
  if (key == nullptr) return nullptr;
  return std::shared_ptr<const KeyMaterial>(new KeyMaterial(std::move(seed), key));
}

std::shared_ptr<const KeyMaterial> KeyMaterial::from_public(std::string bytes) {
  EVP_PKEY* const key =
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, octets(bytes), bytes.size());
  if (key == nullptr) return nullptr;
  return std::shared_ptr<const KeyMaterial>(new KeyMaterial(std::move(bytes), key));
}

std::string KeyMaterial::public_key() const {
  std::string bytes(kEd25519Bytes, '\0');
  std::size_t size = bytes.size();
  DAMPER_CHECK(EVP_PKEY_get_raw_public_key(key_.get(), octets(bytes), &size) == 1);
  DAMPER_CHECK(size == kEd25519Bytes);
  return bytes;
}

std::string KeyMaterial::hmac(std::string_view head, std::string_view body) const {
  DAMPER_CHECK(scheme() == Scheme::v1);
  const std::unique_ptr<EVP_MAC_CTX, FreeMac> context(EVP_MAC_CTX_new(hmac_algorithm()));
  DAMPER_CHECK(context != nullptr);
  std::string digest = "SHA256";  // A parameter is not const; OpenSSL does not change it.
  const std::array<OSSL_PARAM, 2> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  std::string mac(kHmacBytes, '\0');
  std::size_t size = 0;
  DAMPER_CHECK(EVP_MAC_init(context.get(), octets(bytes()), bytes_.size(), parameters.data()) == 1);
  DAMPER_CHECK(EVP_MAC_update(context.get(), octets(head), head.size()) == 1);
  DAMPER_CHECK(EVP_MAC_update(context.get(), octets(body), body.size()) == 1);
  DAMPER_CHECK(EVP_MAC_final(context.get(), octets(mac), &size, mac.size()) == 1);
  DAMPER_CHECK(size == kHmacBytes);
  return mac;
}

std::string KeyMaterial::sign(std::string_view content) const {
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
  std::string signature(kSignatureBytes, '\0');
  std::size_t size = signature.size();
  DAMPER_CHECK(context != nullptr);
  DAMPER_CHECK(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1);
  DAMPER_CHECK(EVP_DigestSign(context.get(), octets(signature), &size, octets(content),
                              content.size()) == 1);
  DAMPER_CHECK(size == kSignatureBytes);
  return signature;
}

bool KeyMaterial::verifies(std::string_view signature, std::string_view content) const {
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
  DAMPER_CHECK(context != nullptr);
  DAMPER_CHECK(EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1);
  const int result = EVP_DigestVerify(context.get(), octets(signature), signature.size(),
                                      octets(content), content.size());
  return result == 1;
}

}  // namespace damper::webhooks
