#pragma once

#include "damper/decide/outcome.h"

namespace damper::decide {

// The outcome that a gRPC status code stands for. The codes are plain numbers, 0 to 16, so that
// neither a caller nor this library needs gRPC.
//
//    0 OK                   success
//    1 CANCELLED            cancelled
//    2 UNKNOWN              permanent   an exception in the handler, most often: a bug, which
//                                       repeating meets again. Google's AIP-194 does not retry it.
//    3 INVALID_ARGUMENT     permanent
//    4 DEADLINE_EXCEEDED    overload    the deadline that we sent along ran out, so no time is left
//                                       for another attempt. An attempt's own timeout is no status
//                                       from the server: the owner of that timer reports `timeout`.
//    5 NOT_FOUND            permanent
//    6 ALREADY_EXISTS       permanent   the write is not repeated with a newer version, as with
//                                       ABORTED: something else is there
//    7 PERMISSION_DENIED    permanent
//    8 RESOURCE_EXHAUSTED   overload    retried only with a retry time
//    9 FAILED_PRECONDITION  permanent   until the state of the system is repaired
//   10 ABORTED              conflict    retry at a higher level: read, modify, write
//   11 OUT_OF_RANGE         permanent
//   12 UNIMPLEMENTED        permanent
//   13 INTERNAL             permanent   a broken invariant; as UNKNOWN
//   14 UNAVAILABLE          transient   and not `unavailable`: gRPC gives no guarantee that the
//                                       server has not seen the request. A transport that knows
//                                       reports its own event (classify_transport.h).
//   15 DATA_LOSS            permanent
//   16 UNAUTHENTICATED      permanent
//   the rest                permanent   a code that this version does not know
//
// A policy that wants UNKNOWN or INTERNAL retried (Envoy's retry_on: internal) maps them itself.
[[nodiscard]] constexpr Outcome classify_grpc(int code) noexcept {
  switch (code) {
    case 0: return Outcome::success;
    case 1: return Outcome::cancelled;
    case 4:
    case 8: return Outcome::overload;
    case 10: return Outcome::conflict;
    case 14: return Outcome::transient;
    default: return Outcome::permanent;
  }
}

}  // namespace damper::decide
