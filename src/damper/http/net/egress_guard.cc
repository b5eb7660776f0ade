#include "damper/http/net/egress_guard.h"

#include <algorithm>

#include "damper/base/enum_names.h"

namespace damper::http {
namespace {

// After "ADDRESS is ".
constexpr EnumNames<AddressClass::reserved> kPhrases = {
    "a public address",
    "an address of this network",
    "a loopback address",
    "a private address",
    "an address of carrier-grade NAT",
    "a link-local address",
    "a site-local address",
    "the address of a cloud's metadata service",
    "an address for documentation",
    "an address for benchmarking",
    "a multicast address",
    "an IPv4 address in an IPv6 transition format",
    "an address for special purposes",
    "a reserved address"};

}  // namespace

std::optional<std::string> EgressGuard::find_refusal(const IpAddress& address,
                                                     std::string_view host) const {
  const AddressClass found = class_of(address);
  const auto is_in = [&, real = unmapped(address)](const std::vector<Network>& networks) {
    return std::any_of(networks.begin(), networks.end(), [&](const Network& network) {
      return network.contains(address) || network.contains(real);
    });
  };
  const bool allowed_class =
      found == AddressClass::public_address || (found != AddressClass::metadata && is_in(allowed));
  if (allowed_class && !is_in(refused)) return std::nullopt;
  const std::string text = address.text();
  std::string sentence;
  const bool resolved = !host.empty() && IpAddress::find(host) != address;
  if (resolved) sentence.append(host).append(" resolves to ");
  sentence.append(text).append(resolved ? ", " : " is ");
  return sentence.append(kPhrases[found])
      .append(", which is not allowed (")
      .append(name(found))
      .append(")");
}

std::optional<std::string> EgressGuard::find_refusal(bool tls, std::uint16_t port) const {
  if (!tls && !allow_plain) return "the scheme http is not allowed; https is";
  if (!ports.empty() && std::find(ports.begin(), ports.end(), port) == ports.end()) {
    return "the port " + std::to_string(port) + " is not allowed";
  }
  return std::nullopt;
}

std::optional<std::string> find_error(const EgressGuard& guard) {
  for (const std::vector<Network>* networks : {&guard.allowed, &guard.refused}) {
    for (const Network& network : *networks) {
      if (network.length > network.base.bits()) {
        return "the network " + network.base.text() + '/' + std::to_string(network.length) +
               " is longer than its address";
      }
    }
  }
  return BoundsCheck()
      .field("allowed", guard.allowed.size(), EgressGuard::kMostEntries)
      .field("refused", guard.refused.size(), EgressGuard::kMostEntries)
      .field("ports", guard.ports.size(), EgressGuard::kMostEntries)
      .error();
}

}  // namespace damper::http
