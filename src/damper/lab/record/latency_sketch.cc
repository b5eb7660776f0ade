#include "damper/lab/record/latency_sketch.h"

#include <algorithm>
#include <utility>

#include "damper/base/check.h"

namespace damper::lab {

// In whole powers of two, so that a sketch grows a few times in its life and holds no spare room.
void LatencySketch::cover(std::size_t first, std::size_t last) {
  constexpr std::size_t kStep = 32;
  first -= first % kStep;
  last += kStep - last % kStep;  // One beyond.
  if (!counts_.empty()) {
    first = std::min(first, first_);
    last = std::max(last, first_ + counts_.size());
  }
  std::vector<std::int64_t> wider(last - first, 0);
  std::copy(counts_.begin(), counts_.end(),
            wider.begin() + static_cast<std::ptrdiff_t>(counts_.empty() ? 0 : first_ - first));
  counts_ = std::move(wider);
  first_ = first;
}

void LatencySketch::add(Duration latency) {
  latency = std::max(latency, Duration{0});
  const std::size_t bucket = bucket_of(latency);
  if (bucket - first_ >= counts_.size()) cover(bucket, bucket);  // Also when bucket < first_.
  ++counts_[bucket - first_];
  min_ = count_ == 0 ? latency : std::min(min_, latency);
  max_ = std::max(max_, latency);
  ++count_;
  const auto ns = static_cast<std::uint64_t>(latency.count());
  sum_low_ += ns;
  sum_high_ += sum_low_ < ns ? 1 : 0;
}

void LatencySketch::merge(const LatencySketch& other) {
  if (other.count_ == 0) return;
  const std::size_t last = other.first_ + other.counts_.size() - 1;
  if (other.first_ < first_ || last >= first_ + counts_.size()) cover(other.first_, last);
  for (std::size_t i = 0; i < other.counts_.size(); ++i) {
    counts_[other.first_ - first_ + i] += other.counts_[i];
  }
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_low_ += other.sum_low_;
  sum_high_ += other.sum_high_ + (sum_low_ < other.sum_low_ ? 1 : 0);
}

Duration LatencySketch::mean() const noexcept {
  if (count_ == 0) return Duration{0};
  const double sum = static_cast<double>(sum_high_) * 0x1.0p64 + static_cast<double>(sum_low_);
  const double mean = sum / static_cast<double>(count_) + 0.5;
  // The mean of durations that fit fits; what rounding adds at the very top is cut off.
  return mean < 0x1.0p63 ? std::min(Duration{static_cast<std::int64_t>(mean)}, max_) : max_;
}

std::size_t LatencySketch::find_bucket(Percent share) const noexcept {
  DAMPER_CHECK(share >= Percent(0) && share <= Percent(100));
  std::int64_t up_to_here = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    up_to_here += counts_[i];
    if (share.reached_by(up_to_here, count_)) return first_ + i;
  }
  return first_ + counts_.size() - 1;
}

std::optional<Duration> LatencySketch::quantile(Percent share) const noexcept {
  if (count_ == 0) return std::nullopt;
  return std::clamp(Histogram::middle(find_bucket(share)), min_, max_);
}

std::optional<LatencySketch::Bounds> LatencySketch::quantile_bounds(Percent share) const noexcept {
  if (count_ == 0) return std::nullopt;
  return bounds_of(find_bucket(share));
}

LatencySketch::Bounds LatencySketch::bounds_of(std::size_t bucket) const noexcept {
  const Duration low = Histogram::lower(bucket);
  return {std::clamp(low, min_, max_),
          std::clamp(low + (Histogram::width(bucket) - Duration{1}), min_, max_)};
}

LatencySketch::Bounds LatencySketch::rank_bounds(std::int64_t rank) const noexcept {
  DAMPER_CHECK(rank >= 1 && rank <= count_);
  std::size_t bucket = 0;
  for (std::int64_t up_to_here = counts_[0]; up_to_here < rank;) up_to_here += counts_[++bucket];
  return bounds_of(first_ + bucket);
}

LatencySketch::Ranks LatencySketch::ranks_of(Duration latency) const noexcept {
  Ranks ranks;
  const std::size_t bucket = bucket_of(latency);
  for (std::size_t i = 0; i < counts_.size() && first_ + i <= bucket; ++i) {
    ranks.before = ranks.up_to;
    ranks.up_to += counts_[i];
  }
  if (first_ + counts_.size() <= bucket) ranks.before = ranks.up_to;
  return ranks;
}

}  // namespace damper::lab
