#pragma once

#include <algorithm>
#include <cstdint>

#include "damper/admit/token_bucket.h"
#include "damper/base/bounds.h"
#include "damper/base/instant.h"

namespace damper::http {

// A ResetLimit bounds how often a peer may end a stream in an error before its answer is complete.
//
// Why: a stream that has ended does not count for max_streams, but its request has reached the
// upstream. Thus one connection can cause any number of upstream requests, whether the peer sends
// RST_STREAM (rapid reset, CVE-2023-44487) or makes our side send it by an error in its frames
// (CVE-2025-8671, "MadeYouReset").
// Model: a token bucket with `per_second` tokens a second and a burst of kBurstSeconds times as
// many. If it is empty, kAnswersPerReset complete answers pay for a reset: a proxy in front, or a
// client that hedges, resets a small part of many streams. An RST_STREAM for a stream that has
// lived for kShortLived costs 1 / kLatePerToken: the deadlines of clients end in it, and an outage
// ends all of their streams so. No deadline ends in an error of frames: that costs a token at any
// age.
// Invariants:
//   (1) In any time t, errors and early resets + late resets / kLatePerToken
//       <= per_second * (kBurstSeconds + t) + answers / kAnswersPerReset + 1.
//   (2) Answers pay for at most one more burst, however many there were.
//   (3) A client with up to 100 streams at once, each of which ends by a deadline of kShortLived or
//       more, is within the default of 50 a second, however long that lasts.
// Thread safety: none.
// Cost: an answer is an increment.
class ResetLimit {
 public:
  static constexpr Range<std::uint32_t> kPerSecond{1, 100'000};
  static constexpr std::uint32_t kBurstSeconds = 10;
  static constexpr std::uint32_t kAnswersPerReset = 10;
  static constexpr Duration kShortLived = std::chrono::milliseconds(250);
  static constexpr std::uint32_t kLatePerToken = 8;

  // REQUIRES: kPerSecond contains per_second. Starts with a full burst.
  explicit ResetLimit(std::uint32_t per_second)
      : most_answers_(per_second * kBurstSeconds * kAnswersPerReset),
        bucket_({.rate_per_second = static_cast<double>(per_second),
                 .burst = static_cast<std::int32_t>(per_second * kBurstSeconds)}) {}

  // A stream has ended with a complete answer.
  void on_answer() noexcept { answers_ = std::min(answers_ + 1, most_answers_); }

  // The client has sent RST_STREAM for a stream that began at `began`. False: one too many.
  [[nodiscard]] bool try_reset(Instant began, Instant now) noexcept {
    if (between(began, now) < kShortLived) return try_error(now);
    if (++late_ < kLatePerToken) return true;
    late_ = 0;
    return try_error(now);
  }

  // A stream has ended in an error of the client's frames. False: one too many.
  [[nodiscard]] bool try_error(Instant now) noexcept {
    if (bucket_.try_take(now)) return true;
    if (answers_ < kAnswersPerReset) return false;
    answers_ -= kAnswersPerReset;
    return true;
  }

 private:
  std::uint32_t most_answers_;
  std::uint32_t answers_ = 0;  // that have paid for no reset yet
  std::uint32_t late_ = 0;     // late resets that have cost nothing yet
  admit::TokenBucket bucket_;
};

}  // namespace damper::http
