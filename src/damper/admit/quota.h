#pragma once

#include <atomic>
#include <cstddef>

#include "damper/base/atomic.h"
#include "damper/base/check.h"

namespace damper::admit {

// A Quota is a counting bound that threads share: the connections of a listener, the requests in a
// queue, the bytes that are kept.
//
// Why: a bound divided evenly among threads refuses on one thread while another has room. Why not a
// ConcurrencyLimit: this limit does not adapt, and may be a million.
// Model: what a successful try_take() took is given back, at once or in parts.
// Invariants:
//   (1) try_take succeeds only when taken + count <= limit in that very step. More are taken only
//       after a reload has lowered the limit, and then try_take refuses.
//   (2) A refused try_take changes nothing.
// Thread safety: all methods may be called concurrently; lock-free.
// Cost: no allocation; a compare-and-swap, and a subtraction.
class Quota {
 public:
  // REQUIRES: limit > 0, here and in reload().
  explicit Quota(std::size_t limit) noexcept : limit_(limit) { DAMPER_CHECK(limit > 0); }
  Quota(const Quota&) = delete;
  Quota& operator=(const Quota&) = delete;

  // The number taken, these included; 0: refused. REQUIRES: count > 0.
  [[nodiscard]] std::size_t try_take(std::size_t count = 1) noexcept {
    std::size_t taken = taken_.load(std::memory_order_relaxed);
    do {
      const std::size_t most = limit();
      if (taken >= most || count > most - taken) return 0;
    } while (!taken_.compare_exchange_weak(taken, taken + count, std::memory_order_relaxed));
    return taken + count;
  }
  // REQUIRES: `count` were taken, and not given back yet.
  void give_back(std::size_t count = 1) noexcept {
    const std::size_t before = taken_.fetch_sub(count, std::memory_order_relaxed);
    DAMPER_CHECK(before >= count);
  }
  // Slots that are taken stay taken.
  void reload(std::size_t limit) noexcept {
    DAMPER_CHECK(limit > 0);
    limit_.store(limit, std::memory_order_relaxed);
  }

  [[nodiscard]] std::size_t taken() const noexcept {
    return taken_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t limit() const noexcept {
    return limit_.load(std::memory_order_relaxed);
  }

 private:
  Atomic<std::size_t> taken_{0};
  Atomic<std::size_t> limit_;
};

}  // namespace damper::admit
