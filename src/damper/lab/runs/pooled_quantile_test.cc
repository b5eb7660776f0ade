#include "damper/lab/runs/pooled_quantile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "damper/base/portable_math.h"
#include "damper/base/random.h"
#include "damper/lab/runs/interval.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

PooledQuantile pooled(const std::vector<LatencySketch>& runs, Percent share) {
  std::vector<const LatencySketch*> all;
  for (const LatencySketch& run : runs) all.push_back(&run);
  return pooled_quantile(all, share).value();
}

LatencySketch of(std::initializer_list<std::pair<int, Duration>> latencies) {
  LatencySketch sketch;
  for (const auto& [count, latency] : latencies) {
    for (int i = 0; i < count; ++i) sketch.add(latency);
  }
  return sketch;
}

constexpr Percent kP999 = Percent::from_hundredths(9990);

TEST(PooledQuantile, OfNoLatenciesThereIsNone) {
  EXPECT_FALSE(pooled_quantile({}, Percent(50)));
  const LatencySketch none;
  const LatencySketch* const runs[] = {&none, &none};
  EXPECT_FALSE(pooled_quantile(runs, Percent(50)));
}

TEST(PooledQuantile, OfOneRunTheIntervalIsWhatItsSketchKnows) {  // Invariant (2).
  const LatencySketch run = of({{70, 10ms}, {30, 1s}});
  const PooledQuantile p50 = pooled({run}, Percent(50));
  const LatencySketch::Bounds bounds = run.quantile_bounds(Percent(50)).value();
  EXPECT_EQ(p50.low, bounds.low);
  EXPECT_EQ(p50.high, bounds.high);
  EXPECT_EQ(pooled({of({{9, 10ms}})}, Percent(50)).high, 10ms);
}

// 100 of 1000 in each run are slow: the p50 is certain.
TEST(PooledQuantile, WhereTheDistributionIsOneLatencyTheIntervalIsItsBucket) {
  const LatencySketch run = of({{900, 10ms}, {100, 1s}});
  const PooledQuantile p50 = pooled({run, run, run}, Percent(50));
  EXPECT_EQ(p50.low, 10ms);
  EXPECT_NEAR(static_cast<double>(p50.high.count()), 10e6, 0.32e6);
}

// Half are slow, give or take: the p50 may be either.
TEST(PooledQuantile, WhereTheDistributionHasAGapTheIntervalSpansIt) {
  for (const int slow : {490, 510}) {
    const LatencySketch run = of({{1000 - slow, 10ms}, {slow, 1s}});
    const PooledQuantile p50 = pooled({run, run, run}, Percent(50));
    EXPECT_EQ(p50.low, 10ms) << slow;
    EXPECT_EQ(p50.high, 1s) << slow;
  }
}

// In one of four runs everything is slow: the runs say little together, however many latencies
// they have. Student's quantile for three degrees of freedom is 3.18.
TEST(PooledQuantile, TheVarianceIsThatBetweenRuns) {
  const LatencySketch quick = of({{10'000, 10ms}});
  const PooledQuantile p50 = pooled({quick, quick, quick, of({{10'000, 1s}})}, Percent(50));
  EXPECT_NEAR(static_cast<double>(p50.value.count()), 10e6, 0.16e6);
  EXPECT_EQ(p50.high, 1s);
}

// How often the interval contains the quantile of exponential(10 ms), of 400 samples, in percent.
// Each sample has `runs` of `latencies`.
struct Coverage {
  int ours = 0;
  int of_the_means = 0;  // Student's interval of the runs' own quantiles
};
Coverage coverage(int runs, int latencies, Percent share) {
  Coverage covered;
  Random random(7);
  const double truth = -0.01 * math::ln(1 - share.ratio());
  for (int sample = 0; sample < 400; ++sample) {
    std::vector<LatencySketch> all(static_cast<std::size_t>(runs));
    Summary own;
    for (LatencySketch& run : all) {
      for (int i = 0; i < latencies; ++i) {
        run.add(Duration{static_cast<std::int64_t>(-0.01e9 * math::ln(1 - random.draw()))});
      }
      own.add(static_cast<double>(run.quantile(share)->count()) / 1e9);
    }
    const PooledQuantile interval = pooled(all, share);
    EXPECT_LE(interval.low, interval.value);  // Invariant (1).
    EXPECT_LE(interval.value, interval.high);
    const double low = static_cast<double>(interval.low.count()) / 1e9;
    const double high = static_cast<double>(interval.high.count()) / 1e9;
    if (low <= truth && truth <= high) ++covered.ours;
    const double half = own.interval().width() / 2;
    const double value = static_cast<double>(interval.value.count()) / 1e9;
    if (value - half <= truth && truth <= value + half) ++covered.of_the_means;
  }
  return {covered.ours / 4, covered.of_the_means / 4};
}

TEST(PooledQuantile, TheIntervalContainsTheTrueQuantileIn95Percent) {
  EXPECT_GE(coverage(10, 100, Percent(50)).ours, 93);
  EXPECT_GE(coverage(10, 200, Percent(99)).ours, 93);
  EXPECT_GE(coverage(3, 1000, Percent(99)).ours, 93);
  EXPECT_GE(coverage(100, 100, kP999).ours, 93);
  EXPECT_LE(coverage(100, 100, kP999).of_the_means, 75);  // Why.
}

}  // namespace
}  // namespace damper::lab
