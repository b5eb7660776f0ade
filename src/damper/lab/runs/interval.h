#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace damper::lab {

// Estimates from many runs: a share with Wilson's interval, a mean with Student's.
//
// Why: 50 seeds once gave 0.56 where 6,450 gave 0.740: a probability needs its interval. The
// textbook's p +- 1.96 sqrt(p (1 - p) / n) gives "0 to 0" after 200 runs without a failure;
// Wilson's gives 0 to 0.019.
// Model: all intervals are at 95 %. Runs are added in a fixed order (their index), since a sum of
// doubles depends on it in the last bit.
// Thread safety: values. Cost: some additions.

struct Interval {
  double low = 0;
  double high = 0;
  [[nodiscard]] bool contains(double x) const noexcept { return low <= x && x <= high; }
  [[nodiscard]] double width() const noexcept { return high - low; }
};

// A number, and its interval at 95 %.
struct Estimate {
  double value = 0;
  Interval interval{};
};

// k of n runs, for example those that collapsed. 0 <= k <= n.
//
// Invariants:
//   (1) 0 <= low <= k / n <= high <= 1, and [0, 1] for no runs at all.
//   (2) k of n and n - k of n have mirrored intervals, up to rounding.
struct Proportion {
  std::int64_t k = 0;
  std::int64_t n = 0;

  // k / n; 0 for no runs.
  [[nodiscard]] double share() const noexcept;
  // Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the
  // American Statistical Association 22 (1927).
  // `z` is the normal quantile of its level: of 95 % by default.
  static constexpr double kZ = 1.959963984540054;  // math::normal_quantile(0.975)
  [[nodiscard]] Interval interval(double z = kZ) const noexcept;
};

// The 0.975 quantile of Student's distribution. REQUIRES: freedom >= 1.
[[nodiscard]] double students_quantile(std::size_t freedom) noexcept;

// "0.740 (0.73 to 0.75)"; the bounds have three decimals when they are less than 0.02 apart; "no
// runs" for none.
[[nodiscard]] std::string to_text(const Proportion& proportion);

// A Summary is the mean of a number over runs, and how it varies.
//
// Model: Welford, "Note on a method for calculating corrected sums of squares and products",
// Technometrics 4 (1962). The interval is Student's: with few runs it is wider than 1.96 sem.
// Invariants:
//   (1) min <= mean <= max, up to rounding; all are 0 before the first run.
//   (2) The same numbers in the same order give the same bits.
class Summary {
 public:
  // REQUIRES: x is finite.
  void add(double x) noexcept;

  [[nodiscard]] std::int64_t n() const noexcept { return n_; }
  [[nodiscard]] double mean() const noexcept { return mean_; }
  [[nodiscard]] double min() const noexcept { return min_; }
  [[nodiscard]] double max() const noexcept { return max_; }
  // The standard deviation (n - 1), and that of the mean; 0 for fewer than two runs.
  [[nodiscard]] double sd() const noexcept;
  [[nodiscard]] double sem() const noexcept;
  // Of the mean; a point for fewer than two runs.
  [[nodiscard]] Interval interval() const noexcept;

 private:
  std::int64_t n_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // the sum of squared distances from the mean
  double min_ = 0;
  double max_ = 0;
};

// "796.2 (794.1 to 798.3)", with that many decimals, 0 to 9; without the interval for fewer than
// two runs; "no runs" for none.
[[nodiscard]] std::string to_text(const Summary& summary, int decimals);

}  // namespace damper::lab
