#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/webhooks/model/id.h"

namespace damper::webhooks {

// A Sealer encrypts what a store keeps of an endpoint: its URL, headers and secrets.
//
// Why: a copy of the database (a backup, a replica, a disk that was sold) must not be enough to
// sign messages in the name of a tenant.
// Model: XChaCha20-Poly1305 with a random nonce for each seal(). The associated data is the
// endpoint's id, so that a row cannot be moved to another endpoint. The text names its key by a
// fingerprint. The first key seals; the others only unseal: a rotation adds a key in front, seals
// everything again, and removes the old one.
//   version 1 | fingerprint 8 | nonce 24 | ciphertext | tag 16     (bytes)
// Invariants:
//   (1) unseal(id, seal(id, plain)) is plain; for another id, other bytes or without the key it is
//       an error.
//   (2) No error has a key or a plain text in it.
//   (3) Keys are overwritten when they are destroyed.
// Thread safety: const methods may be called concurrently.
class Sealer {
 public:
  static constexpr std::size_t kKeyBytes = 32;
  static constexpr std::size_t kMostKeys = 16;

  // The content of a key file: the base64 text of 32 random bytes in each line, the sealing key
  // first. Empty lines and lines that begin with # are ignored. The error is a sentence without the
  // file's name.
  [[nodiscard]] static Expected<Sealer> parse(std::string_view text);
  // The content of a new key file.
  [[nodiscard]] static std::string make_key_file();

  [[nodiscard]] std::string seal(Id endpoint, std::string_view plain) const;
  // The error is what the sealed bytes are: "encrypted with a key that ...".
  [[nodiscard]] Expected<std::string> unseal(Id endpoint, std::string_view sealed) const;
  // Whether another key than the first one has sealed it.
  [[nodiscard]] bool is_of_old_key(std::string_view sealed) const noexcept;

 private:
  struct Key;
  explicit Sealer(std::vector<std::shared_ptr<const Key>> keys) : keys_(std::move(keys)) {}

  std::vector<std::shared_ptr<const Key>> keys_;  // 1 to kMostKeys
};

}  // namespace damper::webhooks
