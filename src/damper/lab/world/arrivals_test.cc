#include "damper/lab/world/arrivals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "damper/lab/world/world_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

const RandomStreams kStreams(1);

ClientsSpec paced(Pattern pattern, std::int32_t count, Duration every) {
  ClientsSpec spec = poisson(0);
  spec.arrivals = pattern;
  spec.count = count;
  spec.every = every;
  return spec;
}

// The first `count` times of source 0.
std::vector<Instant> times_of(const ClientsSpec& spec, std::size_t count, double rush = 1) {
  Arrivals arrivals(spec, 0, kStreams);
  std::vector<Instant> times{arrivals.first(0)};
  while (times.size() < count) times.push_back(arrivals.next(times.back(), rush));
  return times;
}

TEST(Arrivals, APoissonProcessHasExponentialGaps) {
  const auto times = times_of(poisson(100), 100'001);
  double sum = 0;
  double squares = 0;
  Instant before{};
  for (const Instant time : times) {
    const double gap = std::chrono::duration<double>(time - before).count();
    ASSERT_GE(gap, 0);
    sum += gap;
    squares += gap * gap;
    before = time;
  }
  const double mean = sum / 100'001;
  EXPECT_NEAR(mean, 0.01, 0.01 * 0.01);  // Three standard errors are 0.95 %.
  const double deviation = std::sqrt(squares / 100'001 - mean * mean);
  EXPECT_NEAR(deviation / mean, 1, 0.02);
}

TEST(Arrivals, ASpikeMultipliesTheRate) {
  EXPECT_EQ(times_of(poisson(10), 1)[0], times_of(poisson(10), 1, 5)[0]);
  const auto calm = times_of(poisson(10), 1000);
  const auto rush = times_of(poisson(10), 1000, 4);
  // The same draws, so the gaps are a quarter of what they were, to the nanosecond.
  for (std::size_t i = 1; i < 1000; ++i) {
    const Duration difference = (calm[i] - calm[i - 1]) - 4 * (rush[i] - rush[i - 1]);
    ASSERT_LE(std::chrono::abs(difference), 4ns);
  }
}

TEST(Arrivals, ConstantClientsAreInStep) {
  const ClientsSpec spec = paced(Pattern::constant, 3, 10ms);
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_TRUE(arrivals.by_client());
  EXPECT_EQ(arrivals.sources(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(arrivals.first(i), Instant{});
  EXPECT_EQ(arrivals.begin(1), 1u);
  EXPECT_EQ(arrivals.next(Instant{}, 1), Instant{10ms});
  EXPECT_EQ(arrivals.next(Instant{10ms}, 5), Instant{20ms});  // A rush is not for them.
}

TEST(Arrivals, SpreadClientsAreEvenlyOutOfStep) {
  const ClientsSpec spec = paced(Pattern::spread, 4, 10ms);
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_EQ(arrivals.sources(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(arrivals.first(i), Instant{i * 2500us});
  EXPECT_EQ(arrivals.next(Instant{2500us}, 1), Instant{12'500us});
}

TEST(Arrivals, ManyClientsThatAreSpreadOverADayDoNotOverflow) {
  const ClientsSpec spec = paced(Pattern::spread, 10'000'000, 24h);
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_EQ(arrivals.first(5'000'000), Instant{12h});
  EXPECT_EQ(arrivals.first(9'999'999), Instant{24h - 8640us});
}

TEST(Arrivals, BurstsComeFromTheClientsInTurn) {
  ClientsSpec spec = paced(Pattern::bursts, 5, 1s);
  spec.burst = 3;
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_FALSE(arrivals.by_client());
  EXPECT_EQ(arrivals.sources(), 1u);
  EXPECT_EQ(arrivals.first(0), Instant{});
  EXPECT_EQ(arrivals.begin(1), 3u);
  EXPECT_EQ(arrivals.next(Instant{}, 1), Instant{1s});
  for (std::uint32_t i = 0; i < 12; ++i) {
    EXPECT_EQ(arrivals.next_client(), i % 5);
    (void)arrivals.number(i % 5, 0);
  }
}

TEST(Arrivals, MeteredOnesAccumulate) {
  ClientsSpec spec = poisson(500);
  spec.arrivals = Pattern::metered;
  const auto begun = [&spec](double rush) {
    Arrivals arrivals(spec, 0, kStreams);
    std::int64_t sum = 0;
    for (int i = 0; i < 100'000; ++i) sum += arrivals.begin(rush);
    return static_cast<double>(sum);
  };
  // N(0.5, 0.125) each; the sum of 100,000 deviates by 40.
  EXPECT_NEAR(begun(1), 50'000, 120);
  EXPECT_NEAR(begun(3), 150'000, 360);
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_EQ(arrivals.next(Instant{7ms}, 9), Instant{8ms});
}

TEST(Arrivals, ChosenClientsAreAnyOfThem) {
  ClientsSpec spec = poisson(1);
  spec.count = 4;
  Arrivals arrivals(spec, 0, kStreams);
  std::array<int, 4> chosen{};
  for (int i = 0; i < 40'000; ++i) ++chosen.at(arrivals.next_client());
  for (const int times : chosen) EXPECT_NEAR(times, 10'000, 300);
}

TEST(Arrivals, AClosedLoopGoesOnAfterTheAnswer) {
  const ClientsSpec spec = closed(2, Distribution::constant(3s));
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_EQ(arrivals.sources(), 2u);
  EXPECT_EQ(arrivals.first(1), Instant{});
  EXPECT_EQ(arrivals.begin(1), 1u);
  EXPECT_EQ(arrivals.next(Instant{}, 1), kNever);
  EXPECT_EQ(arrivals.after_answer(1, 0, Instant{1s}), Instant{4s});
}

TEST(Arrivals, ThinkTimesDependOnClientAndRequest) {
  const ClientsSpec spec = closed(2, Distribution::exponential(1s));
  const Arrivals arrivals(spec, 0, kStreams);
  const Instant time = arrivals.after_answer(1, 0, Instant{});
  EXPECT_EQ(arrivals.after_answer(1, 0, Instant{}), time);
  EXPECT_NE(arrivals.after_answer(0, 0, Instant{}), time);
  EXPECT_NE(arrivals.after_answer(1, 1, Instant{}), time);
  const Arrivals other(spec, 1, kStreams);
  EXPECT_NE(other.after_answer(1, 0, Instant{}), time);
}

TEST(Arrivals, OnceIsOnce) {
  const ClientsSpec spec = at_once(3);
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_EQ(arrivals.sources(), 3u);
  EXPECT_EQ(arrivals.begin(1), 1u);
  EXPECT_EQ(arrivals.next(Instant{}, 1), kNever);
  EXPECT_EQ(arrivals.after_answer(0, 0, Instant{}), kNever);
}

TEST(Arrivals, EachClientBeginsInItsOwnTime) {
  ClientsSpec spec = at_once(1000);
  spec.first = Distribution::uniform(1s, 2s);
  Arrivals arrivals(spec, 0, kStreams);
  std::set<Instant> times;
  for (std::uint32_t i = 0; i < 1000; ++i) times.insert(arrivals.first(i));
  EXPECT_EQ(times.size(), 1000u);
  EXPECT_GE(*times.begin(), Instant{1s});
  EXPECT_LE(*times.rbegin(), Instant{2s});
}

TEST(Arrivals, NothingBeginsAfterUntil) {
  ClientsSpec spec = paced(Pattern::constant, 1, 10ms);
  spec.until = 20ms;
  Arrivals constant(spec, 0, kStreams);
  EXPECT_EQ(constant.next(Instant{10ms}, 1), Instant{20ms});  // At it, still.
  EXPECT_EQ(constant.next(Instant{20ms}, 1), kNever);
  spec = closed(1, Distribution::constant(10ms));
  spec.until = 20ms;
  const Arrivals loop(spec, 0, kStreams);
  EXPECT_EQ(loop.after_answer(0, 0, Instant{10ms}), Instant{20ms});
  EXPECT_EQ(loop.after_answer(0, 0, Instant{11ms}), kNever);
  spec.first = Distribution::constant(21ms);
  Arrivals late(spec, 0, kStreams);
  EXPECT_EQ(late.first(0), kNever);
}

TEST(Arrivals, NumbersTellRequestsApart) {
  std::set<std::uint64_t> numbers;
  const ClientsSpec group = poisson(1);
  const ClientsSpec loop = closed(10);
  for (std::size_t i = 0; i < 3; ++i) {
    Arrivals poissons(group, 2 * i, kStreams);
    Arrivals loops(loop, 2 * i + 1, kStreams);
    for (std::uint32_t n = 0; n < 100; ++n) {
      numbers.insert(poissons.number(7, 0));
      for (std::uint32_t client = 0; client < 10; ++client) numbers.insert(loops.number(client, n));
    }
  }
  EXPECT_EQ(numbers.size(), 3u * (100 + 1000));
}

// Two policies answer in different orders: the third request of a client stays the same one.
TEST(Arrivals, ANumberOfAClientDoesNotDependOnTheOthers) {
  const ClientsSpec loop = closed(10);
  Arrivals one(loop, 0, kStreams);
  Arrivals other(loop, 0, kStreams);
  for (int i = 0; i < 5; ++i) (void)other.number(3, 1);
  EXPECT_EQ(one.number(4, 2), other.number(4, 2));
}

}  // namespace
}  // namespace damper::lab
