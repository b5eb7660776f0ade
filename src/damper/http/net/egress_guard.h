#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/http/net/address_class.h"
#include "damper/http/net/ip_address.h"

namespace damper::http {

// An EgressGuard restricts what a Dialer connects to: for URLs that strangers choose, as those of
// webhooks. It prevents server-side request forgery (SSRF): a URL, a DNS answer or an encoding of
// an address that leads into the own network.
//
// Why here and not where the URL is checked: a name can resolve to another address at the second
// lookup (DNS rebinding). The dialer checks the addresses of the lookup whose result it connects
// to; there is no other one.
// Model: an address is allowed if its class is public_address or if one of `allowed` contains it,
// also in its IPv4-mapped form; and if none of `refused` does. An address of the class `metadata`
// is never allowed, not even by 0.0.0.0/0. Of a name with several addresses, the allowed ones are
// used.
// Thread safety: const methods may be called concurrently.
struct EgressGuard {
  static constexpr Range<std::size_t> kMostEntries{0, 1000};

  std::vector<Network> allowed{};  // besides public addresses
  std::vector<Network> refused{};  // own public addresses, an own NAT64 prefix; before `allowed`
  std::vector<std::uint16_t> ports{};  // empty: all
  bool allow_plain = true;             // http; https always is

  // Whether and why it is refused: a sentence that names the class. `host` is what was resolved;
  // empty, or the address itself, if nothing was. The sentence has the address, which tells who
  // reads it about the names of the own network: log it, and show a customer the class alone.
  [[nodiscard]] std::optional<std::string> find_refusal(const IpAddress& address,
                                                        std::string_view host = {}) const;
  // The same before an address is known.
  [[nodiscard]] std::optional<std::string> find_refusal(bool tls, std::uint16_t port) const;
};

[[nodiscard]] std::optional<std::string> find_error(const EgressGuard& guard);

// What a failure that the guard caused carries in Failure::exception; what() is the sentence.
class EgressRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace damper::http
