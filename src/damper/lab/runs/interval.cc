#include "damper/lab/runs/interval.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "damper/base/check.h"
#include "damper/base/text/plain_text.h"

namespace damper::lab {
namespace {

constexpr double kZ = Proportion::kZ;

// The 0.975 quantile of Student's t, for 1 to 30 degrees of freedom.
constexpr std::array<double, 30> kStudent = {
    12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306,   2.26216, 2.22814,
    2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991, 2.10982, 2.10092, 2.09302, 2.08596,
    2.07961, 2.07387, 2.06866, 2.0639,  2.05954, 2.05553, 2.05183, 2.04841, 2.04523, 2.04227};

std::string with_interval(double x, int decimals, Interval interval, int interval_decimals) {
  return text::fixed_text(x, decimals) + " (" + text::fixed_text(interval.low, interval_decimals) +
         " to " + text::fixed_text(interval.high, interval_decimals) + ')';
}

}  // namespace

// Beyond, the first terms of Fisher's expansion around the normal quantile, good to 1e-4 there.
double students_quantile(std::size_t freedom) noexcept {
  if (freedom <= kStudent.size()) return kStudent[freedom - 1];
  constexpr double kCube = kZ * kZ * kZ;
  const double f = static_cast<double>(freedom);
  return kZ + (kCube + kZ) / (4 * f) + (5 * kCube * kZ * kZ + 16 * kCube + 3 * kZ) / (96 * f * f);
}

double Proportion::share() const noexcept {
  return n == 0 ? 0 : static_cast<double>(k) / static_cast<double>(n);
}

Interval Proportion::interval(double z) const noexcept {
  DAMPER_CHECK(0 <= k && k <= n);
  if (n == 0) return {0, 1};
  const double p = share();
  const double runs = static_cast<double>(n);
  const double weight = 1 + z * z / runs;
  const double center = (p + z * z / (2 * runs)) / weight;
  const double half = z * std::sqrt(p * (1 - p) / runs + z * z / (4 * runs * runs)) / weight;
  // Rounding must not leave the share outside when it is 0 or 1.
  return {k == 0 ? 0 : center - half, k == n ? 1 : center + half};
}

std::string to_text(const Proportion& proportion) {
  if (proportion.n == 0) return "no runs";
  const Interval interval = proportion.interval();
  return with_interval(proportion.share(), 3, interval, interval.width() < 0.02 ? 3 : 2);
}

void Summary::add(double x) noexcept {
  DAMPER_CHECK(std::isfinite(x));
  min_ = n_ == 0 ? x : std::min(min_, x);
  max_ = n_ == 0 ? x : std::max(max_, x);
  ++n_;
  const double before = x - mean_;
  mean_ += before / static_cast<double>(n_);
  squares_ += before * (x - mean_);
}

double Summary::sd() const noexcept {
  return n_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(n_ - 1));
}

double Summary::sem() const noexcept {
  return n_ < 2 ? 0 : sd() / std::sqrt(static_cast<double>(n_));
}

Interval Summary::interval() const noexcept {
  if (n_ < 2) return {mean_, mean_};
  const double half = sem() * students_quantile(static_cast<std::size_t>(n_ - 1));
  return {mean_ - half, mean_ + half};
}

std::string to_text(const Summary& summary, int decimals) {
  if (summary.n() == 0) return "no runs";
  if (summary.n() == 1) return text::fixed_text(summary.mean(), decimals);
  return with_interval(summary.mean(), decimals, summary.interval(), decimals);
}

}  // namespace damper::lab
