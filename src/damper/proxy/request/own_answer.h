#ifndef DAMPER_PROXY_REQUEST_OWN_ANSWER_H_
#define DAMPER_PROXY_REQUEST_OWN_ANSWER_H_

#include <cstdint>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/decide/outcome.h"
#include "damper/http/codec/stream.h"

namespace damper::proxy {

// Says how many attempts an answer took, if it was more than one.
inline constexpr std::string_view kAttemptsHeader = "damper-attempts";

// An OwnAnswer is what the proxy itself says to a client for whom there is no answer of a replica.
//
// Model: one line of text, the verdict in `damper-verdict`, Retry-After where it is known when to
// come back. To a gRPC client: status 200 without a body, and grpc-status and grpc-message beside
// the verdict, as gRPC wants it.
struct OwnAnswer {
  int status = 503;
  int grpc_status = 14;  // UNAVAILABLE
  Verdict verdict = Verdict::none;
  std::string_view text{};  // one sentence, without its end
  Duration retry_after{0};  // 0: nothing is said
  std::uint32_t attempts = 0;
};

// When a call has ended without an answer. `last`: how its last attempt went; success: none did.
//   504   a deadline, or an attempt that timed out
//   503   a refusal of ours: breaker, throttle, limit, budget, switch, shed, or no place in a pool
//   502   what the last attempt met was no answer
[[nodiscard]] OwnAnswer own_answer(Verdict verdict, decide::Outcome last) noexcept;
// At the door: the route's rate limit (429).
[[nodiscard]] OwnAnswer rate_limited(Duration wait) noexcept;
[[nodiscard]] OwnAnswer no_route() noexcept;             // 404
[[nodiscard]] OwnAnswer connect_not_allowed() noexcept;  // 405

// Says it all, and the end. `draw` spreads Retry-After over a second.
void send(http::Stream& stream, const OwnAnswer& answer, bool grpc, double draw);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_REQUEST_OWN_ANSWER_H_
