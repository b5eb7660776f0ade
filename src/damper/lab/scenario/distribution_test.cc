#include "damper/lab/scenario/distribution.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/base/random.h"
#include "damper/base/trace_hash.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

static_assert(std::is_trivially_copyable_v<Distribution> && sizeof(Distribution) <= 48);

// One of each kind, and each kind's extremes.
std::vector<Distribution> all() {
  return {Distribution(),
          Distribution::constant(5ms),
          Distribution::constant(kLongest),
          Distribution::uniform(1ms, 3ms),
          Distribution::uniform(0ns, kLongest),
          Distribution::uniform(7ns, 7ns),
          Distribution::exponential(10ms),
          Distribution::exponential(1ns),
          Distribution::exponential(kLongest),
          Distribution::normal(50ms, 12500us),
          Distribution::normal(0ns, kLongest),
          Distribution::normal(kLongest, kLongest),
          Distribution::normal(10ms, 0ns),
          Distribution::lognormal(20ms, 1.2),
          Distribution::lognormal(1ns, 10),
          Distribution::lognormal(kLongest, 0.001),
          Distribution::pareto(1ms, 1.5),
          Distribution::pareto(1ms, 1, 10s),
          Distribution::pareto(1ns, 0.1),
          Distribution::pareto(kLongest, 100),
          Distribution::mix(5ms, 1s, Percent(1)),
          Distribution::mix(0ns, kLongest, Percent(100))};
}

TEST(Distribution, ASampleIsTheInverseOfTheCumulativeDistribution) {
  const auto at = [](const Distribution& d, double draw) { return d.sample(draw); };
  EXPECT_EQ(at(Distribution(), 0.9), 0ns);
  EXPECT_EQ(at(Distribution::constant(5ms), 0.9), 5ms);
  EXPECT_EQ(at(Distribution::uniform(1ms, 3ms), 0), 1ms);
  EXPECT_EQ(at(Distribution::uniform(1ms, 3ms), 0.25), 1500us);
  EXPECT_EQ(at(Distribution::uniform(1ms, 3ms), kLargestDraw), 3ms);
  EXPECT_EQ(at(Distribution::exponential(10ms), 0), 0ns);
  EXPECT_EQ(at(Distribution::exponential(10ms), 0.5), 6931472ns);             // ln 2
  EXPECT_EQ(at(Distribution::exponential(10ms), kLargestDraw), 367368006ns);  // 53 ln 2
  EXPECT_EQ(at(Distribution::normal(50ms, 12500us), 0.5), 50ms);
  EXPECT_EQ(at(Distribution::normal(50ms, 12500us), 0.975), 74499550ns);  // 1.96 deviations
  EXPECT_EQ(at(Distribution::normal(0ms, 10ms), 0.025), 19599640ns);      // folded
  EXPECT_EQ(at(Distribution::normal(50ms, 12500us), 0), 53654513ns);      // -8.3 deviations, folded
  EXPECT_EQ(at(Distribution::lognormal(20ms, 1.2), 0.5), 20ms);
  EXPECT_EQ(at(Distribution::lognormal(20ms, 1.2), 0), 954ns);  // 20 ms times e^(-8.3 * 1.2)
  EXPECT_EQ(at(Distribution::lognormal(20ms, 1), 0.8413447460685429), 54365637ns);  // e
  EXPECT_EQ(at(Distribution::pareto(1ms, 2), 0), 1ms);
  EXPECT_EQ(at(Distribution::pareto(1ms, 2), 0.75), 2ms);
  EXPECT_EQ(at(Distribution::pareto(1ms, 0.5), 0.75), 16ms);
  EXPECT_EQ(at(Distribution::pareto(1ms, 0.5, 10ms), 0.75), 10ms);
  EXPECT_EQ(at(Distribution::mix(5ms, 1s, Percent(25)), 0.7499), 5ms);
  EXPECT_EQ(at(Distribution::mix(5ms, 1s, Percent(25)), 0.75), 1s);
  EXPECT_EQ(at(Distribution::mix(5ms, 1s, Percent(0)), kLargestDraw), 5ms);
  EXPECT_EQ(at(Distribution::mix(5ms, 1s, Percent(100)), 0), 1s);
}

TEST(Distribution, ASampleIsTheSameOnEveryMachine) {
  TraceHash hash;
  for (const Distribution& distribution : all()) {
    Random random(7);
    for (int i = 0; i < 1000; ++i) {
      hash.add(static_cast<std::uint64_t>(distribution.sample(random).count()));
    }
    hash.add(static_cast<std::uint64_t>(distribution.mean().count()));
    hash.add(static_cast<std::uint64_t>(distribution.quantile(0.99).count()));
  }
  EXPECT_EQ(hash.value(), 0xd64b44d67280500aU);
}

TEST(Distribution, ASampleTakesOneDraw) {  // Invariant 1.
  for (const Distribution& distribution : all()) {
    Random used(3);
    Random next(3);
    EXPECT_EQ(distribution.sample(used), distribution.sample(next.draw()));
    EXPECT_EQ(used.bits(), next.bits()) << to_text(distribution);
  }
}

TEST(Distribution, ASampleIsWithinBoundsAndGrowsWithItsDraw) {  // Invariants 2 and 3.
  for (const Distribution& distribution : all()) {
    ASSERT_EQ(find_error(distribution), std::nullopt) << to_text(distribution);
    std::vector<double> draws = {0, 0x1.0p-53, 0x1.0p-52};
    for (int i = 1; i < 10'000; ++i) draws.push_back(i / 10'000.0);
    draws.insert(draws.end(), {1 - 0x1.0p-52, kLargestDraw});
    Duration before{0};
    for (const double draw : draws) {
      const Duration sample = distribution.sample(draw);
      ASSERT_GE(sample, 0ns) << to_text(distribution) << " at " << draw;
      ASSERT_LE(sample, kLongest) << to_text(distribution) << " at " << draw;
      if (distribution.kind() == Distribution::Kind::normal) continue;
      ASSERT_GE(sample, before) << to_text(distribution) << " at " << draw;
      before = sample;
    }
  }
}

TEST(Distribution, KnowsItsMean) {
  EXPECT_EQ(Distribution::constant(5ms).mean(), 5ms);
  EXPECT_EQ(Distribution::uniform(1ms, 4ms).mean(), 2500us);
  EXPECT_EQ(Distribution::exponential(10ms).mean(), 10ms);
  EXPECT_EQ(Distribution::normal(50ms, 5ms).mean(), 50ms);       // Nothing to fold.
  EXPECT_EQ(Distribution::normal(0ms, 10ms).mean(), 7978846ns);  // 10 sqrt(2 / pi)
  EXPECT_EQ(Distribution::normal(7ms, 0ms).mean(), 7ms);
  EXPECT_EQ(Distribution::lognormal(20ms, 1).mean(), 32974425ns);  // 20 sqrt(e)
  EXPECT_EQ(Distribution::lognormal(1s, 10).mean(), kLongest);
  EXPECT_EQ(Distribution::pareto(1ms, 2, 4ms).mean(), 1750us);    // 1 + (1 - 1/4)
  EXPECT_EQ(Distribution::pareto(1ms, 1, 1s).mean(), 7907755ns);  // 1 + ln 1000
  EXPECT_EQ(Distribution::pareto(1ms, 1.0000001, 1s).mean(), 7907753ns);
  EXPECT_EQ(Distribution::pareto(1ms, 1.005, 1s).mean(), 7789824ns);
  EXPECT_EQ(Distribution::pareto(5ms, 3, 5ms).mean(), 5ms);
  EXPECT_EQ(Distribution::mix(5ms, 1s, Percent(1)).mean(), 14950us);
}

TEST(Distribution, ManySamplesAverageToItsMean) {
  for (const Distribution& distribution :
       {Distribution::uniform(1ms, 3ms), Distribution::exponential(10ms),
        Distribution::normal(10ms, 10ms), Distribution::lognormal(20ms, 0.8),
        Distribution::pareto(1ms, 1.5, 100ms), Distribution::mix(5ms, 50ms, Percent(10))}) {
    Random random(11);
    double sum = 0;
    constexpr int kSamples = 400'000;
    for (int i = 0; i < kSamples; ++i)
      sum += static_cast<double>(distribution.sample(random).count());
    const double mean = static_cast<double>(distribution.mean().count());
    EXPECT_NEAR(sum / kSamples / mean, 1, 0.01) << to_text(distribution);
  }
}

TEST(Distribution, KnowsItsQuantiles) {
  EXPECT_EQ(Distribution::constant(5ms).quantile(1), 5ms);
  EXPECT_EQ(Distribution::uniform(1ms, 3ms).quantile(0.5), 2ms);
  EXPECT_EQ(Distribution::uniform(1ms, 3ms).quantile(1), 3ms);
  EXPECT_EQ(Distribution::exponential(10ms).quantile(0.99), 46051702ns);  // 10 ln 100
  EXPECT_EQ(Distribution::exponential(10ms).quantile(1), 367368006ns);    // the longest sample
  EXPECT_EQ(Distribution::normal(50ms, 5ms).quantile(0.5), 50ms);
  EXPECT_EQ(Distribution::normal(50ms, 0ms).quantile(0.9), 50ms);
  EXPECT_EQ(Distribution::normal(0ms, 10ms).quantile(0.95), 19599640ns);  // both tails
  EXPECT_EQ(Distribution::normal(0ms, 10ms).quantile(0), 0ns);
  EXPECT_EQ(Distribution::mix(5ms, 1s, Percent(1)).quantile(0.98), 5ms);
  EXPECT_EQ(Distribution::mix(5ms, 1s, Percent(1)).quantile(0.995), 1s);
}

TEST(Distribution, TheShareOfSamplesUpToAQuantileIsIt) {
  for (const Distribution& distribution :
       {Distribution::exponential(10ms), Distribution::normal(10ms, 10ms),
        Distribution::lognormal(20ms, 1.2), Distribution::pareto(1ms, 1.5)}) {
    for (const double q : {0.1, 0.5, 0.9, 0.99}) {
      const Duration quantile = distribution.quantile(q);
      Random random(5);
      int up_to = 0;
      for (int i = 0; i < 100'000; ++i) up_to += distribution.sample(random) <= quantile ? 1 : 0;
      EXPECT_NEAR(up_to / 1e5, q, 0.007) << to_text(distribution) << ' ' << q;
    }
  }
}

TEST(Distribution, AnErrorNamesTheValueAndItsBound) {
  const auto error = [](const Distribution& d) { return find_error(d).value_or("none"); };
  EXPECT_EQ(error(Distribution::constant(-1ns)),
            "a duration is -1ns; it must be from 0s to 720h (30 days)");
  EXPECT_EQ(error(Distribution::normal(1ms, kLongest + 1ns)),
            "a duration is 2592000000000.001us; it must be from 0s to 720h (30 days)");
  EXPECT_EQ(error(Distribution::uniform(2ms, 1ms)), "LOW is 2ms; it must be at most HIGH");
  EXPECT_EQ(error(Distribution::exponential(0ms)), "MEAN is 0s; it must be more than 0s");
  EXPECT_EQ(error(Distribution::lognormal(0ms, 1)), "MEDIAN is 0s; it must be more than 0s");
  EXPECT_EQ(error(Distribution::pareto(0ms, 1)), "SCALE is 0s; it must be more than 0s");
  EXPECT_EQ(error(Distribution::pareto(2ms, 1, 1ms)), "SCALE is 2ms; it must be at most CAP");
  EXPECT_EQ(error(Distribution::mix(2ms, 1ms, Percent(1))), "FAST is 2ms; it must be at most SLOW");
  EXPECT_EQ(error(Distribution::mix(1ms, 2ms, Percent(101))),
            "SHARE is 101%; it must be from 0% to 100%");
  EXPECT_EQ(error(Distribution::mix(1ms, 2ms, Percent(-1))),
            "SHARE is -1%; it must be from 0% to 100%");
  for (const double sigma : {0.0, 0.00099, 10.01, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_EQ(error(Distribution::lognormal(1ms, sigma)),
              "SIGMA is " + bound_text(sigma) + "; it must be from 0.001 to 10");
  }
  for (const double alpha : {0.0, 0.099, 100.1, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_EQ(error(Distribution::pareto(1ms, alpha)),
              "ALPHA is " + bound_text(alpha) + "; it must be from 0.1 to 100");
  }
}

using namespace std::chrono_literals;

std::string error_of(std::string_view text) {
  const auto parsed = parse_distribution(text);
  return parsed ? "none" : parsed.error();
}

void expect_parses(std::string_view text, const Distribution& distribution) {
  const auto parsed = parse_distribution(text);
  ASSERT_TRUE(parsed) << text << ": " << parsed.error();
  EXPECT_TRUE(*parsed == distribution) << text << " is " << to_text(*parsed);
}

TEST(DistributionText, IsWhatPeopleWrite) {
  expect_parses("5ms", Distribution::constant(5ms));
  expect_parses("0", Distribution::constant(0ms));
  expect_parses("uniform(1ms, 3ms)", Distribution::uniform(1ms, 3ms));
  expect_parses("exponential(10ms)", Distribution::exponential(10ms));
  expect_parses("normal(50ms, 12.5ms)", Distribution::normal(50ms, 12500us));
  expect_parses("lognormal(20ms, 1.2)", Distribution::lognormal(20ms, 1.2));
  expect_parses("pareto(1ms, 1.5)", Distribution::pareto(1ms, 1.5));
  expect_parses("pareto(1ms, 2, 10s)", Distribution::pareto(1ms, 2, 10s));
  expect_parses("mix(5ms, 1s, 1%)", Distribution::mix(5ms, 1s, Percent(1)));
  expect_parses("mix(5ms, 1s, 0.01%)", Distribution::mix(5ms, 1s, Percent::from_hundredths(1)));
  expect_parses("mix(5ms, 1s, 12.5%)", Distribution::mix(5ms, 1s, Percent::from_hundredths(1250)));
}

TEST(DistributionText, SpacesDoNotCount) {
  expect_parses("  5ms ", Distribution::constant(5ms));
  expect_parses(" uniform ( 1ms ,3ms ) ", Distribution::uniform(1ms, 3ms));
}

TEST(DistributionText, HasAtMost200Characters) {
  expect_parses("5ms" + std::string(197, ' '), Distribution::constant(5ms));
  EXPECT_NE(error_of("5ms" + std::string(198, ' ')), "none");
}

TEST(DistributionText, IsReadBackAsItWas) {  // Invariant 4.
  for (const std::string_view text :
       {"5ms", "0s", "uniform(1ms, 3ms)", "exponential(10ms)", "normal(50ms, 12.5ms)",
        "lognormal(20ms, 1.2)", "pareto(1ms, 1.5)", "pareto(1ms, 1.5, 10s)", "mix(5ms, 1s, 1%)",
        "mix(5ms, 1s, 0.05%)", "mix(5ms, 1s, 12.5%)", "mix(0s, 720h, 100%)", "mix(0s, 1s, 0%)"}) {
    const auto parsed = parse_distribution(text);
    ASSERT_TRUE(parsed) << parsed.error();
    EXPECT_EQ(to_text(*parsed), text);
  }
  Random random(6);
  for (int i = 0; i < 10'000; ++i) {  // Any double within the bounds, to its last bit.
    const double sigma = 0.001 + 9.999 * random.draw() * random.draw() * random.draw();
    const double alpha = 0.1 + 99.9 * random.draw();
    const Duration one{1 + static_cast<std::int64_t>(random.draw() * 1e15)};
    const Duration two = one + Duration{static_cast<std::int64_t>(random.draw() * 1e15)};
    const auto share = Percent::from_hundredths(static_cast<std::int32_t>(random.draw() * 10'001));
    for (const Distribution& d :
         {Distribution::constant(one), Distribution::uniform(one, two),
          Distribution::exponential(one), Distribution::normal(one, two),
          Distribution::lognormal(one, sigma), Distribution::pareto(one, alpha),
          Distribution::pareto(one, alpha, two), Distribution::mix(one, two, share)}) {
      const auto back = parse_distribution(to_text(d));
      ASSERT_TRUE(back) << back.error();
      ASSERT_TRUE(*back == d) << to_text(d) << " became " << to_text(*back);
    }
  }
}

constexpr const char* kAccepted =
    " (accepted: a duration such as 5ms, uniform(LOW, HIGH), exponential(MEAN), normal(MEAN, "
    "DEVIATION), lognormal(MEDIAN, SIGMA), pareto(SCALE, ALPHA) or pareto(SCALE, ALPHA, CAP), "
    "mix(FAST, SLOW, SHARE))";

TEST(DistributionText, AnUnknownNameIsToldWhatIsAccepted) {
  EXPECT_EQ(error_of("lognorml(1ms, 2)"),
            std::string("\"lognorml\" is no distribution; did you mean lognormal?") + kAccepted);
  EXPECT_EQ(error_of("zipf(1ms)"), std::string("\"zipf\" is no distribution") + kAccepted);
  EXPECT_EQ(error_of("fast"), std::string("\"fast\" is no distribution") + kAccepted);
  EXPECT_EQ(error_of("uniform"),
            std::string("\"uniform\" is no distribution; did you mean uniform?") + kAccepted);
  EXPECT_EQ(error_of(""), std::string("\"\" is no distribution") + kAccepted);
  EXPECT_EQ(error_of("(5ms)"), std::string("\"\" is no distribution") + kAccepted);
  EXPECT_EQ(error_of(std::string(201, '1')),
            std::string("a distribution of over 200 characters") + kAccepted);
}

TEST(DistributionText, AWrongValueIsToldItsForm) {
  EXPECT_EQ(error_of("5"), "duration \"5\" has no unit; the units are ns, us, ms, s, m and h");
  EXPECT_EQ(error_of("uniform(1ms, 3)"),
            "uniform: duration \"3\" has no unit; the units are ns, us, ms, s, m and h; write "
            "uniform(LOW, HIGH)");
  EXPECT_EQ(error_of("uniform(1ms)"),
            "\"uniform(1ms)\" has the wrong number of values; write uniform(LOW, HIGH)");
  EXPECT_EQ(error_of("exponential(1ms, 2ms)"),
            "\"exponential(1ms, 2ms)\" has the wrong number of values; write exponential(MEAN)");
  EXPECT_EQ(
      error_of("mix(1ms, 2ms, 1%, 3)"),
      "\"mix(1ms, 2ms, 1%, 3)\" has the wrong number of values; write mix(FAST, SLOW, SHARE)");
  EXPECT_EQ(error_of("exponential(10ms"),
            "\"exponential(10ms\" does not end with a bracket; write exponential(MEAN)");
  EXPECT_EQ(error_of("exponential()"),
            "exponential: duration is empty; write one such as 250ms, 2s or 1.5m; write "
            "exponential(MEAN)");
  EXPECT_EQ(error_of("uniform(3ms, 1ms)"),
            "uniform(LOW, HIGH): LOW is 3ms; it must be at most HIGH");
  EXPECT_EQ(error_of("lognormal(1ms, 11)"),
            "lognormal(MEDIAN, SIGMA): SIGMA is 11; it must be from 0.001 to 10");
  EXPECT_EQ(error_of("mix(1ms, 2ms, 100.01%)"),
            "mix(FAST, SLOW, SHARE): SHARE is 100.01%; it must be from 0% to 100%");
}

TEST(DistributionText, ANumberIsDigitsAndAPoint) {
  for (const char* number :
       {"", "x", "-1", "+1", "1e0", "inf", "nan", "0x1", "1.2.3", "1 2", ".", "1,"}) {
    EXPECT_NE(error_of("lognormal(1ms, " + std::string(number) + ")"), "none") << number;
  }
  EXPECT_EQ(error_of("lognormal(1ms, -1)"),
            "lognormal: \"-1\" is not a number; write one such as 1.5; write lognormal(MEDIAN, "
            "SIGMA)");
}

TEST(DistributionText, AShareIsAPercentageWithAtMostTwoDecimals) {
  for (const char* share :
       {"", "1", "%", ".5%", "1.%", "0.001%", "-1%", "1e1%", "1000%", "1 %", "x%"}) {
    EXPECT_NE(error_of("mix(1ms, 2ms, " + std::string(share) + ")"), "none") << share;
  }
  EXPECT_EQ(error_of("mix(1ms, 2ms, 0.001%)"),
            "mix: \"0.001%\" is not a share; write one such as 1% or 0.25%, with at most two "
            "decimals; write mix(FAST, SLOW, SHARE)");
}

}  // namespace

}  // namespace damper::lab
