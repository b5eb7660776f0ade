#pragma once

#include <cstdint>

#include "damper/decide/outcome.h"

namespace damper::decide {

// A TransportEvent is how an exchange ended without an answer, in the terms of the layer that
// carries the bytes: only the transport knows whether the request can have been processed, and that
// decides whether one that is not idempotent may be sent again.
enum class TransportEvent : std::uint8_t {
  name_not_resolved,      // No address: nothing to connect to.
  address_refused,        // Our own side does not allow the address: nothing was sent.
  connect_refused,        // Nothing listens there.
  connect_timeout,        // The connection was not made in time; the request was never written.
  handshake_failed,       // TLS handshake failed; the request was never written.
  proxy_failed,           // Our own proxy is the reason; the request was never written.
  refused_stream,         // HTTP/2 REFUSED_STREAM: not processed (RFC 9113, section 8.7).
  goaway_unprocessed,     // HTTP/2 GOAWAY, and our stream is above its last: not processed.
  reset_before_response,  // Written, at least in part; then the connection ended.
  reset_in_response,      // The answer had begun; then the connection ended.
  malformed_response,     // The answer is no HTTP.
  response_timeout,       // The attempt's timeout was reached first.
  pool_exhausted,         // No connection free, and no place left to wait for one.
  queue_full,             // A queue before the dependency refused it.
  deadline_passed,        // The call's deadline was reached first.
  cancelled,              // The caller gave up.
};

[[nodiscard]] constexpr Outcome classify(TransportEvent event) noexcept {
  switch (event) {
    case TransportEvent::name_not_resolved:
    case TransportEvent::connect_refused:
    case TransportEvent::connect_timeout:
    case TransportEvent::handshake_failed:
    case TransportEvent::proxy_failed:
    case TransportEvent::refused_stream:
    case TransportEvent::goaway_unprocessed: return Outcome::unavailable;
    case TransportEvent::reset_before_response:
    case TransportEvent::reset_in_response:
    case TransportEvent::malformed_response:  // What a gateway reports as 502, so the same.
      return Outcome::transient;
    case TransportEvent::response_timeout: return Outcome::timeout;
    case TransportEvent::pool_exhausted:
    case TransportEvent::queue_full:
    case TransportEvent::deadline_passed: return Outcome::overload;
    case TransportEvent::cancelled: return Outcome::cancelled;
    case TransportEvent::address_refused: return Outcome::permanent;  // It stays refused.
  }
  return Outcome::permanent;
}

}  // namespace damper::decide
