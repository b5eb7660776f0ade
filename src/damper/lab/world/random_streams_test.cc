#include "damper/lab/world/random_streams.h"

#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "damper/base/random.h"

namespace damper::lab {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// n times the squared correlation of two series of draws: about 1 when they are independent.
double dependence(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - 0.5) * (b[i] - 0.5);
  const double correlation = 12 * sum / static_cast<double>(a.size());  // A draw's variance: 1/12.
  return correlation * correlation * static_cast<double>(a.size());
}

std::vector<double> draws(Random random, int n) {
  std::vector<double> out(static_cast<std::size_t>(n));
  for (double& draw : out) draw = random.draw();
  return out;
}

TEST(RandomStreams, AreTheSameOnEveryMachine) {  // Invariant 1: these numbers never change.
  const RandomStreams streams(42);
  EXPECT_EQ(streams.bits(Purpose::arrivals, 0, 0), 0xc16129ecd0dc5b93U);
  EXPECT_EQ(streams.bits(Purpose::service, 17, 1), 0x8c9c5ea41abb3b41U);
  EXPECT_EQ(streams.bits(Purpose::clients, kMost, kMost), 0x687e8fb0a988dba0U);
  EXPECT_EQ(RandomStreams(43).bits(Purpose::arrivals, 0, 0), 0x7c15e27c53336e6fU);
}

TEST(RandomStreams, ADrawByNumberIsThatOfTheStream) {  // Invariant 2.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const RandomStreams streams(seed);
    for (std::size_t p = 0; p < kPurposes; ++p) {
      const Purpose purpose = static_cast<Purpose>(p);
      for (const std::uint64_t entity : {std::uint64_t{0}, std::uint64_t{1}, kMost}) {
        Random by_draw = streams.stream(purpose, entity);
        Random by_bits = streams.stream(purpose, entity);
        for (std::uint64_t number = 0; number < 5; ++number) {
          ASSERT_EQ(streams.draw(purpose, entity, number), by_draw.draw()) << seed;
          ASSERT_EQ(streams.bits(purpose, entity, number), by_bits.bits()) << seed;
        }
      }
    }
  }
}

TEST(RandomStreams, EverySeedPurposeEntityAndNumberHasADrawOfItsOwn) {  // Invariant 3.
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const RandomStreams streams(seed);
    for (std::size_t p = 0; p < kPurposes; ++p) {
      for (std::uint64_t entity = 0; entity < 50; ++entity) {
        for (std::uint64_t number = 0; number < 20; ++number) {
          seen.insert(streams.bits(static_cast<Purpose>(p), entity, number));
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 10 * kPurposes * 50 * 20);
}

TEST(RandomStreams, NeighboursAreNotCorrelated) {  // Invariant 3.
  constexpr int kDraws = 10'000;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const RandomStreams streams(seed);
    const std::vector<double> one = draws(streams.stream(Purpose::service, 7), kDraws);
    const std::vector<double> entity = draws(streams.stream(Purpose::service, 8), kDraws);
    const std::vector<double> purpose = draws(streams.stream(Purpose::network, 7), kDraws);
    const std::vector<double> run =
        draws(RandomStreams(seed + 1).stream(Purpose::service, 7), kDraws);
    // P(over 20) is under 1e-5 for each: a normal variable, squared.
    EXPECT_LT(dependence(one, entity), 20) << seed;
    EXPECT_LT(dependence(one, purpose), 20) << seed;
    EXPECT_LT(dependence(one, run), 20) << seed;
    // The first draw of each entity, against that of the next one; and their mean.
    std::vector<double> firsts;
    std::vector<double> nexts;
    double sum = 0;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      firsts.push_back(streams.draw(Purpose::service, i, 0));
      nexts.push_back(streams.draw(Purpose::service, i + 1, 0));
      sum += firsts.back();
    }
    EXPECT_LT(dependence(firsts, nexts), 20) << seed;
    EXPECT_NEAR(sum / kDraws, 0.5, 0.013) << seed;  // 4.5 deviations
  }
}

}  // namespace
}  // namespace damper::lab
