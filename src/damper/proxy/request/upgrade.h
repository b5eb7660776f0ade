#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "damper/http/codec/chars.h"
#include "damper/http/codec/head.h"

namespace damper::proxy {

// Allows every protocol, as an entry of a route's `upgrades`.
inline constexpr std::string_view kAnyUpgrade = "*";

// Whether a request may be upgraded. `offered` is its Upgrade field: protocols, perhaps with a
// version ("websocket", "foo/2"); `allowed` is the route's list, without versions.
//
// Model: the replica selects one of the protocols, so all of them must be allowed, and there must
// be one at least. Those that carry HTTP requests, such as h2c, never get here: the codec ignores
// an Upgrade that lists one.
[[nodiscard]] inline bool may_upgrade(std::string_view offered,
                                      std::span<const std::string> allowed) {
  const auto is_allowed = [&](std::string_view protocol) {
    protocol = protocol.substr(0, protocol.find('/'));
    return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& one) {
      return one == kAnyUpgrade || http::same_name(protocol, one);
    });
  };
  bool any = false;
  bool all = true;
  http::for_each_word(offered, [&](std::string_view protocol) {
    any = true;
    all &= is_allowed(protocol);
  });
  return any && all;
}

// Whether a route allows CONNECT: `methods` of its match lists it.
[[nodiscard]] inline bool may_connect(std::span<const std::string> methods) {
  return std::find(methods.begin(), methods.end(), "CONNECT") != methods.end();
}

}  // namespace damper::proxy
