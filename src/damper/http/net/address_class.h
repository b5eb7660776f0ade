#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "damper/base/enum_names.h"
#include "damper/http/net/ip_address.h"

namespace damper::http {

// What an address is for, by IANA's registries of special-purpose addresses (RFC 6890 and its
// updates) and those of multicast. Everything but `public_address` reaches a network that a URL of
// a stranger has no business in, or nothing at all.
enum class AddressClass : std::uint8_t {
  public_address,
  this_network,   // 0.0.0.0/8, ::; Linux connects 0.0.0.0 and :: to itself
  loopback,       // 127.0.0.0/8, ::1
  private_use,    // RFC 1918, fc00::/7
  shared_space,   // 100.64.0.0/10: carrier-grade NAT
  link_local,     // 169.254.0.0/16, fe80::/10
  site_local,     // fec0::/10, deprecated
  metadata,       // a cloud's service that hands out credentials; see kMetadata
  documentation,  // examples
  benchmarking,   // 198.18.0.0/15, 2001:2::/48
  multicast,      // 224.0.0.0/4, ff00::/8
  transition,     // an IPv4 address inside of IPv6 that a relay translates: 6to4, Teredo, ...
  special,        // other assignments of the registries: 192.0.0.0/24, AS112, ORCHID, discard, ...
  reserved,       // 240.0.0.0/4; IPv6 outside of 2000::/3
};

inline constexpr EnumNames<AddressClass::reserved> kAddressClassNames = {
    "public_address", "this_network", "loopback", "private_use",   "shared_space",
    "link_local",     "site_local",   "metadata", "documentation", "benchmarking",
    "multicast",      "transition",   "special",  "reserved"};

[[nodiscard]] constexpr std::string_view name(AddressClass address_class) noexcept {
  return kAddressClassNames[address_class];
}

struct AddressRange {
  Network network;
  AddressClass address_class;
};

namespace address_ranges {

consteval AddressRange range(std::string_view network, AddressClass address_class) {
  return {*Network::find(network), address_class};
}
using enum AddressClass;

// Services of clouds that give credentials, or control of the machine, to every local process.
inline constexpr std::array kMetadata = {
    range("169.254.169.254", metadata),  // AWS, Google, Azure, OpenStack and others
    range("169.254.170.2", metadata),    // AWS ECS
    range("169.254.170.23", metadata),   // AWS EKS
    range("100.100.100.200", metadata),  // Alibaba
    range("192.0.0.192", metadata),      // Oracle
    range("168.63.129.16", metadata),    // Azure
    range("169.254.0.23", metadata),     // Tencent
    range("169.254.42.42", metadata),    // Scaleway
    range("fd00:42::42", metadata),      // Scaleway
    range("fd00:ec2::254", metadata),    // AWS
    range("fd00:ec2::23", metadata),     // AWS EKS
    range("fd20:ce::254", metadata),     // Google
};

inline constexpr std::array kRanges = {
    range("0.0.0.0/8", this_network),
    range("10.0.0.0/8", private_use),
    range("100.64.0.0/10", shared_space),
    range("127.0.0.0/8", loopback),
    range("169.254.0.0/16", link_local),
    range("172.16.0.0/12", private_use),
    range("192.0.0.0/24", special),  // IETF protocol assignments
    range("192.0.2.0/24", documentation),
    range("192.31.196.0/24", special),    // AS112
    range("192.52.193.0/24", special),    // AMT
    range("192.88.99.0/24", transition),  // 6to4 relays, deprecated
    range("192.168.0.0/16", private_use),
    range("192.175.48.0/24", special),  // AS112
    range("198.18.0.0/15", benchmarking),
    range("198.51.100.0/24", documentation),
    range("203.0.113.0/24", documentation),
    range("224.0.0.0/4", multicast),
    range("240.0.0.0/4", reserved),

    range("::/128", this_network),
    range("::1/128", loopback),
    range("100::/64", special),        // discard
    range("100:0:0:1::/64", special),  // dummy prefix
    range("2001:2::/48", benchmarking),
    range("2001:db8::/32", documentation),
    range("2001::/23", special),          // AMT, AS112, ORCHID and the rest of it; Teredo: below
    range("2620:4f:8000::/48", special),  // AS112
    range("3fff::/20", documentation),
    range("5f00::/16", special),  // SRv6
    range("fc00::/7", private_use),
    range("fe80::/10", link_local),
    range("fec0::/10", site_local),
    range("ff00::/8", multicast),
};

inline constexpr Network kGlobalUnicast = range("2000::/3", public_address).network;
inline constexpr Network kMapped = range("::ffff:0:0/96", transition).network;
inline constexpr Network kCompatible = range("::/96", transition).network;            // deprecated
inline constexpr Network kTranslated = range("::ffff:0:0:0/96", transition).network;  // SIIT
inline constexpr Network kNat64 = range("64:ff9b::/96", transition).network;
inline constexpr Network kLocalNat64 = range("64:ff9b:1::/48", transition).network;
inline constexpr Network kTeredo = range("2001::/32", transition).network;
inline constexpr Network kSixToFour = range("2002::/16", transition).network;

}  // namespace address_ranges

// The class of an address. Pure.
//
// Model: an IPv6 address that is an IPv4 address to the kernel or to a relay has the class of that
// one. Of the two forms that are in use, IPv4-mapped and NAT64 (64:ff9b::/96), a public IPv4
// address inside is public. The others are deprecated or local: with a public address inside they
// are `transition`.
[[nodiscard]] constexpr AddressClass class_of(const IpAddress& address) noexcept {
  using enum AddressClass;
  for (const AddressRange& one : address_ranges::kMetadata) {
    if (one.network.contains(address)) return metadata;
  }
  if (!address.is_v6()) {
    for (const AddressRange& one : address_ranges::kRanges) {
      if (one.network.contains(address)) return one.address_class;
    }
    return public_address;
  }
  // `or_else`: if the address inside is public.
  const auto inner = [](const IpAddress& v4, AddressClass or_else) {
    const AddressClass found = class_of(v4);
    return found == public_address ? or_else : found;
  };
  if (address_ranges::kMapped.contains(address) || address_ranges::kNat64.contains(address))
    return class_of(address.embedded(12));
  if (address_ranges::kTranslated.contains(address)) return inner(address.embedded(12), transition);
  if (address_ranges::kSixToFour.contains(address)) return inner(address.embedded(2), transition);
  if (address_ranges::kTeredo.contains(
          address)) {  // the server, and the client with its bits inverted
    const IpAddress::V6& bytes = address.bytes();
    IpAddress::V4 client{};
    for (std::size_t i = 0; i < 4; ++i) client[i] = static_cast<std::uint8_t>(~bytes[12 + i]);
    const IpAddress server = address.embedded(4);
    if (class_of(server) == metadata) return metadata;
    return inner(IpAddress(client), inner(server, transition));
  }
  if (address_ranges::kLocalNat64.contains(
          address)) {  // RFC 6052 for a prefix of 48 bits, or of 96
    const IpAddress::V6& bytes = address.bytes();
    const IpAddress split(IpAddress::V4{bytes[6], bytes[7], bytes[9], bytes[10]});
    return class_of(split) == metadata ? metadata : inner(address.embedded(12), transition);
  }
  for (const AddressRange& one : address_ranges::kRanges) {
    if (one.network.contains(address)) return one.address_class;
  }
  if (address_ranges::kCompatible.contains(address)) return inner(address.embedded(12), transition);
  return address_ranges::kGlobalUnicast.contains(address) ? public_address : reserved;
}

// The address that the kernel connects to: of an IPv4-mapped one, the IPv4 address.
[[nodiscard]] constexpr IpAddress unmapped(const IpAddress& address) noexcept {
  return address_ranges::kMapped.contains(address) ? address.embedded(12) : address;
}

}  // namespace damper::http
