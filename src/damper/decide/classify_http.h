#pragma once

#include "damper/decide/outcome.h"

namespace damper::decide {

// The outcome that an HTTP status code stands for (RFC 9110, section 15; 425 is RFC 8470, 429 is
// RFC 6585).
//
//   100 to 399   success      the server executed the request, or redirects it
//   408          transient    the server gave up waiting for the request
//   409, 412     conflict     another client wrote first; read again before writing again
//   425          transient    sent in early data: the same request is welcome after the handshake
//   429          overload     too many requests; retried only with a retry time
//   other 4xx    permanent    the request is wrong, and will be wrong again
//   501          permanent    the server does not know the method, and will not learn it
//   other 5xx    transient    503 too: a server that means "slow down" sends Retry-After with it
//   the rest     permanent    no HTTP status at all: a bug on one side, which repeating keeps
[[nodiscard]] constexpr Outcome classify_http(int status) noexcept {
  if (status < 100 || status > 599) return Outcome::permanent;
  if (status < 400) return Outcome::success;
  switch (status) {
    case 408:
    case 425: return Outcome::transient;
    case 409:
    case 412: return Outcome::conflict;
    case 429: return Outcome::overload;
    case 501: return Outcome::permanent;
    default: return status < 500 ? Outcome::permanent : Outcome::transient;
  }
}

}  // namespace damper::decide
