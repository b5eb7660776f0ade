#ifndef DAMPER_BASE_COARSE_LATENCY_H_
#define DAMPER_BASE_COARSE_LATENCY_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "damper/base/instant.h"

namespace damper {

// A CoarseLatency is a smoothed latency in one word: what a small dependency has instead of a
// Histogram.
//
// Model: mean += (latency - mean) / 8, as TCP smooths its round-trip time (RFC 6298); the first
// record is the mean.
// Thread safety: all methods may be called concurrently; lock-free.
// Cost: record() is one compare-and-swap; 8 bytes.
class CoarseLatency {
 public:
  void record(Duration latency, Instant /*now*/) noexcept {
    const std::int64_t sample = std::max<std::int64_t>(latency.count(), 0);
    std::int64_t old = mean_.load(std::memory_order_relaxed);
    while (!mean_.compare_exchange_weak(old, old < 0 ? sample : old + (sample - old) / 8,
                                        std::memory_order_relaxed)) {
    }
  }

  // Nothing before the first record.
  [[nodiscard]] std::optional<Duration> mean() const noexcept {
    const std::int64_t mean = mean_.load(std::memory_order_relaxed);
    return mean < 0 ? std::nullopt : std::optional(Duration{mean});
  }

 private:
  std::atomic<std::int64_t> mean_{-1};
};

}  // namespace damper

#endif  // DAMPER_BASE_COARSE_LATENCY_H_
