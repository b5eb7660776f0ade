#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "damper/base/sharded_counters.h"

namespace damper::observe {

// A Counter only grows.
// Thread safety: all methods may be called concurrently; lock-free.
// Cost: see ShardedCounters; 4 KiB each.
class Counter {
 public:
  void add(std::uint64_t delta = 1) noexcept { cell_.add(0, delta); }
  [[nodiscard]] std::uint64_t value() const noexcept { return cell_.sum(0); }

 private:
  ShardedCounters<1> cell_;
};

// A Gauge is a number that rises and falls: the value last set, plus all that was added since.
// Thread safety: all methods may be called concurrently; lock-free.
class Gauge {
 public:
  void set(double value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void add(double delta) noexcept { value_.fetch_add(delta, std::memory_order_relaxed); }
  [[nodiscard]] double value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// What a Histogram has counted: counts[i] are the observations in (bounds[i-1], bounds[i]], the
// last one those over all bounds.
struct HistogramValue {
  std::vector<double> bounds;
  std::vector<std::uint64_t> counts;
  double sum = 0;
};

// A Histogram counts observations into buckets, with Prometheus' rule: a bucket has those that are
// less than or equal to its bound.
//
// Model: a shard of cells for each thread slot, as in ShardedCounters: the buckets' counts and the
// sum of what was observed.
// Invariants:
//   (1) When all threads that observed have been joined, each observation is in exactly one count
//       and in the sum. NaN is over all bounds, and makes the sum NaN, as it does in Prometheus.
// Thread safety: all methods may be called concurrently; lock-free. value() is not one moment: an
// observation that is under way may be in the counts and not yet in the sum.
// Cost: observe() is a search among at most kMostBuckets bounds, two loads and two stores. Memory:
// 65 * 8 bytes for each bucket, rounded up to 8 buckets.
class Histogram {
 public:
  static constexpr std::size_t kMostBuckets = 64;

  // REQUIRES: 1 to kMostBuckets bounds, finite and rising.
  explicit Histogram(std::vector<double> bounds);

  void observe(double value) noexcept;
  [[nodiscard]] HistogramValue value() const;
  [[nodiscard]] const std::vector<double>& bounds() const noexcept { return bounds_; }

 private:
  struct alignas(64) Line {
    std::atomic<std::uint64_t> cells[8] = {};
  };
  [[nodiscard]] std::atomic<std::uint64_t>& cell(int slot, std::size_t index) noexcept;
  [[nodiscard]] std::uint64_t load(int slot, std::size_t index) const noexcept;

  std::vector<double> bounds_;
  std::size_t lines_per_slot_;
  std::vector<Line> lines_;  // A slot's cells: the counts, one more than bounds, then the sum.
};

// Bounds in seconds that suit the latency of calls: 1 ms to 30 s, about 2 to 2.5 apart.
[[nodiscard]] std::vector<double> latency_bounds();

}  // namespace damper::observe
