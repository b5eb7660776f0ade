#include "damper/observe/metric.h"

#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace damper::observe {
namespace {

using Counts = std::vector<std::uint64_t>;

TEST(Counter, Adds) {
  Counter counter;
  counter.add();
  counter.add(41);
  EXPECT_EQ(counter.value(), 42u);
}

TEST(Gauge, IsTheLastValueAndWhatWasAddedSince) {
  Gauge gauge;
  EXPECT_EQ(gauge.value(), 0);
  gauge.set(5);
  gauge.add(-1.5);
  EXPECT_EQ(gauge.value(), 3.5);
}

TEST(Histogram, ABucketHasWhatIsLessThanOrEqualToItsBound) {
  Histogram histogram({1, 2, 4});
  for (const double value : {0.5, 1.0, 1.5, 2.0, 4.0, 4.5}) histogram.observe(value);
  const HistogramValue value = histogram.value();
  EXPECT_EQ(value.bounds, (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(value.counts, (Counts{2, 2, 1, 1}));
  EXPECT_EQ(value.sum, 13.5);
}

TEST(Histogram, TheEdgesOfDoubleHaveABucket) {  // Invariant (1).
  const double infinity = std::numeric_limits<double>::infinity();
  Histogram low({0, 1});
  low.observe(-infinity);
  low.observe(-0.0);
  EXPECT_EQ(low.value().counts, (Counts{2, 0, 0}));
  Histogram high({0, 1});
  high.observe(infinity);
  high.observe(std::nan(""));
  EXPECT_EQ(high.value().counts, (Counts{0, 0, 2}));
  EXPECT_TRUE(std::isnan(high.value().sum));
}

TEST(Histogram, BoundsAreFiniteRisingAndNotTooMany) {
  EXPECT_DEATH(Histogram({}), "are_bounds");
  EXPECT_DEATH(Histogram({1, 1}), "are_bounds");
  EXPECT_DEATH(Histogram({2, 1}), "are_bounds");
  EXPECT_DEATH(Histogram({1, std::numeric_limits<double>::infinity()}), "are_bounds");
  EXPECT_DEATH(Histogram({std::nan("")}), "are_bounds");
  std::vector<double> bounds;
  for (int i = 0; i < 64; ++i) bounds.push_back(i);
  Histogram most(bounds);
  most.observe(63.5);
  EXPECT_EQ(most.value().counts[64], 1u);
  bounds.push_back(64);
  EXPECT_DEATH(Histogram{bounds}, "are_bounds");
}

TEST(Histogram, LatencyBoundsAreBounds) { EXPECT_EQ(latency_bounds().size(), 14u); }

// Invariant (1), with more living threads than slots.
TEST(Histogram, ContentionLosesNothing) {
  constexpr int kThreads = kThreadSlots + 16;
  constexpr int kEach = 30'000;
  Histogram histogram({1, 2});
  std::barrier all_alive(kThreads);
  std::vector<std::jthread> pool;
  for (int i = 0; i < kThreads; ++i) {
    pool.emplace_back([&] {
      (void)thread_slot();
      all_alive.arrive_and_wait();
      for (int n = 0; n < kEach; ++n) histogram.observe(n % 2 == 0 ? 1 : 3);
    });
  }
  pool.clear();
  constexpr std::uint64_t kHalf = std::uint64_t{kThreads} * kEach / 2;
  EXPECT_EQ(histogram.value().counts, (Counts{kHalf, 0, kHalf}));
  EXPECT_EQ(histogram.value().sum, static_cast<double>(4 * kHalf));
}

TEST(Gauge, ContentionLosesNothing) {
  Gauge gauge;
  {
    std::vector<std::jthread> pool;
    for (int i = 0; i < 4; ++i) {
      pool.emplace_back([&, i] {
        for (int n = 0; n < 100'000; ++n) gauge.add(i % 2 == 0 ? 3 : -1);
      });
    }
  }
  EXPECT_EQ(gauge.value(), 400'000);
}

}  // namespace
}  // namespace damper::observe
