#pragma once

#include <cstdint>
#include <string_view>

#include "damper/base/enum_names.h"
#include "damper/decide/classify_transport.h"

namespace damper::http {

// Why a stream, or a whole connection, ended. The same word in code and in the metric
// damper_http_closed_total{reason}.
enum class CloseReason : std::uint8_t {
  finished,   // Both sides are complete; of a connection: the peer closed it while it was idle.
  reset,      // The peer reset it, or went away in the middle.
  refused,    // The peer surely never processed it: REFUSED_STREAM, GOAWAY below it.
  malformed,  // The peer's bytes are no HTTP.
  head_too_large,      // More bytes, or more fields, than a head may have.
  body_too_large,      // More than a body may have.
  flood,               // Frames without use: pings, settings, empty data; or streams in error.
  head_timeout,        // The head did not arrive in time.
  body_timeout,        // The body stood still.
  write_timeout,       // The peer does not read.
  idle_timeout,        // Nothing was asked for in a while.
  too_old,             // The connection had its time.
  draining,            // We are going away.
  connect_refused,     // No connection: nothing listens there.
  connect_timeout,     // No connection came about in time.
  name_not_resolved,   // No address.
  address_refused,     // Our own guard allows no address of it, or not its port or scheme.
  handshake_failed,    // TLS did not come about.
  proxy_failed,        // Our own egress proxy opened no tunnel, and that is not the target's fault.
  out_of_descriptors,  // Our own process has no file descriptor left for a connection.
  too_many,            // Over the limit of connections, streams or waiting requests.
  too_many_of_client,  // Over the limit of connections of one client.
  no_proxy_header,     // A peer that has to begin with a PROXY protocol header did not.
  cancelled,           // Our own side gave it up.
};

inline constexpr EnumNames<CloseReason::cancelled> kCloseReasonNames = {
    "finished",        "reset",
    "refused",         "malformed",
    "head_too_large",  "body_too_large",
    "flood",           "head_timeout",
    "body_timeout",    "write_timeout",
    "idle_timeout",    "too_old",
    "draining",        "connect_refused",
    "connect_timeout", "name_not_resolved",
    "address_refused", "handshake_failed",
    "proxy_failed",    "out_of_descriptors",
    "too_many",        "too_many_of_client",
    "no_proxy_header", "cancelled"};

[[nodiscard]] constexpr std::string_view name(CloseReason reason) noexcept {
  return kCloseReasonNames[reason];
}

// Whether it was decided locally, without the target: breakers, limits, throttles and the ejection
// of replicas learn nothing of it.
[[nodiscard]] constexpr bool is_local(CloseReason reason) noexcept {
  return reason == CloseReason::address_refused || reason == CloseReason::out_of_descriptors;
}

// What it means for a request of ours that had no whole answer yet. `answered`: its head had come.
[[nodiscard]] constexpr decide::TransportEvent transport_event(CloseReason reason,
                                                               bool answered) noexcept {
  using decide::TransportEvent;
  switch (reason) {
    case CloseReason::refused: return TransportEvent::refused_stream;
    case CloseReason::connect_refused: return TransportEvent::connect_refused;
    case CloseReason::connect_timeout: return TransportEvent::connect_timeout;
    case CloseReason::name_not_resolved: return TransportEvent::name_not_resolved;
    case CloseReason::address_refused: return TransportEvent::address_refused;
    case CloseReason::handshake_failed: return TransportEvent::handshake_failed;
    case CloseReason::proxy_failed: return TransportEvent::proxy_failed;
    case CloseReason::out_of_descriptors:
    case CloseReason::too_many_of_client:
    case CloseReason::too_many: return TransportEvent::pool_exhausted;
    case CloseReason::no_proxy_header:
    case CloseReason::malformed:
    case CloseReason::head_too_large:
    case CloseReason::body_too_large:
    case CloseReason::flood: return TransportEvent::malformed_response;
    case CloseReason::head_timeout:
    case CloseReason::body_timeout:
    case CloseReason::write_timeout: return TransportEvent::response_timeout;
    case CloseReason::cancelled: return TransportEvent::cancelled;
    case CloseReason::finished:
    case CloseReason::reset:
    case CloseReason::idle_timeout:
    case CloseReason::too_old:
    case CloseReason::draining: break;
  }
  return answered ? TransportEvent::reset_in_response : TransportEvent::reset_before_response;
}

}  // namespace damper::http
