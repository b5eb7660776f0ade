#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/decide/outcome.h"
#include "damper/http/codec/stream.h"
#include "damper/proxy/request/field_editor.h"

namespace damper::proxy {

// The number of attempts, if there was more than one.
inline constexpr std::string_view kAttemptsHeader = "damper-attempts";

// An OwnAnswer is the proxy's own response, for requests without a response of a replica.
//
// Model: one line of text, the verdict in `damper-verdict`, and Retry-After if a time is known. A
// gRPC client gets status 200 without a body, with grpc-status and grpc-message beside the verdict.
struct OwnAnswer {
  int status = 503;
  int grpc_status = 14;  // UNAVAILABLE
  Verdict verdict = Verdict::none;
  std::string_view text{};  // one sentence, without a full stop
  Duration retry_after{0};  // 0: not sent
  std::uint32_t attempts = 0;
};

// For a call that ended without a response. `last`: the outcome of its last failed attempt;
// success: none failed.
//   504   a deadline, or an attempt that timed out
//   503   refused here: breaker, throttle, limit, budget, switch, shed, or a full pool
//   502   the last attempt got no response
[[nodiscard]] OwnAnswer own_answer(Verdict verdict, decide::Outcome last) noexcept;
// The refusal of the route's admission: it says when to come back, unless the time is over (504).
[[nodiscard]] OwnAnswer own_refusal(Verdict verdict, Duration retry_after) noexcept;
// The route's rate limit (429).
[[nodiscard]] OwnAnswer rate_limited(Duration wait) noexcept;
// By client_rate_limit.
[[nodiscard]] OwnAnswer client_rate_limited(Duration wait) noexcept;
[[nodiscard]] OwnAnswer path_not_allowed() noexcept;     // 400: PathRules, or `..` before a rewrite
[[nodiscard]] OwnAnswer no_route() noexcept;             // 404
[[nodiscard]] OwnAnswer connect_not_allowed() noexcept;  // 405
[[nodiscard]] OwnAnswer upgrade_not_allowed() noexcept;  // 403
[[nodiscard]] OwnAnswer too_many_tunnels() noexcept;     // 503: the route's max_tunnels
[[nodiscard]] OwnAnswer no_room() noexcept;              // 503: the proxy's max_kept_bytes
[[nodiscard]] OwnAnswer body_timed_out() noexcept;       // 408: the upload stalled
[[nodiscard]] OwnAnswer body_stalled() noexcept;         // 408: before, for max_kept_bytes

// Whether `damper-verdict` is added to a forwarded response: not to a success, nor to a response
// that would be final without the proxy too.
[[nodiscard]] constexpr bool is_remarkable(Verdict verdict) noexcept {
  return verdict != Verdict::success && verdict != Verdict::permanent &&
         verdict != Verdict::conflict;
}

// The edits of the route, if there is one, that an own answer gets too.
struct AnswerEdits {
  ResponseFields* fields = nullptr;  // nullptr: none
  const FieldEdits* edits = nullptr;
  FieldContext context{};
};

// Writes the complete response, and returns the bytes of its body: none of them is sent in answer
// to HEAD. `draw` spreads Retry-After over a second.
std::size_t send(http::Stream& stream, const OwnAnswer& answer, bool grpc, double draw,
                 const AnswerEdits& edits = {});

}  // namespace damper::proxy
