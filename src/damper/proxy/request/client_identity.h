#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "damper/http/codec/head.h"
#include "damper/http/codec/stream.h"
#include "damper/proxy/config/trust.h"
#include "damper/proxy/request/forward_fields.h"
#include "damper/proxy/request/request_id.h"

namespace damper::proxy {

// A ClientIdentity is what a request's peer is, and what is believed of it.
//
// Model: `trusted` by the address of the connection. `address` is that of the client before trusted
// proxies (Trust::follow()). `request_id` is that of a trusted peer, or a new one if that has
// none, an empty one, one of over kLongestId bytes, or one that is not printable ASCII. Of several
// it is the first.
// Thread safety: none. Cost: no allocation once it has held texts as long.
struct ClientIdentity {
  static constexpr std::size_t kLongestId = 256;

  bool trusted = false;
  std::string address;
  std::string_view protocol;  // a literal of the codec
  std::string request_id;

  void read(const Trust& trust, const http::Peer& peer, std::span<const http::Field> fields) {
    trusted = trust.trusts(peer.address);
    protocol = peer.protocol;
    std::string_view client = peer.address;
    for (auto field = fields.rbegin(); trusted && field != fields.rend(); ++field) {
      if (!http::same_name(field->name, kForwardedForHeader)) continue;
      if (!trust.follow(field->value, client)) break;  // Lines are one list (RFC 9110, 5.3).
    }
    address = client;
    const auto id = trusted ? http::find(fields, kRequestIdHeader) : std::nullopt;
    if (id && is_good_id(*id)) {
      request_id = *id;
    } else {
      make_request_id(request_id);
    }
  }
  [[nodiscard]] static bool is_good_id(std::string_view id) noexcept {
    return !id.empty() && id.size() <= kLongestId &&
           std::all_of(id.begin(), id.end(), [](char c) { return c >= ' ' && c <= '~'; });
  }
};

}  // namespace damper::proxy
