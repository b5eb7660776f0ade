#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "damper/base/enum_names.h"
#include "damper/base/instant.h"

namespace damper::decide {

// An Outcome is how one attempt went, as far as retrying is concerned.
enum class Outcome : std::uint8_t {
  success,
  transient,    // It failed and may go better next time: 500, 503, a reset connection.
  timeout,      // No answer within the attempt's own timeout: it may have happened.
  overload,     // The dependency, or a queue or pool before it, is full: 429, RESOURCE_EXHAUSTED.
  unavailable,  // The request surely never left: connection refused, REFUSED_STREAM.
  conflict,     // Optimistic concurrency: 409, 412, ABORTED.
  permanent,    // The answer will not change: 400, 404, 501.
  cancelled,    // The caller gave up.
};

inline constexpr EnumNames<Outcome::cancelled> kOutcomeNames = {
    "success",     "transient", "timeout",   "overload",
    "unavailable", "conflict",  "permanent", "cancelled"};

[[nodiscard]] constexpr std::string_view name(Outcome outcome) noexcept {
  return kOutcomeNames[outcome];
}

// A set of outcomes in one byte.
class OutcomeSet {
 public:
  constexpr OutcomeSet() = default;
  constexpr OutcomeSet(std::initializer_list<Outcome> outcomes) {
    for (const Outcome outcome : outcomes) bits_ = static_cast<std::uint8_t>(bits_ | bit(outcome));
  }
  [[nodiscard]] constexpr bool contains(Outcome outcome) const noexcept {
    return (bits_ & bit(outcome)) != 0;
  }
  friend constexpr bool operator==(OutcomeSet, OutcomeSet) = default;

 private:
  static constexpr std::uint8_t bit(Outcome outcome) noexcept {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(outcome));
  }
  std::uint8_t bits_ = 0;
};

// The outcomes that are retried by default. Overload is not among them: a retry adds load to a
// system that has reported too much of it.
inline constexpr OutcomeSet kRetryableByDefault = {Outcome::transient, Outcome::timeout,
                                                   Outcome::unavailable};

// Whether a circuit breaker counts the outcome as a failure of the dependency. A conflict or a
// permanent error is the answer of a healthy dependency.
[[nodiscard]] constexpr bool is_failure(Outcome outcome) noexcept {
  constexpr OutcomeSet kFailures = {Outcome::transient, Outcome::timeout, Outcome::overload,
                                    Outcome::unavailable};
  return kFailures.contains(outcome);
}

// A Report is the result of one attempt as far as retrying depends on it: the outcome and the
// server's retry time, which the edge has read from Retry-After, grpc-retry-pushback-ms or
// RateLimit-Reset and converted to a duration from now.
struct Report {
  Outcome outcome = Outcome::success;
  bool do_not_retry = false;       // The server forbids a retry.
  bool harmless = false;           // It surely changed nothing (a failed read): safe to repeat.
  bool retry_on_excluded = false;  // The policy's retry_on leaves this status out.
  bool unknown = false;            // The cause is unknown: no verdict for the shared parts.
  Duration retry_after = kUnsaid;  // >= 0, or kUnsaid.

  static constexpr Duration kUnsaid = Duration::min();
  [[nodiscard]] constexpr bool server_said_when() const noexcept { return retry_after != kUnsaid; }
};

}  // namespace damper::decide
