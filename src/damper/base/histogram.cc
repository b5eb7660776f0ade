#include "damper/base/histogram.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper {
namespace {

constexpr std::uint64_t kFolding = std::uint64_t{1} << 62;  // Over any sum of epoch ids.

}  // namespace

Histogram::Histogram(Duration window) noexcept
    : length_(static_cast<std::uint64_t>(window.count()) / kEpochs),
      reciprocal_(static_cast<std::uint64_t>((Wide{1} << 64) / length_)) {
  DAMPER_CHECK(window >= std::chrono::seconds(1));
}

// Makes `place` the epoch's own, folding what it held into the totals. False when the record is
// for the totals alone: another thread is doing so now, or time went back behind what the place
// holds.
bool Histogram::turn(Epoch& place, std::uint64_t epoch) noexcept {
  std::uint64_t seen = place.id.load(std::memory_order_acquire);
  if (seen >= ready(epoch)) return seen == ready(epoch);
  if ((seen & 1) != 0 ||
      !place.id.compare_exchange_strong(seen, ready(epoch) + 1, std::memory_order_acquire)) {
    return false;
  }
  for (std::size_t i = 0; i < kBuckets; ++i) {
    for (Counts& counts : place.stripes) {
      const std::uint32_t count = counts[i].exchange(0, std::memory_order_relaxed);
      if (count != 0) folded_[i].fetch_add(count, std::memory_order_relaxed);
    }
  }
  place.id.store(ready(epoch), std::memory_order_release);
  return true;
}

bool Histogram::is_live(const Epoch& place, std::uint64_t current) const noexcept {
  const std::uint64_t id = place.id.load(std::memory_order_acquire);
  return (id & 1) == 0 && id <= ready(current) && ready(current) - id < ready(kEpochs);
}

std::int64_t Histogram::samples(Instant now) const noexcept {
  const std::uint64_t current = epoch_of(now);
  std::int64_t sum = 0;
  for (const Epoch& place : epochs_) {
    if (!is_live(place, current)) continue;
    for (std::size_t i = 0; i < kBuckets; ++i) sum += count(place, i);
  }
  return sum;
}

std::optional<Duration> Histogram::quantile(Percent quantile, Instant now,
                                            std::int64_t min_samples) const noexcept {
  const std::uint64_t current = epoch_of(now);
  std::array<std::int64_t, kBuckets> counts{};
  std::int64_t all = 0;
  for (const Epoch& place : epochs_) {
    if (!is_live(place, current)) continue;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      const std::int64_t in_epoch = count(place, i);
      counts[i] += in_epoch;
      all += in_epoch;
    }
  }
  if (all == 0 || all < min_samples) return std::nullopt;
  std::int64_t up_to_here = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    up_to_here += counts[i];
    if (counts[i] != 0 && quantile.reached_by(up_to_here, all)) return middle(i);
  }
  return middle(kBuckets - 1);
}

void Histogram::read_totals(Totals& totals) const noexcept {
  // A fold moves counts from an epoch to the totals; reading across one would lose them for a
  // moment, and a counter that shrinks looks like a restart. Read again until none came between.
  const auto sum_of_ids = [this] {
    std::uint64_t sum = 0;
    for (const Epoch& place : epochs_) {
      const std::uint64_t id = place.id.load(std::memory_order_acquire);
      sum += (id & 1) != 0 ? kFolding : id;
    }
    return sum;
  };
  std::uint64_t before = 0;
  do {
    before = sum_of_ids();
    for (std::size_t i = 0; i < kBuckets; ++i) {
      totals.counts[i] = folded_[i].load(std::memory_order_acquire);
      for (const Epoch& place : epochs_) {
        totals.counts[i] += count(place, i);
      }
    }
  } while (before >= kFolding || sum_of_ids() != before);
}

std::optional<Duration> LiveQuantile::get(const Histogram& histogram, Percent quantile,
                                          std::int64_t min_samples, Instant now) noexcept {
  const std::int64_t now_ns = now.time_since_epoch().count();
  std::int64_t due = due_.load(std::memory_order_relaxed);
  if (now_ns >= due &&
      due_.compare_exchange_strong(due, add(now, kRefresh).time_since_epoch().count(),
                                   std::memory_order_relaxed)) {
    const std::optional<Duration> fresh = histogram.quantile(quantile, now, min_samples);
    value_.store(fresh ? fresh->count() : kUnknown, std::memory_order_relaxed);
  }
  const std::int64_t value = value_.load(std::memory_order_relaxed);
  if (value == kUnknown) return std::nullopt;
  return Duration{value};
}

}  // namespace damper
