#include "damper/observe/metric.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "damper/base/check.h"

namespace damper::observe {
namespace {

bool are_bounds(const std::vector<double>& bounds) {
  if (bounds.empty() || bounds.size() > Histogram::kMostBuckets) return false;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!std::isfinite(bounds[i]) || (i > 0 && bounds[i] <= bounds[i - 1])) return false;
  }
  return true;
}

std::uint64_t plus(std::uint64_t bits, double delta) {
  return std::bit_cast<std::uint64_t>(std::bit_cast<double>(bits) + delta);
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)),
      lines_per_slot_((bounds_.size() + 2 + 7) / 8),
      lines_(lines_per_slot_ * (kThreadSlots + 1)) {
  DAMPER_CHECK(are_bounds(bounds_));
}

std::atomic<std::uint64_t>& Histogram::cell(int slot, std::size_t index) noexcept {
  return lines_[static_cast<std::size_t>(slot) * lines_per_slot_ + index / 8].cells[index % 8];
}

std::uint64_t Histogram::load(int slot, std::size_t index) const noexcept {
  return lines_[static_cast<std::size_t>(slot) * lines_per_slot_ + index / 8].cells[index % 8].load(
      std::memory_order_relaxed);
}

void Histogram::observe(double value) noexcept {
  // Not lower_bound: NaN is less than no bound, and must be over all of them.
  std::size_t bucket = 0;
  while (bucket < bounds_.size() && !(value <= bounds_[bucket])) ++bucket;
  const int slot = thread_slot();
  std::atomic<std::uint64_t>& count = cell(slot, bucket);
  std::atomic<std::uint64_t>& sum = cell(slot, bounds_.size() + 1);
  if (slot != kSharedSlot) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    sum.store(plus(sum.load(std::memory_order_relaxed), value), std::memory_order_relaxed);
    return;
  }
  count.fetch_add(1, std::memory_order_relaxed);
  std::uint64_t seen = sum.load(std::memory_order_relaxed);
  while (!sum.compare_exchange_weak(seen, plus(seen, value), std::memory_order_relaxed)) {
  }
}

HistogramValue Histogram::value() const {
  HistogramValue value{.bounds = bounds_, .counts = {}, .sum = 0};
  value.counts.resize(bounds_.size() + 1);
  for (int slot = 0; slot <= kSharedSlot; ++slot) {
    for (std::size_t i = 0; i < value.counts.size(); ++i) value.counts[i] += load(slot, i);
    value.sum += std::bit_cast<double>(load(slot, bounds_.size() + 1));
  }
  return value;
}

std::vector<double> latency_bounds() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
}

}  // namespace damper::observe
