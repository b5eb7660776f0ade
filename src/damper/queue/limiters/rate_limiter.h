#ifndef DAMPER_QUEUE_LIMITERS_RATE_LIMITER_H_
#define DAMPER_QUEUE_LIMITERS_RATE_LIMITER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/queue/work_queue/key_table.h"

namespace damper::queue {

// What a limiter holds and has counted, for metrics; those of a composed one together.
struct LimiterStats {
  std::size_t keys = 0;         // whose failures are remembered
  std::size_t capacity = 0;     // for so many at most
  std::uint64_t evicted = 0;    // keys that were failing and made room for others
  std::uint64_t refused = 0;    // asks that were given no time: too many wait already
  std::uint64_t coalesced = 0;  // asks beyond the bucket's reserve that were given a time

  constexpr LimiterStats& operator+=(const LimiterStats& other) noexcept {
    keys += other.keys;
    capacity += other.capacity;
    evicted += other.evicted;
    refused += other.refused;
    coalesced += other.coalesced;
    return *this;
  }
  friend constexpr bool operator==(const LimiterStats&, const LimiterStats&) = default;
};

// A RateLimiter says how long a key whose run went wrong waits before it runs again.
//
// Why an interface: people combine them, as in client-go: the longer of a delay for each key and a
// bucket for all. limiters.h makes them.
// Model: when() both asks and counts: each call is one more failure of the key. forget() says that
// the key is well. Time and draw are arguments. waits.h has what implementations share.
// Invariants, of every implementation:
//   (1) The wait is at least what the server said (Report::retry_after), and never negative.
//   (2) What is kept for keys is bounded.
// Thread safety: none; a WorkQueue asks under its lock.
template <class Key>
class RateLimiter {
 public:
  RateLimiter() = default;
  RateLimiter(const RateLimiter&) = delete;
  RateLimiter& operator=(const RateLimiter&) = delete;
  virtual ~RateLimiter() = default;

  // How long from now; nothing when it refuses: too many wait already. 0 <= draw < 1.
  [[nodiscard]] virtual std::optional<Duration> when(KeyView<Key> key, const decide::Report& why,
                                                     Instant now, double draw) = 0;
  virtual void forget(KeyView<Key> key) noexcept = 0;
  // How often the key was asked for since it was last forgotten; 0 from a limiter that keeps
  // nothing of single keys.
  [[nodiscard]] virtual std::uint32_t failures(KeyView<Key> key) const = 0;
  [[nodiscard]] virtual LimiterStats stats() const noexcept { return {}; }
};

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_LIMITERS_RATE_LIMITER_H_
