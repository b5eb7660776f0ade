#include "damper/base/portable_math.h"

#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#ifdef __FAST_MATH__
#error "the lab's traces are the same everywhere: compile without -ffast-math"
#endif

namespace damper::math {
namespace {

static_assert(std::numeric_limits<double>::is_iec559 && FLT_EVAL_METHOD == 0,
              "the lab needs IEEE 754 doubles without excess precision");

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ln 2 in two parts. The first ends in 33 zero bits: its product with an exponent is exact.
constexpr double kLn2Head = 0x1.62e42fee00000p-1;
constexpr double kLn2Tail = 0x1.a39ef35793c76p-33;
constexpr double kOneByLn2 = 0x1.71547652b82fep+0;

// 2^k for a normal result: -1022 <= k <= 1023.
double power_of_two(int k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52U);
}

// c[0] + c[1] x + c[2] x^2 + ..., the even and the odd terms apart, so that they overlap in time.
template <std::size_t N>
double polynomial(const std::array<double, N>& c, double x) {
  const double square = x * x;
  double even = 0;
  double odd = 0;
  for (std::size_t i = (N + 1) / 2; i-- > 0;) {
    even = even * square + c[2 * i];
    if (2 * i + 1 < N) odd = odd * square + c[2 * i + 1];
  }
  return even + x * odd;
}

// A number as the unevaluated sum of two doubles.
struct Pair {
  double head;
  double tail;
};

// REQUIRES: |a| >= |b|, or a is 0.
Pair exact_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// Dekker, "A floating-point technique for extending the available precision", 1971.
Pair exact_product(double a, double b) {
  constexpr double kSplit = 0x1.0p27 + 1;
  const double a_scaled = a * kSplit;
  const double b_scaled = b * kSplit;
  const double a_head = a_scaled - (a_scaled - a);
  const double b_head = b_scaled - (b_scaled - b);
  const double a_tail = a - a_head;
  const double b_tail = b - b_head;
  const double product = a * b;
  return {product,
          ((a_head * b_head - product) + a_head * b_tail + a_tail * b_head) + a_tail * b_tail};
}

// x = 2^exponent * fraction, sqrt(1/2) <= fraction < sqrt(2). REQUIRES: 0 < x < infinity.
struct Parts {
  int exponent;
  double fraction;
};

Parts parts_of(double x) {
  constexpr std::uint64_t kRootOfHalf = 0x3fe6a09e667f3bcdU;
  constexpr std::uint64_t kOne = 0x3ff0000000000000U;
  constexpr std::uint64_t kFraction = 0x000fffffffffffffU;
  int exponent = -1023;
  if (x < std::numeric_limits<double>::min()) {  // A denormal number has no leading bit.
    x *= 0x1.0p54;
    exponent -= 54;
  }
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) + (kOne - kRootOfHalf);
  exponent += static_cast<int>(bits >> 52U);
  return {exponent, std::bit_cast<double>((bits & kFraction) + kRootOfHalf)};
}

// With s = (m - 1) / (m + 1): ln m = 2 s (1 + s^2 / 3 + s^4 / 5 + ...), |s| < 0.1716.
constexpr std::array<double, 10> kTwiceAtanh = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                                2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
constexpr std::array<double, 9> kAtanhFromFifth = {1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13,
                                                   1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};

// ln x to about 65 bits: pow multiplies its error by up to 745. REQUIRES: 0 < x < infinity.
Pair ln_in_two_parts(double x) {
  const auto [exponent, m] = parts_of(x);
  const double f = m - 1;
  // m + 1 may need one bit more than a double has.
  const double sum = m + 1;
  const double sum_tail = m - (sum - 1);
  const double s = f / sum;
  const Pair back = exact_product(s, sum);
  const double s_tail = ((f - back.head) - back.tail - s * sum_tail) / sum;
  Pair square = exact_product(s, s);
  square.tail += 2 * s * s_tail;
  constexpr double kThird = 0x1.5555555555555p-2;
  constexpr double kThirdTail = 0x1.5555555555555p-56;
  Pair third = exact_product(square.head, kThird);
  third.tail += square.head * kThirdTail + square.tail * kThird;
  const Pair terms =
      exact_sum(third.head, square.head * square.head * polynomial(kAtanhFromFifth, square.head));
  const Pair factor = exact_sum(1, terms.head);
  Pair product = exact_product(2 * s, factor.head);
  product.tail += 2 * s * (factor.tail + (terms.tail + third.tail)) + 2 * s_tail * factor.head;
  const Pair log = exact_sum(exponent * kLn2Head, product.head);
  return exact_sum(log.head, log.tail + (product.tail + exponent * kLn2Tail));
}

// 1/2!, 1/3!, ... 1/13!
constexpr std::array<double, 12> kByFactorials = [] {
  std::array<double, 12> terms{};
  double factorial = 1;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    factorial *= static_cast<double>(i + 2);  // Exact: 13! < 2^53.
    terms[i] = 1 / factorial;
  }
  return terms;
}();

// e to the x + tail. REQUIRES: |tail| is at most a unit in the last place of x.
double exp_of(double x, double tail) {
  if (x != x) return kNan;
  if (x > 709.79) return kInfinity;
  if (x < -745.14) return 0;
  const int k = static_cast<int>(x * kOneByLn2 + (x < 0 ? -0.5 : 0.5));
  const double head = x - k * kLn2Head;
  const double rest = k * kLn2Tail - tail;
  const double r = head - rest;  // |r| < 0.35
  const Pair one_and_head = exact_sum(1, head);
  const double y =
      one_and_head.head + (one_and_head.tail + (r * r * polynomial(kByFactorials, r) - rest));
  // In two steps: 2^k alone may be out of range where the result is not, and a denormal result is
  // rounded once, in the last one.
  const int half = k / 2;
  return y * power_of_two(half) * power_of_two(k - half);
}

double normal_quantile_of_tail(double tail) {
  constexpr std::array<double, 8> kC = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                        5.76949722146069140550e0,  3.64784832476320460504e0,
                                        1.27045825245236838258e0,  2.41780725177450611770e-1,
                                        2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr std::array<double, 8> kD = {1.0,
                                        2.05319162663775882187e0,
                                        1.67638483018380384940e0,
                                        6.89767334985100004550e-1,
                                        1.48103976427480074590e-1,
                                        1.51986665636164571966e-2,
                                        5.47593808499534494600e-4,
                                        1.05075007164441684324e-9};
  constexpr std::array<double, 8> kE = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                        1.78482653991729133580e0,  2.96560571828504891230e-1,
                                        2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                        2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr std::array<double, 8> kF = {1.0,
                                        5.99832206555887937690e-1,
                                        1.36929880922735805310e-1,
                                        1.48753612908506148525e-2,
                                        7.86869131145613259100e-4,
                                        1.84631831751005468180e-5,
                                        1.42151175831644588870e-7,
                                        2.04426310338993978564e-15};
  const double r = std::sqrt(-ln(tail));
  if (r <= 5) return polynomial(kC, r - 1.6) / polynomial(kD, r - 1.6);
  return polynomial(kE, r - 5) / polynomial(kF, r - 5);
}

}  // namespace

double ln(double x) noexcept {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNan;
  if (x == kInfinity) return x;
  const auto [exponent, m] = parts_of(x);
  const double f = m - 1;  // Exact.
  const double s = f / (2 + f);
  const double square = s * s;
  const double half_square = 0.5 * f * f;
  const double series = square * polynomial(kTwiceAtanh, square);
  // ln m = f - f^2/2 + s (f^2/2 + series): f is exact, and what is added to it is small.
  return exponent * kLn2Head -
         ((half_square - (s * (half_square + series) + exponent * kLn2Tail)) - f);
}

double exp(double x) noexcept { return exp_of(x, 0); }

double pow(double x, double y) noexcept {
  if (y == 0 || x == 1) return 1;
  if (!(x >= 0) || y != y) return kNan;
  if (x == 0) return y > 0 ? 0 : kInfinity;
  if (x == kInfinity) return y > 0 ? kInfinity : 0;
  const Pair log = ln_in_two_parts(x);
  if (y * log.head > 710) return kInfinity;
  if (y * log.head < -746) return 0;
  Pair product = exact_product(y, log.head);
  product = exact_sum(product.head, product.tail + y * log.tail);
  return exp_of(product.head, product.tail);
}

double normal_quantile(double p) noexcept {
  constexpr std::array<double, 8> kA = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                        1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                        4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                        3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr std::array<double, 8> kB = {1.0,
                                        4.2313330701600911252e+1,
                                        6.8718700749205790830e+2,
                                        5.3941960214247511077e+3,
                                        2.1213794301586595867e+4,
                                        3.9307895800092710610e+4,
                                        2.8729085735721942674e+4,
                                        5.2264952788528545610e+3};
  if (!(p >= 0) || p > 1) return kNan;
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kA, r) / polynomial(kB, r);
  }
  return q < 0 ? -normal_quantile_of_tail(p) : normal_quantile_of_tail(1 - p);
}

double normal_cdf(double z) noexcept {
  if (z != z) return kNan;
  if (z < -9) return 0;  // Under 2e-19.
  if (z > 9) return 1;
  constexpr double kLnRootOf2Pi = 0.91893853320467274178;
  const double square = z * z;
  double term = z;
  double sum = z;
  double before = 0;
  for (int i = 3; sum != before; i += 2) {  // At most some 130 terms, for z = 9.
    before = sum;
    term *= square / i;
    sum += term;
  }
  const double p = 0.5 + sum * exp(-0.5 * square - kLnRootOf2Pi);
  return p < 0 ? 0 : (p > 1 ? 1 : p);
}

}  // namespace damper::math
