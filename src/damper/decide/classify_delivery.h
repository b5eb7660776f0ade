#pragma once

#include "damper/decide/classify_http.h"
#include "damper/decide/outcome.h"

namespace damper::decide {

// The outcome that the status of a webhook's receiver stands for.
//
//   2xx                      success
//   3xx                      transient    a redirect is not followed: the endpoint takes nothing
//   401, 403 to 405, 407, 421 transient   it refuses every message: the endpoint, not the message
//   410                      permanent    the endpoint is gone, see is_gone()
//   429, 503                 overload     with Retry-After, such an attempt does not count
//   others                   as classify_http(): 5xx is transient, and 400, 413, 422 are permanent,
//                            which says that the endpoint works
//
// Why not classify_http() alone: a breaker must open for an endpoint that answers 404 to all, and
// stay closed for one that refuses a single message. Retries do not depend on it: a delivery that
// was not accepted is retried by its schedule whatever the status, since receivers are mended.
[[nodiscard]] constexpr Outcome classify_delivery(int status) noexcept {
  if (status >= 200 && status < 300) return Outcome::success;
  if (status < 400) return Outcome::transient;
  switch (status) {
    case 401:
    case 403:
    case 404:
    case 405:
    case 407:
    case 421: return Outcome::transient;
    case 409:
    case 412: return Outcome::permanent;
    case 503: return Outcome::overload;
    default: return classify_http(status);
  }
}

// The endpoint does not exist any more, by its own word: it is disabled.
[[nodiscard]] constexpr bool is_gone(int status) noexcept { return status == 410; }

}  // namespace damper::decide
