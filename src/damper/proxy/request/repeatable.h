#pragma once

#include <optional>

#include "damper/decide/idempotency.h"
#include "damper/http/codec/head.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

struct Repeatable {
  bool safe = false;        // a read: it may be hedged
  bool idempotent = false;  // it may be repeated after it was sent
};

// Whether a request may be repeated: by its method, by its `idempotency-key` if the route trusts
// that field, or because the route declares all of its requests reads or idempotent.
[[nodiscard]] inline Repeatable repeatable(const http::Head& head, const RouteConfig& route) {
  if (route.assume_safe || decide::safe_method(head.method)) {
    return {.safe = true, .idempotent = true};
  }
  const auto key =
      route.trust_idempotency_key ? http::find(head.fields, "idempotency-key") : std::nullopt;
  return {.idempotent = route.assume_idempotent ||
                        decide::idempotency(head.method, key.value_or("")).repeatable()};
}

}  // namespace damper::proxy
