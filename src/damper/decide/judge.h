#pragma once

#include "damper/base/verdict.h"
#include "damper/decide/outcome.h"

namespace damper::decide {

// What judging an attempt needs to know of the request.
struct Request {
  bool idempotent = false;                     // See Idempotency.
  bool safe = false;                           // A read: may run twice at once, so it is hedged.
  bool owned_above = false;                    // See Layer: a layer above retries it.
  bool unsent_owned_above = false;             // A layer above retries at least unsent requests.
  bool rereads = false;                        // Each attempt reads anew before it writes.
  bool unrepeatable = false;                   // A part of it is gone: it cannot be sent again.
  OutcomeSet retryable = kRetryableByDefault;  // The policy's retry_on.
};

// Whether another attempt is useful and safe: Verdict::none if so, otherwise the reason why not.
//
// Why one function: the order of the checks is a decision of its own. It runs from facts that no
// policy can change to the position of this request in the system, so that the verdict names the
// first reason that would have to change.
// Model, in this order:
//   success, cancelled, permanent, conflict   the outcome itself ends the call, whatever
//                                             `retryable` holds; but a conflict, which wrote
//                                             nothing, is retried by a request that rereads
//   pushed_back      the server forbids a retry. Obeyed for every failure.
//   overload         unless the server sent a retry time. With one an overload is retryable, even
//                    if `retryable` leaves it out; without one, never.
//   not_retryable    the outcome is not in `retryable`, or the policy leaves this status out
//   not_idempotent   unless the outcome is `unavailable` (the request surely was not sent), or it
//   is
//                    known to be harmless. An overload is no exception: the 429 may be the answer
//                    of a layer that is not the first.
//   unrepeatable     its body is not kept any more, whatever the outcome
//   layered          a layer above retries it; but a conflict is only ever retried by the layer
//                    that rereads
// Invariants:
//   (1) A request that is not idempotent is repeated only after `unavailable`, after a conflict if
//       it rereads, or after a harmless failure.
//   (2) An overload is retried only with a retry time of the server.
//   (3) A request that is unrepeatable is never repeated.
//   (4) A request that is owned above is never retried here, but for a conflict if it rereads.
// Cost: a few branches; no allocation.
[[nodiscard]] constexpr Verdict judge(const Report& report, const Request& request) noexcept {
  switch (report.outcome) {
    case Outcome::success: return Verdict::success;
    case Outcome::cancelled: return Verdict::cancelled;
    case Outcome::permanent: return Verdict::permanent;
    case Outcome::conflict:
      if (!request.rereads) return Verdict::conflict;
      break;
    case Outcome::transient:
    case Outcome::timeout:
    case Outcome::overload:
    case Outcome::unavailable: break;
  }
  if (report.do_not_retry) return Verdict::pushed_back;
  if (report.outcome == Outcome::overload) {
    if (!report.server_said_when()) return Verdict::overload;
  } else if (report.outcome != Outcome::conflict && !request.retryable.contains(report.outcome)) {
    return Verdict::not_retryable;
  }
  if (report.retry_on_excluded) return Verdict::not_retryable;
  const bool changed_nothing = report.harmless || report.outcome == Outcome::unavailable ||
                               report.outcome == Outcome::conflict;
  if (!request.idempotent && !changed_nothing) return Verdict::not_idempotent;
  if (request.unrepeatable) return Verdict::unrepeatable;
  if (request.rereads && report.outcome == Outcome::conflict) return Verdict::none;
  const bool unsent = report.outcome == Outcome::unavailable;
  if (request.owned_above || (unsent && request.unsent_owned_above)) return Verdict::layered;
  return Verdict::none;
}

}  // namespace damper::decide
