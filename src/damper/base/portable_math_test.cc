#include "damper/base/portable_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "damper/base/random.h"
#include "damper/base/trace_hash.h"

namespace damper::math {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeast = std::numeric_limits<double>::denorm_min();
constexpr double kMost = std::numeric_limits<double>::max();

std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

// How many units in the last place of `truth` lie between; libm itself may be off by one.
double ulps(double ours, double truth) {
  if (ours == truth) return 0;  // Also where both are infinite.
  const double size = std::nextafter(std::fabs(truth), kInfinity) - std::fabs(truth);
  return std::fabs(ours - truth) / size;
}

// A positive finite double with any exponent.
double any_positive(Random& random) {
  return std::bit_cast<double>(1 + random.bits() % (bits_of(kInfinity) - 1));
}

// The one that fails when a compiler, an optimisation level or a machine rounds in another way. The
// values were the same with g++ 12 and clang++ 16 at -O0, -O2 and -O3.
TEST(PortableMath, GivesTheSameBitsEverywhere) {  // Invariant 1.
  Random random(2024);
  TraceHash logs;
  TraceHash exponentials;
  TraceHash powers;
  TraceHash quantiles;
  TraceHash probabilities;
  for (int i = 0; i < 5000; ++i) {
    logs.add(bits_of(ln(any_positive(random))));
    logs.add(bits_of(ln(0.5 + random.draw())));
    exponentials.add(bits_of(exp(random.draw() * 1460 - 750)));
    exponentials.add(bits_of(exp(random.draw() * 2 - 1)));
    const double x = any_positive(random);
    powers.add(bits_of(pow(x, random.draw() * 4 - 2)));
    const double share = random.draw();
    powers.add(bits_of(pow(share, random.draw() * 100 - 50)));
    quantiles.add(bits_of(normal_quantile(random.draw())));
    quantiles.add(bits_of(normal_quantile(exp(-700 * random.draw()))));
    probabilities.add(bits_of(normal_cdf(random.draw() * 20 - 10)));
  }
  EXPECT_EQ(logs.value(), 0xff050e19945084ffU);
  EXPECT_EQ(exponentials.value(), 0x5070d498267b88d4U);
  EXPECT_EQ(powers.value(), 0x18f2361deb59f02aU);
  EXPECT_EQ(quantiles.value(), 0x28895c4a3ed0cb69U);
  EXPECT_EQ(probabilities.value(), 0x37eb350b1b0ea347U);
}

TEST(PortableMath, LnIsWithinTwoUnitsOfTheLibrarys) {  // Invariant 2.
  Random random(1);
  for (int i = 0; i < 200'000; ++i) {
    for (const double x : {any_positive(random), 0.5 + random.draw(), 1 - random.draw(),
                           1 + 1e-8 * (random.draw() - 0.5)}) {
      ASSERT_LE(ulps(ln(x), std::log(x)), 2) << std::hexfloat << x;
    }
  }
}

TEST(PortableMath, ExpIsWithinTwoUnitsOfTheLibrarys) {  // Invariant 2.
  Random random(2);
  for (int i = 0; i < 200'000; ++i) {
    for (const double x :
         {random.draw() * 1455 - 745, random.draw() * 2 - 1, (random.draw() - 0.5) * 1e-6}) {
      ASSERT_LE(ulps(exp(x), std::exp(x)), 2) << std::hexfloat << x;
    }
  }
}

TEST(PortableMath, PowIsWithinTwoUnitsOfTheLibrarys) {  // Invariant 2.
  Random random(3);
  for (int i = 0; i < 200'000; ++i) {
    const double x = any_positive(random);
    const double y = random.draw() * 3 - 1.5;
    ASSERT_LE(ulps(pow(x, y), std::pow(x, y)), 2) << std::hexfloat << x << ' ' << y;
    const double near_one = 0.5 + random.draw();
    const double far = random.draw() * 2000 - 1000;
    ASSERT_LE(ulps(pow(near_one, far), std::pow(near_one, far)), 2)
        << std::hexfloat << near_one << ' ' << far;
  }
}

TEST(PortableMath, LnHasItsEdges) {  // Invariant 3.
  EXPECT_EQ(bits_of(ln(1)), bits_of(0.0));
  EXPECT_EQ(ln(0), -kInfinity);
  EXPECT_EQ(ln(-0.0), -kInfinity);
  EXPECT_EQ(ln(kInfinity), kInfinity);
  EXPECT_EQ(ln(kLeast), -744.4400719213812);
  EXPECT_EQ(ln(kMost), 709.782712893384);
  EXPECT_EQ(ln(2), 0.6931471805599453);
  EXPECT_TRUE(std::isnan(ln(-1)));
  EXPECT_TRUE(std::isnan(ln(-kInfinity)));
  EXPECT_TRUE(std::isnan(ln(kNan)));
}

TEST(PortableMath, ExpHasItsEdges) {  // Invariant 3.
  EXPECT_EQ(exp(0), 1);
  EXPECT_EQ(exp(-0.0), 1);
  EXPECT_EQ(exp(1), 2.718281828459045);
  EXPECT_EQ(exp(kInfinity), kInfinity);
  EXPECT_EQ(exp(-kInfinity), 0);
  EXPECT_EQ(exp(709.79), kInfinity);
  EXPECT_LT(exp(709.78), kInfinity);
  EXPECT_EQ(exp(709.785), kInfinity);  // Over the largest double by its arithmetic.
  EXPECT_EQ(exp(-745.13), kLeast);
  EXPECT_EQ(exp(-745.2), 0);
  EXPECT_EQ(exp(1e300), kInfinity);
  EXPECT_EQ(exp(-1e300), 0);
  EXPECT_EQ(exp(kLeast), 1);
  EXPECT_TRUE(std::isnan(exp(kNan)));
}

TEST(PortableMath, PowHasItsEdges) {  // Invariant 3.
  EXPECT_EQ(pow(2, 10), 1024);
  EXPECT_EQ(pow(10, -3), 0.001);
  EXPECT_EQ(pow(4, 0.5), 2);
  for (const double x : {0.0, 0.5, 3.0, kInfinity, kNan}) EXPECT_EQ(pow(x, 0), 1) << x;
  for (const double y : {-kInfinity, -2.0, 0.5, kMost, kInfinity, kNan})
    EXPECT_EQ(pow(1, y), 1) << y;
  EXPECT_EQ(pow(0, 2), 0);
  EXPECT_EQ(pow(0, -2), kInfinity);
  EXPECT_EQ(pow(kInfinity, 2), kInfinity);
  EXPECT_EQ(pow(kInfinity, -2), 0);
  EXPECT_EQ(pow(2, kInfinity), kInfinity);
  EXPECT_EQ(pow(2, -kInfinity), 0);
  EXPECT_EQ(pow(0.5, kInfinity), 0);
  EXPECT_EQ(pow(2, 1e300), kInfinity);
  EXPECT_EQ(pow(2, -1e300), 0);
  EXPECT_EQ(pow(2, 1023), 0x1.0p1023);
  EXPECT_EQ(pow(2, 1024), kInfinity);
  EXPECT_EQ(pow(2, -1074), kLeast);
  EXPECT_EQ(pow(3, kLeast), 1);
  EXPECT_EQ(pow(kLeast, 1), kLeast);
  EXPECT_TRUE(std::isnan(pow(-1, 2)));
  EXPECT_TRUE(std::isnan(pow(2, kNan)));
  EXPECT_TRUE(std::isnan(pow(kNan, 2)));
}

TEST(PortableMath, NormalQuantilesAreThoseOfTheTables) {
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_DOUBLE_EQ(normal_quantile(0.975), 1.959963984540054);
  EXPECT_DOUBLE_EQ(normal_quantile(0.025), -1.959963984540054);
  EXPECT_DOUBLE_EQ(normal_quantile(0.9), 1.2815515655446004);
  EXPECT_DOUBLE_EQ(normal_quantile(0.999), 3.090232306167813);
  EXPECT_DOUBLE_EQ(normal_quantile(1e-10), -6.361340902404056);
  EXPECT_DOUBLE_EQ(normal_quantile(1e-20), -9.262340089798408);
  EXPECT_DOUBLE_EQ(normal_quantile(1e-300), -37.0470962993612);
  EXPECT_EQ(normal_quantile(0), -kInfinity);
  EXPECT_EQ(normal_quantile(1), kInfinity);
  EXPECT_TRUE(std::isnan(normal_quantile(-0.1)));
  EXPECT_TRUE(std::isnan(normal_quantile(1.1)));
  EXPECT_TRUE(std::isnan(normal_quantile(kNan)));
}

// One Newton step with the library's erfc says how far off the quantile is. erfc's own error is
// what the tolerance allows for.
TEST(PortableMath, NormalQuantilesInvertTheErrorFunction) {  // Invariant 2.
  Random random(4);
  for (int i = 0; i < 100'000; ++i) {
    for (const double p : {0.5 * (1 - random.draw()), std::pow(2.0, -1 - 900 * random.draw())}) {
      const double z = normal_quantile(p);
      const double back = 0.5 * std::erfc(-z / std::sqrt(2.0));
      const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::acos(-1.0));
      ASSERT_LE(std::fabs((back - p) / density), 1e-15 * (1 + std::fabs(z))) << p;
      if (p >= 0x1.0p-20) {
        ASSERT_DOUBLE_EQ(normal_quantile(1 - p), -normal_quantile(1 - (1 - p))) << p;
      }
    }
  }
}

TEST(PortableMath, NormalProbabilitiesAreWithin4e15OfTheLibrarys) {
  for (int i = -12'000; i <= 12'000; ++i) {
    const double z = i / 1000.0;
    ASSERT_NEAR(normal_cdf(z), 0.5 * std::erfc(-z / std::sqrt(2.0)), 4e-15) << z;
  }
  EXPECT_EQ(normal_cdf(0), 0.5);
  EXPECT_EQ(normal_cdf(-kInfinity), 0);
  EXPECT_EQ(normal_cdf(kInfinity), 1);
  EXPECT_TRUE(std::isnan(normal_cdf(kNan)));
}

}  // namespace
}  // namespace damper::math
