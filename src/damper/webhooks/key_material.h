#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "damper/webhooks/key.h"

using EVP_PKEY = struct evp_pkey_st;  // as <openssl/types.h>, which users need not have

namespace damper::webhooks {

// A KeyMaterial is the bytes of a key and the operations on them. Internal: use VerifyingKey,
// SigningKey and signature.h.
//
// Invariants:
//   (1) The bytes are overwritten when it is destroyed.
// Thread safety: const methods may be called concurrently.
class KeyMaterial {
 public:
  static constexpr std::size_t kEd25519Bytes = 32;    // of a seed, and of a public key
  static constexpr std::size_t kHmacBytes = 32;       // of a v1 signature
  static constexpr std::size_t kSignatureBytes = 64;  // of a v1a signature

  // A secret.
  explicit KeyMaterial(std::string secret);
  // Half an Ed25519 key, of kEd25519Bytes: the seed, or the public key. nullptr: OpenSSL refused.
  [[nodiscard]] static std::shared_ptr<const KeyMaterial> from_seed(std::string seed);
  [[nodiscard]] static std::shared_ptr<const KeyMaterial> from_public(std::string bytes);
  KeyMaterial(const KeyMaterial&) = delete;
  KeyMaterial& operator=(const KeyMaterial&) = delete;
  ~KeyMaterial();

  [[nodiscard]] Scheme scheme() const noexcept { return key_ ? Scheme::v1a : Scheme::v1; }
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::string public_key() const;  // REQUIRES: scheme() is v1a

  // The HMAC-SHA256 of `head` and `body`, one after the other. REQUIRES: scheme() is v1.
  [[nodiscard]] std::string hmac(std::string_view head, std::string_view body) const;
  // REQUIRES: scheme() is v1a; for sign(), it is of a seed.
  [[nodiscard]] std::string sign(std::string_view content) const;
  [[nodiscard]] bool verifies(std::string_view signature, std::string_view content) const;

 private:
  struct FreeKey {
    void operator()(EVP_PKEY* key) const noexcept;
  };
  KeyMaterial(std::string bytes, EVP_PKEY* key);

  std::string bytes_;                       // the secret, the seed or the public key
  std::unique_ptr<EVP_PKEY, FreeKey> key_;  // nullptr: v1
};

// Overwrites a secret before its memory is freed.
void cleanse(std::string& secret) noexcept;

}  // namespace damper::webhooks
