#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "damper/base/enum_names.h"
#include "damper/base/expected.h"

namespace damper::webhooks {

class KeyMaterial;  // the bytes, and OpenSSL's key: key_material.h

// How a key signs (Standard Webhooks 1.0.0): the version of its entries in `webhook-signature`.
enum class Scheme : std::uint8_t {
  v1,   // HMAC-SHA256: sender and receiver have the same secret, "whsec_..."
  v1a,  // Ed25519: the sender has "whsk_...", receivers have "whpk_..."
};
inline constexpr EnumNames<Scheme::v1a> kSchemeNames = {"v1", "v1a"};

[[nodiscard]] constexpr std::string_view name(Scheme scheme) noexcept {
  return kSchemeNames[scheme];
}

// A VerifyingKey checks signatures: what a receiver has.
//
// Model: the base64 (RFC 4648, section 4: standard alphabet, padded, no line breaks) of the key's
// bytes after a prefix. The key is the decoded bytes, not the text.
// Thread safety: const methods may be called concurrently. Copies share the bytes, which are
// overwritten when the last copy is destroyed.
class VerifyingKey {
 public:
  // A secret of a sender has any size up to this: the standard's libraries check no bound, so a
  // receiver cannot either. New secrets have 24 to 64 bytes (SigningKey).
  static constexpr std::size_t kMostSecretBytes = 512;

  // "whsec_" and a secret of 1 to kMostSecretBytes bytes, also without its prefix, as the
  // standard's libraries allow; or "whpk_" and the 32 bytes of an Ed25519 public key. The error is
  // a sentence that does not contain the text.
  [[nodiscard]] static Expected<VerifyingKey> parse(std::string_view text);

  [[nodiscard]] Scheme scheme() const noexcept;
  [[nodiscard]] std::string text() const;  // as parse() reads it, with its prefix; secret if v1

  [[nodiscard]] const KeyMaterial& material() const noexcept { return *material_; }

 private:
  friend class SigningKey;
  explicit VerifyingKey(std::shared_ptr<const KeyMaterial> material) noexcept
      : material_(std::move(material)) {}

  std::shared_ptr<const KeyMaterial> material_;
};

// A SigningKey signs: what a sender has. Everything about it is secret.
//
// Thread safety: as VerifyingKey.
class SigningKey {
 public:
  // Bounds of the standard for secrets that are made. Shorter ones can be guessed, longer ones add
  // nothing: HMAC-SHA256 hashes more than 64 bytes first.
  static constexpr std::size_t kLeastSecretBytes = 24;
  static constexpr std::size_t kMostSecretBytes = 64;

  // "whsec_" and 24 to 64 bytes; or "whsk_" and an Ed25519 key: 64 bytes, seed and public key, or
  // the seed's 32. A public key that is not the seed's is an error: signing with it would reveal
  // the seed. The error is a sentence that does not contain the text.
  [[nodiscard]] static Expected<SigningKey> parse(std::string_view text);

  // A new key of the system's random bytes: 32 of them, for a secret or for a seed.
  [[nodiscard]] static SigningKey generate(Scheme scheme);

  [[nodiscard]] Scheme scheme() const noexcept;
  [[nodiscard]] std::string text() const;  // as parse() reads it; an Ed25519 key as 64 bytes
  // What a receiver needs: the same secret, or the public key.
  [[nodiscard]] VerifyingKey verifying_key() const;

  [[nodiscard]] const KeyMaterial& material() const noexcept { return *material_; }

 private:
  explicit SigningKey(std::shared_ptr<const KeyMaterial> material) noexcept
      : material_(std::move(material)) {}

  std::shared_ptr<const KeyMaterial> material_;
};

}  // namespace damper::webhooks
