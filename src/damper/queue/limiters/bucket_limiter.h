#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "damper/admit/token_bucket.h"
#include "damper/base/bounds.h"
#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/queue/limiters/rate_limiter.h"
#include "damper/schedule/backoff.h"

namespace damper::queue {

// The treatment of a key for which the bucket has no token within `most_ahead`.
enum class Excess : std::uint8_t {
  refuse,    // when() returns nullopt; the caller decides.
  coalesce,  // The key runs after `most_ahead`, with all others beyond it, and takes no token.
};

// The defaults of rate and burst are those of client-go.
struct BucketOptions {
  static constexpr Range<Duration> kMostAhead{Duration{1}, kLongest};

  double rate_per_second = 10;  // see admit::TokenBucketOptions
  std::int32_t burst = 100;     // see admit::TokenBucketOptions
  // How far ahead tokens are reserved. A reserved delay is waited out even if the dependency
  // recovers earlier, so this bounds how long an outage has an effect after its end. At 10/s one
  // minute is 600 keys, in addition to the burst.
  Duration most_ahead = std::chrono::seconds(60);
  Excess excess = Excess::coalesce;  // as client-go, which refuses no key
};

[[nodiscard]] inline std::optional<std::string> find_error(const BucketOptions& options) {
  if (auto error =
          admit::find_error(admit::TokenBucketOptions{options.rate_per_second, options.burst}))
    return error;
  return BoundsCheck().field("most_ahead", options.most_ahead, options.kMostAhead).error();
}

// A BucketLimiter bounds the rate at which failed keys run again, over all keys.
//
// Why: a delay for each key does not bound their sum: ten thousand keys that fail for the first
// time run again at once. client-go's bucket reserves tokens without a bound: after 36,000 failures
// the next key waits an hour, even if the dependency recovered 59 minutes ago (trap Q5).
// Model: a key reserves a token of a TokenBucket and waits for it, at most `most_ahead`. Without a
// token it is refused, or coalesced: it waits most_ahead plus U[0, most_ahead). Reserved times need
// no jitter: they are one interval apart. The delay counts from Report::retry_after if the server
// sent it; shifted times keep their distances, and so the rate.
// Invariants: (1) and (2) of RateLimiter;
//   (3) Without retry_after, a delay is at most most_ahead, or less than twice that if coalesced;
//       with it, at most as much longer than retry_after.
//   (4) A refused or coalesced key takes no token.
// Thread safety: none.
// Cost: that of TokenBucket. No state for single keys.
template <class Key>
class BucketLimiter final : public RateLimiter<Key> {
 public:
  // REQUIRES: !find_error(options).
  explicit BucketLimiter(const BucketOptions& options = {})
      : options_(options), bucket_({options.rate_per_second, options.burst}) {
    DAMPER_CHECK_VALID(find_error(options));
  }

  [[nodiscard]] std::optional<Duration> when(KeyView<Key> /*key*/, const decide::Report& why,
                                             Instant now, double draw) override {
    if (const auto wait = bucket_.reserve(now, options_.most_ahead)) {
      return wait_after(why.retry_after, *wait);
    }
    if (options_.excess == Excess::refuse) {
      ++stats_.refused;
      return std::nullopt;
    }
    ++stats_.coalesced;
    const Duration beyond = spread(options_.most_ahead, schedule::Jitter::full, draw);
    return wait_after(why.retry_after, options_.most_ahead + beyond);
  }
  void forget(KeyView<Key> /*key*/) noexcept override {}
  [[nodiscard]] std::uint32_t failures(KeyView<Key> /*key*/) const override { return 0; }
  [[nodiscard]] LimiterStats stats() const noexcept override { return stats_; }

 private:
  const BucketOptions options_;
  admit::TokenBucket bucket_;
  LimiterStats stats_;
};

}  // namespace damper::queue
