#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "damper/admit/circuit_breaker.h"
#include "damper/admit/token_bucket.h"
#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/decide/outcome.h"
#include "damper/schedule/backoff.h"
#include "damper/schedule/listed_delays.h"

namespace damper::engine {

// The configuration of deliveries to one endpoint. The defaults are those of Standard Webhooks.
struct DeliveryPolicy {
  static constexpr Range<Duration> kTimeout{std::chrono::milliseconds(100),
                                            std::chrono::minutes(5)};
  static constexpr Range<Duration> kMaxAge{std::chrono::seconds(1), kLongest};
  static constexpr Range<std::int32_t> kMaxAttempts{1, 1'000'000};
  static constexpr Range<std::int32_t> kConcurrency{1, 1000};

  Duration timeout = std::chrono::seconds(20);  // of one attempt
  schedule::ListedDelays retries = schedule::ListedDelays::standard_webhooks();
  // Instead of `retries`, with at most max_attempts attempts.
  std::optional<schedule::BackoffOptions> backoff{};
  std::int32_t max_attempts = 10;
  Duration max_age = std::chrono::hours(24 * 5);        // of a delivery, from its acceptance
  Duration longest_hold = std::chrono::hours(24);       // a longer Retry-After counts as this
  Duration disable_after = std::chrono::hours(24 * 5);  // of nothing but failures; 0: never
  std::int32_t concurrency = 16;                        // attempts in flight
  std::optional<admit::TokenBucketOptions> rate{};      // of attempts
  admit::CircuitBreakerOptions breaker{.failure_rate = Percent(60),
                                       .consecutive_failures = 8,
                                       .window = std::chrono::minutes(1),
                                       .minimum_volume = 10,
                                       .open_base = std::chrono::seconds(5),
                                       .open_cap = std::chrono::minutes(5),
                                       .probes = 1,
                                       .ramp = std::chrono::seconds(2)};
};

// The first invalid field, with its value and bound; nothing when the policy is valid.
[[nodiscard]] std::optional<std::string> find_error(const DeliveryPolicy& policy);

// The state of one delivery that has to be stored between its attempts. A plain value; {} is a new
// delivery.
struct DeliveryRecord {
  std::uint32_t attempts = 0;  // that count
  Duration previous_delay{0};
};

// What follows an attempt.
struct Redelivery {
  enum class What : std::uint8_t { delivered, again, dead };
  What what = What::delivered;
  Verdict verdict = Verdict::success;  // dead: why
  Duration delay{0};                   // again: from now
};

// Decides what follows an attempt of a delivery, and updates its record.
//
// Model, in this order:
//   success        delivered
//   cancelled      again after one to two seconds, and the attempt does not count: it was not sent
//   do_not_retry   dead: the endpoint is gone or its address is refused
//   a retry time of the server with an overload: again, not before it, and the attempt does not
//                  count. The delay doubles from one to the next, up to
//                  longest_hold, so that a server which always answers "now" is not asked for ever
//                  at that pace; the age ends it. A tenth of it, and at least a second, is the
//                  range of the jitter after it
//   else           the next delay of the schedule, never before a retry time; without one left:
//                  dead, attempts_spent
//   A delivery that would be older than max_age at its next attempt is dead: deadline_passed.
// Invariants:
//   (1) It is never `again` before the server's retry time, up to longest_hold.
//   (2) A delivery ends, by attempts or by age; an `again` that does not count waits at least twice
//       as long as the one before it, up to longest_hold.
// REQUIRES: 0 <= draw < 1, age >= 0 is the time since the delivery was accepted.
[[nodiscard]] Redelivery decide_redelivery(const DeliveryPolicy& policy, DeliveryRecord& record,
                                           const decide::Report& report, Duration age,
                                           double draw) noexcept;

}  // namespace damper::engine
