#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/enum_names.h"
#include "damper/decide/outcome.h"

namespace damper::policy {

// A RetryOn is what a policy's retry_on selects, in Envoy's words.
//
// Why: Envoy's words mix three things: what happened on the wire, HTTP statuses and gRPC codes.
// The engine knows outcomes alone; the edge, which sees the status, needs the rest to fill
// decide::Report::retry_on_excluded.
// Model: a set of tokens and the listed statuses. Each token adds outcomes, statuses and codes to
// what is retried. It only ever narrows: an answer whose outcome is permanent, a conflict or an
// overload is not retried because a token names it, and the loader says so in a note.
// Invariants:
//   (1) With the token `default`, or before anything is set, nothing is excluded and the outcomes
//       are decide::kRetryableByDefault.
//   (2) outcomes() is a subset of decide::kRetryableByDefault.
class RetryOn {
 public:
  enum class Token : std::uint8_t {
    default_,  // NOLINT(readability-identifier-naming): `default` is a keyword.
    any_5xx,
    gateway_error,
    reset,
    reset_before_request,
    connect_failure,
    refused_stream,
    retriable_4xx,
    retriable_status_codes,
    envoy_ratelimited,
    cancelled,
    deadline_exceeded,
    internal,
    resource_exhausted,
    unavailable,
  };
  static constexpr EnumNames<Token::unavailable> kNames = {"default",
                                                           "5xx",
                                                           "gateway-error",
                                                           "reset",
                                                           "reset-before-request",
                                                           "connect-failure",
                                                           "refused-stream",
                                                           "retriable-4xx",
                                                           "retriable-status-codes",
                                                           "envoy-ratelimited",
                                                           "cancelled",
                                                           "deadline-exceeded",
                                                           "internal",
                                                           "resource-exhausted",
                                                           "unavailable"};

  using Statuses = std::bitset<600>;  // Those of retriable_status_codes: 400 to 599.

  // A bit for each token, the first in bit 0.
  [[nodiscard]] std::uint32_t tokens() const { return tokens_; }
  void set_tokens(std::uint32_t tokens) { tokens_ = tokens; }
  [[nodiscard]] bool has(Token token) const {
    return (tokens_ >> static_cast<unsigned>(token) & 1U) != 0;
  }
  [[nodiscard]] const Statuses& statuses() const { return statuses_; }
  void set_statuses(const Statuses& statuses) { statuses_ = statuses; }

  // What the engine retries.
  [[nodiscard]] decide::OutcomeSet outcomes() const;
  // Whether retry_on leaves the answer out: what decide::Report::retry_on_excluded shall be.
  [[nodiscard]] bool excludes_http(int status) const;
  [[nodiscard]] bool excludes_grpc(int code) const;
  // decide::classify_grpc(), but for INTERNAL, which is transient to a policy that names it.
  [[nodiscard]] decide::Outcome outcome_of_grpc(int code) const;

  friend bool operator==(const RetryOn&, const RetryOn&) = default;

 private:
  std::uint32_t tokens_ = 1;
  Statuses statuses_;
};

// Why a token, or a listed status, asks for what Damper does not do; empty when it does it.
[[nodiscard]] std::string_view refusal(RetryOn::Token token);
[[nodiscard]] std::string_view refusal_of_status(int status);

}  // namespace damper::policy
