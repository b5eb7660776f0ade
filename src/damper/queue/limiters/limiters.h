#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "damper/base/instant.h"
#include "damper/queue/limiters/bucket_limiter.h"
#include "damper/queue/limiters/fast_slow.h"
#include "damper/queue/limiters/max_of.h"
#include "damper/queue/limiters/max_wait.h"
#include "damper/queue/limiters/per_key_limiter.h"
#include "damper/queue/limiters/rate_limiter.h"

namespace damper::queue {

// Factories of the rate limiters:
//
//   auto limiter = max_of<std::string>(per_key<std::string>({.cap = 1min}),
//                                      bucket<std::string>({.rate_per_second = 50}));
//
// Each class is documented in its header. With Jitter::none the delays are those of client-go.
template <class Key>
using Limiter = std::unique_ptr<RateLimiter<Key>>;

// base * 2^failures up to the cap, with jitter. REQUIRES: !find_error(options).
template <class Key>
[[nodiscard]] Limiter<Key> per_key(const PerKeyOptions& options = {}) {
  return std::make_unique<PerKeyLimiter<Key>>(options);
}

// A rate over all keys. REQUIRES: !find_error(options).
template <class Key>
[[nodiscard]] Limiter<Key> bucket(const BucketOptions& options = {}) {
  return std::make_unique<BucketLimiter<Key>>(options);
}

// A short delay for the first failures, then a long one. REQUIRES: !find_error(options).
template <class Key>
[[nodiscard]] Limiter<Key> fast_slow(const FastSlowOptions& options = {}) {
  return std::make_unique<FastSlow<Key>>(options);
}

// The longest delay of all of them. REQUIRES: none is null.
template <class Key, class... More>
[[nodiscard]] Limiter<Key> max_of(Limiter<Key> first, More... more) {
  std::vector<Limiter<Key>> limiters;
  limiters.reserve(1 + sizeof...(more));
  limiters.push_back(std::move(first));
  (limiters.push_back(std::move(more)), ...);
  return std::make_unique<MaxOf<Key>>(std::move(limiters));
}

// Delays of at most `longest` beyond retry_after. REQUIRES: limiter != nullptr;
// 0 < longest <= kLongest; can_spread(jitter).
template <class Key>
[[nodiscard]] Limiter<Key> with_max_wait(Limiter<Key> limiter, Duration longest,
                                         schedule::Jitter jitter = schedule::Jitter::equal) {
  return std::make_unique<MaxWait<Key>>(std::move(limiter), longest, jitter);
}

// The default of a queue, as in client-go: 5 ms to 1000 s for each key, and 10/s with a burst of
// 100 over all keys; unlike client-go's, with jitter and bounded memory.
template <class Key>
[[nodiscard]] Limiter<Key> default_limiter() {
  return max_of<Key>(per_key<Key>(), bucket<Key>());
}

}  // namespace damper::queue
