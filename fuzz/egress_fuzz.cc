// Input: a URL, or the text of an address or a network. An address is read as inet_pton reads it. A
// URL that the guard accepts has a name or a public address as host, and the same guard accepts
// what is read from it again. Metadata is refused whatever is allowed.
#include <arpa/inet.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/http/client/url.h"
#include "damper/http/net/address_class.h"
#include "damper/http/net/egress_guard.h"

namespace {

std::optional<damper::http::IpAddress> find_by_libc(const std::string& text) {
  using damper::http::IpAddress;
  IpAddress::V4 v4{};
  IpAddress::V6 v6{};
  if (text.find('\0') != std::string::npos) return std::nullopt;
  if (inet_pton(AF_INET, text.c_str(), v4.data()) == 1) return IpAddress(v4);
  if (inet_pton(AF_INET6, text.c_str(), v6.data()) == 1) return IpAddress(v6);
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace damper::http;
  const std::string text(reinterpret_cast<const char*>(data), size);

  const auto address = IpAddress::find(text);
  DAMPER_CHECK(address == find_by_libc(text));
  const EgressGuard open{.allowed = {*Network::find("0.0.0.0/0"), *Network::find("::/0")}};
  if (address) {
    DAMPER_CHECK(IpAddress::find(address->text()) == address);
    const AddressClass found = class_of(*address);
    DAMPER_CHECK(class_of(unmapped(*address)) == found);
    DAMPER_CHECK(EgressGuard{}.find_refusal(*address).has_value() ==
                 (found != AddressClass::public_address));
    DAMPER_CHECK(open.find_refusal(*address).has_value() == (found == AddressClass::metadata));
  }
  if (const auto network = Network::find(text)) DAMPER_CHECK(network->contains(network->base));

  const EgressGuard guard{.ports = {80, 443}};
  const auto url = parse_url(text, guard);
  if (!url) {
    DAMPER_CHECK(!url.error().empty());
    return 0;
  }
  DAMPER_CHECK(url->endpoint.port == 80 || url->endpoint.port == 443);
  const auto host = find_by_libc(url->endpoint.host);
  DAMPER_CHECK(is_address(url->endpoint.host) == host.has_value());
  if (host) DAMPER_CHECK(class_of(*host) == AddressClass::public_address);
  DAMPER_CHECK(parse_url(url->endpoint.text() + "/", guard));
  return 0;
}
