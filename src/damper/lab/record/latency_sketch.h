#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "damper/base/histogram.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::lab {

// A LatencySketch is the distribution of the latencies of one run, or of one second of it.
//
// Why: base/histogram.h is shared by threads and forgets: 58 KiB. A run has one thread and wants
// hundreds of these, one for each second and series, which forget nothing.
// Model: that histogram's buckets, log-linear, continued to the longest Duration, but only those
// from the least to the greatest in use: latencies between 1 and 100 ms take 2 KiB, the full range
// 15 KiB. Sum, minimum and maximum are exact.
// Invariants:
//   (1) A quantile differs by at most 1.6 % from the latency of that rank, however long. It is
//       never under min() nor over max(). quantile_bounds() contains the latency of that rank.
//   (2) count, mean, min and max are exact, up to the rounding of the mean.
//   (3) Merging gives what adding everything to one sketch would have given, in any order.
// Thread safety: none. Cost: add is one increment (2 ns), and an allocation when a bucket beyond
// those in use is needed.
class LatencySketch {
 public:
  // A negative latency counts as 0.
  void add(Duration latency);
  void merge(const LatencySketch& other);

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] Duration min() const noexcept { return min_; }
  [[nodiscard]] Duration max() const noexcept { return max_; }
  // 0 when there are none.
  [[nodiscard]] Duration mean() const noexcept;
  // What `share` of the latencies do not exceed, 0 to 100 %; nothing when there are none.
  [[nodiscard]] std::optional<Duration> quantile(Percent share) const noexcept;
  // The ends of the bucket that it lies in: what is known of it.
  struct Bounds {
    Duration low{0};
    Duration high{0};
    friend bool operator==(const Bounds&, const Bounds&) = default;
  };
  [[nodiscard]] std::optional<Bounds> quantile_bounds(Percent share) const noexcept;
  // The same of the latency of a rank; 1 is the shortest. REQUIRES: 1 <= rank <= count().
  [[nodiscard]] Bounds rank_bounds(std::int64_t rank) const noexcept;
  // How many latencies are in shorter buckets than `latency`, and how many with its own.
  struct Ranks {
    std::int64_t before = 0;
    std::int64_t up_to = 0;
  };
  [[nodiscard]] Ranks ranks_of(Duration latency) const noexcept;

  // How many bytes the buckets take.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return counts_.capacity() * sizeof(std::int64_t);
  }

 private:
  // The bucket of a latency: Histogram's, without its last bucket for all that is longer.
  [[nodiscard]] static constexpr std::size_t bucket_of(Duration latency) noexcept {
    const auto ns = static_cast<std::uint64_t>(latency.count());
    if (ns < 64) return ns;
    const int shift = 58 - std::countl_zero(ns);  // Leaves six significant bits.
    return (static_cast<std::size_t>(shift) << 5) + (ns >> shift);
  }
  [[nodiscard]] Bounds bounds_of(std::size_t bucket) const noexcept;
  // The bucket of the quantile. REQUIRES: count() > 0.
  [[nodiscard]] std::size_t find_bucket(Percent share) const noexcept;
  // Room for the buckets first..last.
  void cover(std::size_t first, std::size_t last);

  std::vector<std::int64_t> counts_;  // of buckets first_, first_ + 1, ...
  std::size_t first_ = 0;
  std::int64_t count_ = 0;
  Duration min_{0};
  Duration max_{0};
  std::uint64_t sum_low_ = 0;  // The sum may need more than 64 bits.
  std::uint64_t sum_high_ = 0;
};

}  // namespace damper::lab
