#pragma once

#include <cstdint>
#include <string_view>

#include "damper/http/net/ip_address.h"

namespace damper::http {

// A ClientKey identifies a client in the tables of limits by client.
//
// Why a hash instead of the key itself: a table of fixed size without texts, whatever a client
// sends.
// Model: an IPv4 address, the first 64 bits of an IPv6 address (one subscriber commonly has a whole
// /64), or a text such as a field's value, hashed by keyed_hash() with a random key of the process.
// An IPv4 address inside of IPv6 is the IPv4 address. Two clients have the same key with a
// probability of 2^-64, which no client can influence.
// Invariants:
//   (1) The keys of an address and of a text differ, also for the text of an address.
//   (2) value() is never 0.
// Thread safety: a plain value; the functions may be called concurrently. Cost: no allocation.
class ClientKey {
 public:
  [[nodiscard]] static ClientKey of(const IpAddress& address) noexcept;
  [[nodiscard]] static ClientKey of_text(std::string_view text) noexcept;
  // Of an address in its canonical text form; of another text, such as an empty one, a key of that
  // text.
  [[nodiscard]] static ClientKey of_address(std::string_view text) noexcept;

  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }
  friend bool operator==(ClientKey, ClientKey) = default;

 private:
  explicit ClientKey(std::uint64_t hash) noexcept : value_(hash != 0 ? hash : 1) {}

  std::uint64_t value_;
};

}  // namespace damper::http
