#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "damper/base/instant.h"

namespace damper::http {

// TicketKeys encrypt the session tickets of a server: all loops of a process share one, and it
// survives the reload of a certificate.
//
// Why not OpenSSL's own keys: they belong to one SSL_CTX, which a new certificate replaces, and
// they never change; a key that leaks would open every ticket since the start.
// Model: a key encrypts tickets for kPeriod and decrypts them for kPeriod * kKept. The time is an
// argument; keys are made when a ticket is to be encrypted.
// Invariants:
//   (1) No key encrypts a ticket kPeriod after it was made.
//   (2) A ticket is decrypted for at least kPeriod * (kKept - 1), and not after kPeriod * kKept.
//   (3) A key of another TicketKeys decrypts nothing: names are random.
// Thread safety: all methods may be called concurrently; a mutex, taken once for a handshake.
class TicketKeys {
 public:
  static constexpr Duration kPeriod = std::chrono::hours(12);
  static constexpr std::size_t kKept = 3;
  static constexpr std::size_t kNameBytes = 16;
  using Name = std::array<unsigned char, kNameBytes>;

  struct Key {
    Name name{};
    std::array<unsigned char, 32> cipher{};  // AES-256
    std::array<unsigned char, 32> mac{};     // HMAC-SHA256
    Instant made{};
  };
  struct Found {
    Key key;
    bool is_newest = false;
  };

  TicketKeys() = default;
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;
  ~TicketKeys();

  // The key for a new ticket; nothing: there are no random numbers, and no ticket is sent.
  [[nodiscard]] std::optional<Key> newest(Instant now);
  // The key of a ticket; nothing: unknown, or too old.
  [[nodiscard]] std::optional<Found> find(const Name& name, Instant now) const;

 private:
  mutable std::mutex mutex_;
  std::array<Key, kKept> keys_{};  // the newest first
  std::size_t count_ = 0;
};

}  // namespace damper::http
