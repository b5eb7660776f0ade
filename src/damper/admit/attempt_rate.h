#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "damper/admit/token_bucket.h"
#include "damper/base/bounds.h"
#include "damper/base/histogram.h"
#include "damper/base/instant.h"

namespace damper::admit {

struct AttemptRateOptions {
  static constexpr Range<Duration> kMaxWait{Duration{0}, std::chrono::hours(1)};

  TokenBucketOptions bucket;
  Duration max_wait{0};  // an attempt without a token waits this long at most; 0: it is refused

  friend bool operator==(const AttemptRateOptions&, const AttemptRateOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const AttemptRateOptions& options);

// An AttemptRate bounds the rate at which attempts are sent to a dependency: a quota that the
// dependency, or a contract, imposes.
//
// Why: a concurrency limit follows the latency, and a budget follows the requests; neither keeps a
// fixed number of attempts per second, retries and hedges included.
// Model: a TokenBucket. An attempt takes a token when it is sent. Without one it reserves the next
// token that is not promised, if that comes within `max_wait` and within the time that the caller
// has; the reservation keeps the order of the waiting attempts. A token that is reserved and not
// used is lost.
// Thread safety: all methods may be called concurrently, reload() with all but itself.
// Cost: as the TokenBucket's. About 40 KiB, for the histogram of the waits.
class AttemptRate {
 public:
  // REQUIRES: !find_error(options).
  explicit AttemptRate(const AttemptRateOptions& options)
      : bucket_(options.bucket), max_wait_(options.max_wait.count()) {}

  [[nodiscard]] bool try_take(Instant now) noexcept { return bucket_.try_take(now); }
  // Takes a token of the future and returns the wait for it; nothing: it comes after max_wait or
  // after `most`, and nothing has changed.
  [[nodiscard]] std::optional<Duration> try_reserve(Instant now, Duration most) noexcept {
    const Duration bound{std::min(max_wait_.load(std::memory_order_relaxed), most.count())};
    if (bound <= Duration{0}) return std::nullopt;
    const auto wait = bucket_.reserve(now, bound);
    if (wait) waits_.record(*wait, now);
    return wait;
  }
  // Waits of attempts for their token; an attempt that had one at once is not in it.
  [[nodiscard]] const Histogram& waits() const noexcept { return waits_; }
  [[nodiscard]] std::int32_t balance(Instant now) const noexcept { return bucket_.balance(now); }

  // REQUIRES: !find_error(options).
  void reload(const AttemptRateOptions& options, Instant now) noexcept {
    bucket_.reload(options.bucket, now);
    max_wait_.store(options.max_wait.count(), std::memory_order_relaxed);
  }

 private:
  TokenBucket bucket_;
  std::atomic<std::int64_t> max_wait_;
  Histogram waits_;
};

}  // namespace damper::admit
