#pragma once

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
// proxies (Trust::client_of()). `request_id` is that of a trusted peer, or a new one.
// Thread safety: none. Cost: no allocation once it has held texts as long.
struct ClientIdentity {
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
      client = trust.client_of(field->value, client);
    }
    address = client;
    const auto id = trusted ? http::find(fields, kRequestIdHeader) : std::nullopt;
    if (id && !id->empty()) {
      request_id = *id;
    } else {
      make_request_id(request_id);
    }
  }
};

}  // namespace damper::proxy
