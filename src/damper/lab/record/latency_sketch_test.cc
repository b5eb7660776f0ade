#include "damper/lab/record/latency_sketch.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "damper/base/random.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

TEST(LatencySketch, KnowsNothingAtFirst) {
  const LatencySketch sketch;
  EXPECT_EQ(sketch.count(), 0);
  EXPECT_EQ(sketch.mean(), 0ns);
  EXPECT_EQ(sketch.quantile(Percent(50)), std::nullopt);
  EXPECT_EQ(sketch.bytes(), 0U);
}

TEST(LatencySketch, OneLatencyIsEveryQuantile) {
  LatencySketch sketch;
  sketch.add(1234567ns);
  for (const int percent : {0, 50, 100}) {
    EXPECT_EQ(sketch.quantile(Percent(percent)), 1234567ns);  // Not its bucket's middle.
  }
  EXPECT_EQ(sketch.mean(), 1234567ns);
  EXPECT_EQ(sketch.min(), 1234567ns);
  EXPECT_EQ(sketch.max(), 1234567ns);
}

TEST(LatencySketch, AQuantileIsTheLeastThatEnoughDoNotExceed) {
  LatencySketch sketch;
  for (int i = 1; i <= 50; ++i) sketch.add(Duration{i});  // Buckets of 1 ns: exact.
  EXPECT_EQ(sketch.quantile(Percent(0)), 1ns);
  EXPECT_EQ(sketch.quantile(Percent(2)), 1ns);
  EXPECT_EQ(sketch.quantile(Percent::from_hundredths(201)), 2ns);
  EXPECT_EQ(sketch.quantile(Percent(50)), 25ns);
  EXPECT_EQ(sketch.quantile(Percent(99)), 50ns);
  EXPECT_EQ(sketch.quantile(Percent(100)), 50ns);
  EXPECT_EQ(sketch.mean(), 26ns);  // 25.5
}

// Latencies over nine powers of ten.
std::vector<Duration> latencies(std::uint64_t seed, int n) {
  Random random(seed);
  std::vector<Duration> out;
  for (int i = 0; i < n; ++i) {
    double ns = 100 * random.draw();
    for (auto power = static_cast<int>(random.draw() * 10); power > 0; --power) ns *= 10;
    out.emplace_back(static_cast<std::int64_t>(ns));
  }
  return out;
}

TEST(LatencySketch, QuantilesAreWithinTwoPercent) {  // Invariants 1 and 2.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<Duration> all = latencies(seed, 1000);
    LatencySketch sketch;
    std::int64_t sum = 0;
    for (const Duration latency : all) {
      sketch.add(latency);
      sum += latency.count();
    }
    std::sort(all.begin(), all.end());
    for (const int percent : {1, 10, 50, 90, 99, 100}) {
      const double truth =
          static_cast<double>(all[static_cast<std::size_t>(percent * 10 - 1)].count());
      ASSERT_NEAR(static_cast<double>(sketch.quantile(Percent(percent))->count()), truth,
                  truth * 0.016 + 1)
          << "seed " << seed << ", p" << percent;
    }
    EXPECT_EQ(sketch.count(), 1000);
    EXPECT_EQ(sketch.min(), all.front());
    EXPECT_EQ(sketch.max(), all.back());
    EXPECT_EQ(sketch.mean(), Duration{(sum + 500) / 1000});
  }
}

TEST(LatencySketch, MergingIsAddingTheRest) {  // Invariant 3.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    LatencySketch one;
    LatencySketch two;
    LatencySketch both;
    for (const Duration latency : latencies(seed, 30)) one.add(latency), both.add(latency);
    for (const Duration latency : latencies(seed + 99, 3)) two.add(latency), both.add(latency);
    LatencySketch merged;
    merged.merge(LatencySketch());
    EXPECT_EQ(merged.count(), 0);
    merged.merge(seed % 2 == 0 ? one : two);
    merged.merge(seed % 2 == 0 ? two : one);
    merged.merge(LatencySketch());
    EXPECT_EQ(merged.count(), 33);
    EXPECT_EQ(merged.min(), both.min());
    EXPECT_EQ(merged.max(), both.max());
    EXPECT_EQ(merged.mean(), both.mean());
    for (int percent = 0; percent <= 100; ++percent) {
      ASSERT_EQ(merged.quantile(Percent(percent)), both.quantile(Percent(percent)))
          << "seed " << seed << ", p" << percent;
    }
  }
}

// Invariant 1. With the histogram's buckets all these were 137 s, or the least of them.
TEST(LatencySketch, MinutesAndHoursAreQuantilesToo) {
  LatencySketch sketch;
  for (auto latency = 10s; latency <= 24h; latency += 10s) sketch.add(latency);
  for (const int percent : {1, 25, 50, 75, 99}) {
    const double truth = 24 * 3600.0 * percent / 100;
    EXPECT_NEAR(std::chrono::duration<double>(*sketch.quantile(Percent(percent))).count() / truth,
                1, 0.016)
        << percent;
  }
}

TEST(LatencySketch, TheBoundsOfAQuantileContainIt) {
  LatencySketch sketch;
  for (int i = 0; i <= 1000; ++i) sketch.add(500ms + i * 1ms);
  const auto bounds = *sketch.quantile_bounds(Percent(50));
  EXPECT_LE(bounds.low, 1s);
  EXPECT_GE(bounds.high, 1s);
  EXPECT_LE(bounds.high - bounds.low, 35ms);
  LatencySketch one;
  one.add(1s);
  EXPECT_EQ(one.quantile_bounds(Percent(50))->low, 1s);
  EXPECT_EQ(one.quantile_bounds(Percent(50))->high, 1s);
  EXPECT_EQ(LatencySketch().quantile_bounds(Percent(50)), std::nullopt);
  LatencySketch longest;
  longest.add(kForever);
  EXPECT_EQ(longest.quantile_bounds(Percent(50))->high, kForever);
}

TEST(LatencySketch, TheLongestIsNoExceptionEither) {
  LatencySketch sketch;
  sketch.add(1s);
  sketch.add(kLongest);
  EXPECT_EQ(*sketch.quantile(Percent(50)), 1s);
  EXPECT_NEAR(static_cast<double>(sketch.quantile(Percent(100))->count()),
              static_cast<double>(kLongest.count()), 0.016 * static_cast<double>(kLongest.count()));
  EXPECT_EQ(sketch.max(), kLongest);
  EXPECT_EQ(sketch.mean(), (kLongest + 1s) / 2);
}

TEST(LatencySketch, TheSumMayBeWiderThanTheTimeline) {
  LatencySketch sketch;
  for (int i = 0; i < 10; ++i) sketch.add(kForever);
  LatencySketch twice = sketch;
  twice.merge(sketch);
  EXPECT_EQ(sketch.mean(), kForever);
  EXPECT_EQ(twice.mean(), kForever);
  LatencySketch long_ones;
  for (int i = 0; i < 20'000; ++i) long_ones.add(kLongest);
  EXPECT_EQ(long_ones.mean(), kLongest);
}

TEST(LatencySketch, ANegativeLatencyCountsAsZero) {
  LatencySketch sketch;
  sketch.add(-5ns);
  EXPECT_EQ(sketch.min(), 0ns);
  EXPECT_EQ(sketch.mean(), 0ns);
  EXPECT_EQ(sketch.quantile(Percent(50)), 0ns);
}

TEST(LatencySketch, TakesRoomForWhatItHolds) {
  LatencySketch sketch;
  for (Duration latency = 1ms; latency <= 100ms; latency += 100us) sketch.add(latency);
  EXPECT_LE(sketch.bytes(), 2048U + 256U);
  sketch.add(0ns);
  sketch.add(kLongest);
  EXPECT_LE(sketch.bytes(), 15U * 1024);
}

TEST(LatencySketch, RanksAreThoseOfBuckets) {
  LatencySketch sketch;
  for (const Duration latency : {10ms, 20ms, 20ms, 40ms}) sketch.add(latency);
  EXPECT_EQ(sketch.rank_bounds(1).low, 10ms);
  EXPECT_EQ(sketch.rank_bounds(2), sketch.rank_bounds(3));
  EXPECT_EQ(sketch.rank_bounds(3), sketch.quantile_bounds(Percent(50)));
  EXPECT_EQ(sketch.rank_bounds(4).high, 40ms);
  const auto ranks = [&sketch](Duration latency) {
    const LatencySketch::Ranks found = sketch.ranks_of(latency);
    return std::pair(found.before, found.up_to);
  };
  EXPECT_EQ(ranks(1ms), std::pair(0L, 0L));
  EXPECT_EQ(ranks(10ms), std::pair(0L, 1L));
  EXPECT_EQ(ranks(15ms), std::pair(1L, 1L));
  EXPECT_EQ(ranks(20ms), std::pair(1L, 3L));
  EXPECT_EQ(ranks(40ms), std::pair(3L, 4L));
  EXPECT_EQ(ranks(10s), std::pair(4L, 4L));
}

}  // namespace
}  // namespace damper::lab
