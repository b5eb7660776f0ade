#ifndef DAMPER_QUEUE_LIMITERS_BUCKET_LIMITER_H_
#define DAMPER_QUEUE_LIMITERS_BUCKET_LIMITER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "damper/admit/token_bucket.h"
#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/queue/limiters/rate_limiter.h"
#include "damper/queue/work_queue/waits.h"
#include "damper/schedule/backoff.h"

namespace damper::queue {

// What becomes of a key for which the bucket has no token within the reserve.
enum class Excess : std::uint8_t {
  refuse,    // It is given no time; whoever asked decides what to do with it.
  coalesce,  // It comes after the reserve, with all others beyond it, and takes no token.
};

// The defaults of rate and burst are those of client-go.
struct BucketOptions {
  double rate_per_second = 10;  // 0.001 to 100,000,000
  std::int32_t burst = 100;     // 1 to 1,000,000
  // How far ahead tokens are promised; over 0, at most 30 days. What is promised is waited out even
  // if the dependency is well again by then: a minute is how long an outage may be felt after its
  // end. At 10/s those are 600 keys, beside the burst.
  Duration most_ahead = std::chrono::seconds(60);
  Excess excess = Excess::coalesce;  // client-go refuses no key
};

[[nodiscard]] std::optional<std::string> find_error(const BucketOptions& options);

// A BucketLimiter bounds how many failed keys a second run again, whichever they are.
//
// Why: a delay for each key bounds no sum: ten thousand keys that fail for the first time run again
// at once. client-go's reserves tokens without end: after 36,000 failures the next key waits an
// hour, also for a dependency that has been well for 59 minutes (trap Q5).
// Model: a key reserves a token of a TokenBucket and waits for it, at most `most_ahead`. Without
// one it is refused, or coalesced: it waits most_ahead and, spread by full jitter, up to as long
// again. Reserved times need no jitter: they are one interval apart. The wait counts from when the
// server said, if it said: what is shifted keeps its distances, and so the rate.
// Invariants: (1) and (2) of RateLimiter;
//   (3) Without a word of the server, a wait is at most most_ahead, or under twice that for what
//       is coalesced; with it, at most so much more.
//   (4) What is refused or coalesced takes no token.
// Thread safety: none.
// Cost: TokenBucket's. It keeps nothing of single keys.
template <class Key>
class BucketLimiter final : public RateLimiter<Key> {
 public:
  // REQUIRES: !find_error(options).
  explicit BucketLimiter(const BucketOptions& options = {})
      : options_(options), bucket_({options.rate_per_second, options.burst}) {
    DAMPER_CHECK(!find_error(options));
  }

  [[nodiscard]] std::optional<Duration> when(KeyView<Key> /*key*/, const decide::Report& why,
                                             Instant now, double draw) override {
    if (const auto wait = bucket_.reserve(now, options_.most_ahead)) {
      return after(why.retry_after, *wait);
    }
    if (options_.excess == Excess::refuse) {
      ++stats_.refused;
      return std::nullopt;
    }
    ++stats_.coalesced;
    const Duration beyond = spread(options_.most_ahead, schedule::Jitter::full, draw);
    return after(why.retry_after, options_.most_ahead + beyond);
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

#endif  // DAMPER_QUEUE_LIMITERS_BUCKET_LIMITER_H_
