#include "damper/http/peer/client_key.h"

#include <sys/random.h>

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

}  // namespace

ClientKey ClientKey::of(const IpAddress& address) noexcept {
  const IpAddress plain = address.unmapped();
  std::array<char, kSubscriber> bytes{};
  const std::size_t size = plain.is_v6() ? kSubscriber : 4;
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(plain.bytes()[i]);
  return ClientKey(keyed_hash(plain.is_v6() ? keys().of_v6 : keys().of_v4, {bytes.data(), size}));
}

ClientKey ClientKey::of_text(std::string_view text) noexcept {
  return ClientKey(keyed_hash(keys().of_text, text));
}

ClientKey ClientKey::of_address(std::string_view text) noexcept {
  const std::optional<IpAddress> address = IpAddress::find(text);
  return address ? of(*address) : of_text(text);
}

}  // namespace damper::http
