#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "damper/http/net/ip_address.h"

namespace damper::http {

// A PeerSet is the peers of a listener that a rule applies to: none, all, or those of networks.
//
// Model: an IPv4 address inside of IPv6 (::ffff:10.0.0.1, of a listener on [::]) is the IPv4
// address, and so is a network of them. A peer without an address (of a Unix socket) is in no
// network.
// Thread safety: a plain value. Cost: contains() compares the address with each network.
class PeerSet {
 public:
  PeerSet() = default;  // none
  [[nodiscard]] static PeerSet all() {
    PeerSet set;
    set.all_ = true;
    return set;
  }
  void add(const Network& network) { networks_.push_back(network.unmapped()); }

  [[nodiscard]] bool is_empty() const noexcept { return !all_ && networks_.empty(); }
  [[nodiscard]] bool contains(const std::optional<IpAddress>& address) const noexcept {
    if (all_ || !address) return all_;
    const IpAddress peer = address->unmapped();
    return std::any_of(networks_.begin(), networks_.end(),
                       [&](const Network& network) { return network.contains(peer); });
  }
  // `address` without a port.
  [[nodiscard]] bool contains(std::string_view address) const noexcept {
    return all_ || (!networks_.empty() && contains(IpAddress::find(address)));
  }

  friend bool operator==(const PeerSet&, const PeerSet&) = default;

 private:
  bool all_ = false;
  std::vector<Network> networks_;
};

}  // namespace damper::http
