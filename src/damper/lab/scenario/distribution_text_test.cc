#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "damper/base/random.h"
#include "damper/lab/scenario/distribution.h"

namespace damper::lab {
namespace {

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
  EXPECT_EQ(error_of("uniform(3ms, 1ms)"), "uniform(LOW, HIGH): LOW must be at most HIGH, not 3ms");
  EXPECT_EQ(error_of("lognormal(1ms, 11)"),
            "lognormal(MEDIAN, SIGMA): SIGMA must be from 0.001 to 10");
  EXPECT_EQ(error_of("mix(1ms, 2ms, 100.01%)"),
            "mix(FAST, SLOW, SHARE): SHARE must be from 0% to 100%");
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
