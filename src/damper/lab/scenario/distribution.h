#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"
#include "damper/base/random.h"

namespace damper::lab {

// A Distribution is how long something takes, as a random variable: a service time, the way over a
// network, the time between two arrivals.
//
// Why: <random>'s distributions differ between libraries, and some use a varying number of draws,
// so that one sample more shifts all the others.
// Model: a sample is the inverse of the cumulative distribution at a draw, in whole nanoseconds
// (rounded, as lab/portable_math.h computes it), held within [0, kLongest].
// Invariants:
//   (1) A sample takes one draw, also where none is needed.
//   (2) 0 <= sample <= kLongest, for every draw in [0, 1).
//   (3) But for normal, which is folded at 0, a larger draw gives no shorter sample, up to
//       rounding.
//   (4) parse_distribution(to_text(d)) is d, for every d without error.
// Thread safety: a value. Cost: no allocation; a sample 2 to 60 ns.
class Distribution {
 public:
  enum class Kind : std::uint8_t { constant, uniform, exponential, normal, lognormal, pareto, mix };

  // Durations are within [0, kLongest]; further bounds stand with each.
  Distribution() = default;  // constant(0)
  [[nodiscard]] static Distribution constant(Duration value) noexcept;
  // low <= high
  [[nodiscard]] static Distribution uniform(Duration low, Duration high) noexcept;
  // mean > 0
  [[nodiscard]] static Distribution exponential(Duration mean) noexcept;
  // The absolute value of a normal variable.
  [[nodiscard]] static Distribution normal(Duration mean, Duration deviation) noexcept;
  // e to a normal variable of that deviation, times the median; median > 0, 0.001 <= sigma <= 10
  [[nodiscard]] static Distribution lognormal(Duration median, double sigma) noexcept;
  // P(longer than t) = (scale / t)^alpha; what is longer than `cap` takes `cap`.
  // 0 < scale <= cap, 0.1 <= alpha <= 100
  [[nodiscard]] static Distribution pareto(Duration scale, double alpha,
                                           Duration cap = kLongest) noexcept;
  // One of two; slow_share of them, at most 100 %, are the slow one. fast <= slow
  [[nodiscard]] static Distribution mix(Duration fast, Duration slow, Percent slow_share) noexcept;

  // REQUIRES: find_error(*this) is empty, and 0 <= draw < 1.
  [[nodiscard]] Duration sample(double draw) const noexcept;
  [[nodiscard]] Duration sample(Random& random) const noexcept { return sample(random.draw()); }

  // What samples are on average, but for those that are held at kLongest; itself held there.
  // REQUIRES: find_error(*this) is empty.
  [[nodiscard]] Duration mean() const noexcept;
  // What a share q of the samples does not exceed, 0 <= q <= 1. Not for the hot path.
  [[nodiscard]] Duration quantile(double q) const noexcept;

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  friend bool operator==(const Distribution&, const Distribution&) = default;

 private:
  friend std::optional<std::string> find_error(const Distribution& distribution);
  friend std::string to_text(const Distribution& distribution);

  Distribution(Kind kind, Duration first, Duration second, double shape, Percent share) noexcept
      : first_(first), second_(second), shape_(shape), share_(share), kind_(kind) {}

  Duration first_{0};   // value, low, mean, median, scale, fast
  Duration second_{0};  // high, deviation, cap, slow
  double shape_ = 0;    // sigma, alpha
  Percent share_;       // slow_share
  Kind kind_ = Kind::constant;
};

// What is wrong, in one sentence with the bound and the value; nothing when all is well.
[[nodiscard]] std::optional<std::string> find_error(const Distribution& distribution);

// As people write it in a scenario:
//   5ms  uniform(1ms, 3ms)  exponential(10ms)  normal(50ms, 12.5ms)  lognormal(20ms, 1.2)
//   pareto(1ms, 1.5)  pareto(1ms, 1.5, 10s)  mix(5ms, 1s, 1%)
// Spaces around a value do not count. An error is one printable sentence that says what is
// accepted.
[[nodiscard]] Expected<Distribution> parse_distribution(std::string_view text);
[[nodiscard]] std::string to_text(const Distribution& distribution);

}  // namespace damper::lab
