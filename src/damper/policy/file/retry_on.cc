#include "damper/policy/file/retry_on.h"

#include "damper/decide/classify_grpc.h"
#include "damper/decide/classify_http.h"

namespace damper::policy {
namespace {

using Token = RetryOn::Token;
using decide::Outcome;
using decide::OutcomeSet;

constexpr OutcomeSet kAll = decide::kRetryableByDefault;

// What a token adds. Statuses are a range; a gRPC code is -1 when the token is about HTTP.
struct Meaning {
  OutcomeSet outcomes;
  int first_status = 0;
  int last_status = -1;
  int grpc_code = -1;
};

// Envoy counts an upstream that did not answer at all (reset, timeout, no connection) as 5xx, as
// gateway-error and as reset: source/common/router/retry_state_impl.cc, wouldRetryFromReset.
constexpr Meaning meaning(Token token) {
  switch (token) {
    case Token::default_: return {kAll};
    case Token::any_5xx: return {kAll, 500, 599};
    case Token::gateway_error: return {kAll, 502, 504};
    case Token::reset: return {kAll};
    case Token::reset_before_request:
    case Token::connect_failure:
    case Token::refused_stream: return {{Outcome::unavailable}};
    case Token::retriable_4xx: return {{}, 409, 409};
    case Token::retriable_status_codes: return {{Outcome::transient}};
    case Token::envoy_ratelimited: return {{}, 429, 429};
    case Token::cancelled: return {{}, 0, -1, 1};
    case Token::deadline_exceeded: return {{}, 0, -1, 4};
    case Token::internal: return {{Outcome::transient}, 0, -1, 13};
    case Token::resource_exhausted: return {{}, 0, -1, 8};
    case Token::unavailable: return {{Outcome::transient, Outcome::unavailable}, 0, -1, 14};
  }
  return {};
}

template <class Visit>
void for_each_token(const RetryOn& retry_on, Visit visit) {
  for (std::size_t i = 0; i < RetryOn::kNames.size(); ++i) {
    if (retry_on.has(static_cast<Token>(i))) visit(meaning(static_cast<Token>(i)));
  }
}

}  // namespace

OutcomeSet RetryOn::outcomes() const {
  bool transient = false;
  bool timeout = false;
  bool unavailable = false;
  for_each_token(*this, [&](const Meaning& token) {
    transient = transient || token.outcomes.contains(Outcome::transient);
    timeout = timeout || token.outcomes.contains(Outcome::timeout);
    unavailable = unavailable || token.outcomes.contains(Outcome::unavailable);
  });
  if (!transient && !timeout && !unavailable) return {};
  const Outcome one = transient ? Outcome::transient
                      : timeout ? Outcome::timeout
                                : Outcome::unavailable;  // To repeat an element changes nothing.
  return {transient ? Outcome::transient : one, timeout ? Outcome::timeout : one,
          unavailable ? Outcome::unavailable : one};
}

bool RetryOn::excludes_http(int status) const {
  if (has(Token::default_)) return false;
  const bool listed = status >= 0 && status < static_cast<int>(statuses_.size()) &&
                      statuses_[static_cast<std::size_t>(status)];
  bool included = listed && has(Token::retriable_status_codes);
  for_each_token(*this, [&](const Meaning& token) {
    included = included || (status >= token.first_status && status <= token.last_status);
  });
  return !included;
}

bool RetryOn::excludes_grpc(int code) const {
  if (has(Token::default_)) return false;
  bool included = false;
  for_each_token(*this, [&](const Meaning& token) {
    included = included || (token.grpc_code >= 0 && token.grpc_code == code);
  });
  return !included;
}

Outcome RetryOn::outcome_of_grpc(int code) const {
  const bool named = code == meaning(Token::internal).grpc_code && has(Token::internal);
  return named ? Outcome::transient : decide::classify_grpc(code);
}

std::string_view refusal(Token token) {
  switch (token) {
    case Token::retriable_4xx:
      return "it is a conflict, and to send the same write again cannot resolve it; it is not "
             "retried";
    case Token::envoy_ratelimited:
    case Token::resource_exhausted:
      return "it says that the dependency is overloaded; it is retried only when the server says "
             "when to come back";
    case Token::cancelled: return "a cancelled call is not wanted any more; it is not retried";
    case Token::deadline_exceeded:
      return "the call's own time is over when its deadline is; it is not retried";
    default: return {};
  }
}

std::string_view refusal_of_status(int status) {
  switch (decide::classify_http(status)) {
    case Outcome::overload: return refusal(Token::envoy_ratelimited);
    case Outcome::conflict: return refusal(Token::retriable_4xx);
    case Outcome::permanent:
      return "the answer is permanent and will not change; it is not retried";
    default: return {};
  }
}

}  // namespace damper::policy
