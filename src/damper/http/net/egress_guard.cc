#include "damper/http/net/egress_guard.h"

#include <algorithm>
#include <array>

namespace damper::http {
namespace {

// After "ADDRESS is ".
constexpr std::array<std::string_view, kAddressClassNames.size()> kPhrases = {
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
  if (found == AddressClass::public_address) return std::nullopt;
  if (found != AddressClass::metadata) {
    const IpAddress real = unmapped(address);
    const auto contains = [&](const Network& network) {
      return network.contains(address) || network.contains(real);
    };
    if (std::any_of(allowed.begin(), allowed.end(), contains)) return std::nullopt;
  }
  const std::string text = address.text();
  std::string sentence;
  if (!host.empty() && host != text) sentence.append(host).append(" resolves to ");
  sentence.append(text);
  sentence.append(host.empty() || host == text ? " is " : ", ");
  return sentence.append(kPhrases[static_cast<std::size_t>(found)])
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
  return BoundsCheck()
      .field("allowed", guard.allowed.size(), EgressGuard::kMostEntries)
      .field("ports", guard.ports.size(), EgressGuard::kMostEntries)
      .error();
}

}  // namespace damper::http
