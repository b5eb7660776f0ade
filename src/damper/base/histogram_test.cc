#include "damper/base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "damper/base/random.h"

namespace damper {
namespace {

using namespace std::chrono_literals;

std::int64_t total(const Histogram& histogram) {
  Histogram::Totals totals;
  histogram.read_totals(totals);
  return std::accumulate(totals.counts.begin(), totals.counts.end(), std::int64_t{0});
}

TEST(Histogram, ALatencyOfZeroIsCountedAndKeptInTheTotals) {
  Histogram histogram(std::chrono::seconds(4));
  const Instant now{std::chrono::seconds(100)};
  histogram.record(Duration{0}, now);
  EXPECT_EQ(histogram.samples(now), 1);
  EXPECT_EQ(histogram.quantile(Percent(100), now), Duration{0});
  Histogram::Totals totals;
  histogram.read_totals(totals);
  EXPECT_EQ(totals.counts[0], 1);
  histogram.record(std::chrono::milliseconds(1), now + std::chrono::seconds(4));  // Its place.
  histogram.read_totals(totals);
  EXPECT_EQ(totals.counts[0], 1);
  EXPECT_EQ(histogram.samples(now + std::chrono::seconds(4)), 1);
}

TEST(Histogram, BucketsTileTheRangeWithoutGapOrOverlap) {
  for (std::size_t i = 0; i + 1 < Histogram::kBuckets; ++i) {
    const Duration first = Histogram::lower(i);
    const Duration last = first + Histogram::width(i) - 1ns;
    ASSERT_EQ(Histogram::bucket_of(first), i);
    ASSERT_EQ(Histogram::bucket_of(last), i);
    ASSERT_EQ(Histogram::bucket_of(last + 1ns), i + 1);
  }
}

TEST(Histogram, TheEdgesAreHeld) {
  EXPECT_EQ(Histogram::bucket_of(-1ns), 0u);
  EXPECT_EQ(Histogram::bucket_of(Duration::min()), 0u);
  EXPECT_EQ(Histogram::bucket_of(0ns), 0u);
  EXPECT_EQ(Histogram::bucket_of(137s), Histogram::kBuckets - 1u);
  EXPECT_EQ(Histogram::bucket_of(kForever), Histogram::kBuckets - 1u);
}

TEST(Histogram, AQuantileIsWithinOnePointSixPercentOfTheExactOne) {  // Invariant (1).
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Histogram histogram;
    std::vector<std::int64_t> exact;
    for (int i = 0; i < 5'000; ++i) {  // Log-uniform from 100 ns to 100 s.
      const auto ns = static_cast<std::int64_t>(100 * std::pow(10.0, 9 * random.draw()));
      exact.push_back(ns);
      histogram.record(Duration{ns}, Instant{1s});
    }
    std::sort(exact.begin(), exact.end());
    for (const int hundredths : {1, 5000, 9500, 9900, 9990, 10'000}) {
      const auto rank = static_cast<std::size_t>((hundredths * 5'000 + 9'999) / 10'000);
      const auto want = static_cast<double>(exact[std::max<std::size_t>(rank, 1) - 1]);
      const auto got = histogram.quantile(Percent::from_hundredths(hundredths), Instant{1s});
      ASSERT_TRUE(got);
      ASSERT_LE(std::abs(static_cast<double>(got->count()) - want), want * 0.016)
          << "seed " << seed << ", quantile " << hundredths;
    }
  }
}

TEST(Histogram, TooFewSamplesGiveNoQuantile) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(Percent(50), Instant{0s}), std::nullopt);
  for (int i = 0; i < 99; ++i) histogram.record(1ms, Instant{0s});
  EXPECT_EQ(histogram.quantile(Percent(50), Instant{0s}, 100), std::nullopt);
  histogram.record(1ms, Instant{0s});
  EXPECT_TRUE(histogram.quantile(Percent(50), Instant{0s}, 100));
}

TEST(Histogram, WhatIsOlderThanTheWindowIsForgotten) {  // Invariant (2); a window of 4 s.
  Histogram histogram(4s);
  histogram.record(1ms, Instant{0s});
  EXPECT_EQ(histogram.samples(Instant{4s - 1ns}), 1);
  EXPECT_EQ(histogram.samples(Instant{4s}), 0);
  EXPECT_EQ(histogram.samples(Instant{1000h}), 0);
}

TEST(Histogram, FoldsOldEpochsIntoTheTotalsAndLosesNothing) {  // Invariant (3).
  Histogram histogram(4s);
  for (int i = 0; i < 1'000; ++i) histogram.record(1ms, Instant{i * 100ms});
  EXPECT_EQ(histogram.samples(Instant{99'900ms}), 40);
  EXPECT_EQ(total(histogram), 1'000);
}

TEST(Histogram, TimeGoingBackwardsIsHarmless) {
  Histogram histogram(4s);
  histogram.record(1ms, Instant{100s});
  histogram.record(2ms, Instant{99s});  // An epoch back: still in the window.
  histogram.record(3ms, Instant{10s});  // Its place belongs to a later epoch, or to none.
  histogram.record(4ms, Instant{-5s});
  EXPECT_EQ(histogram.samples(Instant{100s}), 2);
  EXPECT_EQ(total(histogram), 4);  // Invariant (3)
}

TEST(Histogram, ThreadsWithoutCountsOfTheirOwnShareSome) {
  Histogram histogram;
  std::barrier all_alive(5);
  std::vector<std::jthread> writers;
  writers.reserve(5);
  for (int writer = 0; writer < 5; ++writer) {
    writers.emplace_back([&] {
      histogram.record(1ms, Instant{1s});
      all_alive.arrive_and_wait();
    });
  }
  writers.clear();
  EXPECT_EQ(histogram.samples(Instant{1s}), 5);
  EXPECT_EQ(total(histogram), 5);
}

TEST(Histogram, TotalsNeverShrinkWhileThreadsRecordAndEpochsTurn) {
  Histogram histogram(1s);
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&histogram] {
      for (int i = 0; i < 50'000; ++i) histogram.record(1ms, Instant{i * 1ms});
    });
  }
  std::int64_t last = 0;
  for (int i = 0; i < 300; ++i) {
    const std::int64_t now = total(histogram);
    ASSERT_GE(now, last);
    last = now;
  }
  writers.clear();
  EXPECT_GE(total(histogram), 100'000);  // Invariant (3)
}

TEST(LiveQuantile, LooksAgainAfterAQuarterOfASecond) {
  Histogram histogram;
  LiveQuantile p50;
  EXPECT_EQ(p50.get(histogram, Percent(50), 1, Instant{0s}), std::nullopt);
  histogram.record(40ns, Instant{0s});
  EXPECT_EQ(p50.get(histogram, Percent(50), 1, Instant{250ms - 1ns}), std::nullopt);
  EXPECT_EQ(p50.get(histogram, Percent(50), 1, Instant{250ms}), 40ns);
  histogram.record(50ns, Instant{250ms});
  histogram.record(50ns, Instant{250ms});
  EXPECT_EQ(p50.get(histogram, Percent(50), 1, Instant{400ms}), 40ns);
  EXPECT_EQ(p50.get(histogram, Percent(50), 1, Instant{500ms}), 50ns);
}

TEST(LiveQuantile, ForgetsWhenTheHistogramHasTooFewSamplesAgain) {
  Histogram histogram(1s);
  LiveQuantile p50;
  histogram.record(40ns, Instant{0s});
  EXPECT_EQ(p50.get(histogram, Percent(50), 1, Instant{0s}), 40ns);
  EXPECT_EQ(p50.get(histogram, Percent(50), 1, Instant{2s}), std::nullopt);
}

// An epoch begins to the nanosecond, however late: it is found without a division.
TEST(Histogram, AnEpochBeginsToTheNanosecondHoweverLate) {
  for (const Duration window : {Duration(1s), Duration(60s), Duration(7'000'000'003ns)}) {
    const Duration epoch = window / 4;
    for (const std::int64_t nth : {std::int64_t{1}, std::int64_t{12'345},
                                   std::numeric_limits<std::int64_t>::max() / epoch.count() - 4}) {
      Histogram histogram(window);
      const Instant start{epoch * nth};
      histogram.record(1ms, start);
      EXPECT_EQ(histogram.samples(start + epoch * 4 - 1ns), 1) << nth;
      EXPECT_EQ(histogram.samples(start + epoch * 4), 0) << nth;
      Histogram earlier(window);
      earlier.record(1ms, start - 1ns);
      EXPECT_EQ(earlier.samples(start + epoch * 3 - 1ns), 1) << nth;
      EXPECT_EQ(earlier.samples(start + epoch * 3), 0) << nth;
    }
  }
}

TEST(CoarseLatency, TheFirstRecordIsTheMeanAndLaterOnesMoveItByAnEighth) {
  CoarseLatency latency;
  EXPECT_EQ(latency.mean(), std::nullopt);
  latency.record(std::chrono::milliseconds(80), Instant{});
  EXPECT_EQ(latency.mean(), std::chrono::milliseconds(80));
  latency.record(std::chrono::milliseconds(160), Instant{});  // 80 + 80 / 8
  EXPECT_EQ(latency.mean(), std::chrono::milliseconds(90));
  latency.record(std::chrono::milliseconds(10), Instant{});  // 90 - 80 / 8
  EXPECT_EQ(latency.mean(), std::chrono::milliseconds(80));
}

TEST(CoarseLatency, ANegativeLatencyIsZero) {
  CoarseLatency latency;
  latency.record(std::chrono::milliseconds(-1), Instant{});
  EXPECT_EQ(latency.mean(), Duration{0});
}

}  // namespace
}  // namespace damper
