#include "damper/http/peer/client_key.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <optional>

#include "damper/base/check.h"
#include "damper/http/peer/keyed_hash.h"

namespace damper::http {
namespace {

constexpr std::size_t kSubscriber = 8;  // bytes of an IPv6 address: a /64

// One key for each kind, so that an address and a text never have the same input.
struct Keys {
  HashKey of_v4{};
  HashKey of_v6{};
  HashKey of_text{};
};

const Keys& keys() noexcept {
  static const Keys kKeys = [] {
    Keys made;
    DAMPER_CHECK(::getrandom(&made, sizeof(made), 0) == sizeof(made));
    return made;
  }();
  return kKeys;
}

constexpr bool is_v4_text(std::string_view text) noexcept {
  const auto fits = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  return text.size() >= 7 && text.size() <= 15 && std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

ClientKey ClientKey::of(const IpAddress& address) noexcept {
  const IpAddress plain = address.unmapped();
  if (!plain.is_v6()) return ClientKey(keyed_hash(keys().of_v4, plain.text()));
  std::array<char, kSubscriber> bytes{};
  for (std::size_t i = 0; i < kSubscriber; ++i) bytes[i] = static_cast<char>(plain.bytes()[i]);
  return ClientKey(keyed_hash(keys().of_v6, {bytes.data(), kSubscriber}));
}

ClientKey ClientKey::of_text(std::string_view text) noexcept {
  return ClientKey(keyed_hash(keys().of_text, text));
}

// An IPv4 address has one text, which need not be parsed: that takes 300 instructions a request.
ClientKey ClientKey::of_address(std::string_view text) noexcept {
  if (is_v4_text(text)) return ClientKey(keyed_hash(keys().of_v4, text));
  const std::optional<IpAddress> address = IpAddress::find(text);
  return address ? of(*address) : of_text(text);
}

}  // namespace damper::http
