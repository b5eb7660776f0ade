#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/http/codec/head.h"
#include "damper/http/peer/client_key.h"
#include "damper/proxy/data/route_admission.h"
#include "damper/proxy/request/client_identity.h"
#include "damper/proxy/request/own_answer.h"

namespace damper::proxy {

// The value of a field that a request has once.
[[nodiscard]] inline std::optional<std::string_view> find_only(std::span<const http::Field> fields,
                                                               std::string_view name) {
  std::optional<std::string_view> value;
  for (const http::Field& field : fields) {
    if (!http::same_name(field.name, name)) continue;
    if (value) return std::nullopt;
    value = field.value;
  }
  return value;
}

// How long the client of a request has to wait by the route's client_rate_limit; 0: not at all.
//
// Model: the client is the value of the configured field. Without one, and for a request that does
// not have it, or has it twice, the client is its address: of the peer, or what trusted peers say
// of it. (Of two values the service may read the other one: a client could add a random one to each
// of its requests.)
// Cost: one comparison without a limit; no allocation.
[[nodiscard]] inline Duration client_wait(const LoopRoute& route, const ClientIdentity& client,
                                          std::span<const http::Field> fields, Instant now) {
  if (route.client_rates == nullptr) return Duration{0};
  const std::string& header = route.config->client_rate_limit->header;
  const auto value = header.empty() ? std::nullopt : find_only(fields, header);
  const http::ClientKey key =
      value ? http::ClientKey::of_text(*value) : http::ClientKey::of_address(client.address);
  return route.client_rates->try_take(key, now);
}

// The refusal by client_rate_limit or else by rate_limit: a client over its own rate takes nothing
// of the route's.
[[nodiscard]] inline std::optional<OwnAnswer> find_rate_refusal(const LoopRoute& route,
                                                                const ClientIdentity& client,
                                                                std::span<const http::Field> fields,
                                                                Instant now) {
  const Duration wait = client_wait(route, client, fields, now);
  if (wait > Duration{0}) return client_rate_limited(wait);
  if (!route.shared->try_take(now)) return rate_limited(route.shared->rate_wait(now));
  return std::nullopt;
}

}  // namespace damper::proxy
