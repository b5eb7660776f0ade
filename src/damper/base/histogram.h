#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>

#include "damper/base/instant.h"
#include "damper/base/percent.h"
#include "damper/base/thread_slot.h"

namespace damper {

// A Histogram holds the distribution of recent latencies, and the counts of all latencies.
//
// Why: timeouts and hedge delays follow live percentiles. A sorted sample needs a lock and
// forgets the tail; an average knows no tail at all.
// Model: log-linear buckets (Tene's HdrHistogram): 32 for each power of two, from 1 ns to 137 s.
// They are kept for four epochs; quantiles see the current epoch and the three before it, so
// between three quarters of the window and all of it. When an epoch's place is needed again, its
// counts are added to totals that never shrink, for metrics.
// Invariants:
//   (1) A quantile differs by at most 1.6 % from the recorded value of that rank, up to 137 s;
//       anything longer counts as 137 s.
//   (2) What is older than the window is never part of a quantile.
//   (3) No record is missing from the totals. A record made while another thread changes the epoch,
//       or long behind the others, may be missing from the quantiles; a thread that sleeps inside
//       record() for most of the window may count its record twice.
// Thread safety: all methods may be called concurrently; lock-free.
// Cost: record is one relaxed atomic add; a quantile reads every bucket (some microseconds), so
// see LiveQuantile. 58 KiB.
class Histogram {
 public:
  static constexpr int kBuckets = 1056;

  explicit Histogram(Duration window = std::chrono::seconds(60)) noexcept;

  void record(Duration latency, Instant now) noexcept {
    const std::uint64_t epoch = epoch_of(now);
    Epoch& place = epochs_[epoch % kEpochs];
    if (place.id.load(std::memory_order_acquire) != ready(epoch) && !turn(place, epoch)) {
      folded_[bucket_of(latency)].fetch_add(1, std::memory_order_relaxed);
      return;
    }
    const auto slot = static_cast<std::size_t>(thread_slot());
    if (slot < kOwn) [[likely]] {
      std::atomic<std::uint32_t>& count = place.stripes[slot][bucket_of(latency)];
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      place.stripes[kOwn][bucket_of(latency)].fetch_add(1, std::memory_order_relaxed);
    }
  }

  // The latency that `quantile` of the recent records do not exceed; nothing when there are fewer
  // than min_samples of them.
  [[nodiscard]] std::optional<Duration> quantile(Percent quantile, Instant now,
                                                 std::int64_t min_samples = 1) const noexcept;

  // How many recent records there are.
  [[nodiscard]] std::int64_t samples(Instant now) const noexcept;

  // Everything ever recorded, by bucket: for a metric that only grows.
  struct Totals {
    std::array<std::int64_t, kBuckets> counts{};
  };
  void read_totals(Totals& totals) const noexcept;

  // The bucket of a latency, and the latencies that a bucket stands for: [lower, lower + width).
  [[nodiscard]] static constexpr std::size_t bucket_of(Duration latency) noexcept {
    const auto ns = static_cast<std::uint64_t>(latency.count());
    if (latency.count() < 64) return latency.count() < 0 ? 0 : ns;
    if (ns >= kLimit) return kBuckets - 1;
    const int shift = 58 - std::countl_zero(ns);  // Leaves six significant bits.
    return (static_cast<std::size_t>(shift) << 5) + (ns >> shift);
  }
  [[nodiscard]] static constexpr Duration lower(std::size_t bucket) noexcept {
    const std::size_t shift = bucket < 64 ? 0 : (bucket >> 5) - 1;
    return Duration{static_cast<std::int64_t>((bucket - (shift << 5)) << shift)};
  }
  [[nodiscard]] static constexpr Duration width(std::size_t bucket) noexcept {
    return Duration{std::int64_t{1} << (bucket < 64 ? 0 : (bucket >> 5) - 1)};
  }
  [[nodiscard]] static constexpr Duration middle(std::size_t bucket) noexcept {
    return lower(bucket) + width(bucket) / 2;
  }

 private:
  static constexpr std::uint64_t kEpochs = 4;
  // The first two thread slots have counts of their own, the others share.
  static constexpr std::size_t kOwn = 2;
  using Counts = std::array<std::atomic<std::uint32_t>, kBuckets>;
  static constexpr std::uint64_t kLimit = std::uint64_t{1} << 37;

  struct Epoch {
    std::atomic<std::uint64_t> id{0};  // twice the epoch's number, plus 1 while it is cleared
    std::array<Counts, kOwn + 1> stripes{};
  };

  static constexpr std::uint64_t ready(std::uint64_t epoch) noexcept { return epoch * 2; }
  [[nodiscard]] std::uint64_t epoch_of(Instant now) const noexcept {
    const std::int64_t ns = now.time_since_epoch().count();
    if (ns < 0) return 0;
    // ns / length_ without a division, which would cost as much as the rest: the product is it or
    // one less, since ns < 2^63.
    const auto dividend = static_cast<std::uint64_t>(ns);
    const auto quotient = static_cast<std::uint64_t>(Wide{dividend} * reciprocal_ >> 64);
    return dividend - quotient * length_ >= length_ ? quotient + 1 : quotient;
  }
  // The count of a bucket in an epoch.
  static std::int64_t count(const Epoch& place, std::size_t bucket) noexcept {
    std::int64_t sum = 0;
    for (const Counts& counts : place.stripes)
      sum += counts[bucket].load(std::memory_order_acquire);
    return sum;
  }
  [[nodiscard]] bool is_live(const Epoch& place, std::uint64_t current) const noexcept;
  bool turn(Epoch& place, std::uint64_t epoch) noexcept;

  __extension__ using Wide = unsigned __int128;

  std::uint64_t length_;      // of an epoch, in nanoseconds
  std::uint64_t reciprocal_;  // 2^64 / length_, rounded down
  std::array<Epoch, kEpochs> epochs_{};
  std::array<std::atomic<std::int64_t>, kBuckets> folded_{};
};

// A LiveQuantile caches one quantile of a Histogram and refreshes it periodically.
//
// Why: every call needs its timeout; summing a thousand buckets each time would cost more than
// the call.
// Invariants:
//   (1) What it returns is at most `refresh` old, plus the time one thread takes to sum.
// Thread safety: all methods may be called concurrently; one thread sums while the others go on
// with the last value.
// Cost: two loads.
class LiveQuantile {
 public:
  // Nothing while the histogram has fewer than min_samples recent records.
  [[nodiscard]] std::optional<Duration> get(const Histogram& histogram, Percent quantile,
                                            std::int64_t min_samples, Instant now) noexcept;

 private:
  static constexpr Duration kRefresh = std::chrono::milliseconds(250);
  static constexpr std::int64_t kUnknown = -1;

  std::atomic<std::int64_t> due_{Instant::min().time_since_epoch().count()};
  std::atomic<std::int64_t> value_{kUnknown};
};

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
