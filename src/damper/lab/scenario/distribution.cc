#include "damper/lab/scenario/distribution.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>

#include "damper/base/bounds.h"
#include "damper/base/check.h"
#include "damper/base/duration_text.h"
#include "damper/base/portable_math.h"
#include "damper/base/text/plain_text.h"
#include "damper/base/text/words.h"

namespace damper::lab {
namespace {

constexpr double kLeastSigma = 0.001;
constexpr double kMostSigma = 10;
constexpr double kLeastAlpha = 0.1;
constexpr double kMostAlpha = 100;

double ns(Duration duration) { return static_cast<double>(duration.count()); }

// The nearest whole nanosecond within [0, most].
Duration rounded(double nanoseconds, Duration most = kLongest) {
  if (!(nanoseconds < ns(most))) return most;
  if (!(nanoseconds > 0)) return Duration{0};
  const auto whole = static_cast<std::int64_t>(nanoseconds);
  return Duration{nanoseconds - static_cast<double>(whole) < 0.5 ? whole : whole + 1};
}

// The normal quantile of a draw. 0 counts as half the least draw above it.
double normal_at(double draw) { return math::normal_quantile(std::max(draw, 0x1.0p-54)); }

// The mean of min(X, cap) for a Pareto X: scale + integral over (scale, cap) of (scale / t)^alpha,
// which is scale * (1 + l (1 - e^-x) / x), where l = math::ln(cap / scale) and x = (alpha - 1) l.
double pareto_mean(double scale, double alpha, double cap) {
  const double l = math::ln(cap / scale);
  const double x = (alpha - 1) * l;
  // Around alpha = 1 the quotient is 0 / 0; its series is good to 1e-16 there.
  const double quotient = x > -1e-5 && x < 1e-5 ? 1 - x / 2 + x * x / 6 : (1 - math::exp(-x)) / x;
  return scale * (1 + l * quotient);
}

// The mean of |X| for a normal X: Leone, Nelson and Nottingham, "The folded normal distribution",
// Technometrics 3 (1961).
double folded_mean(double mean, double deviation) {
  constexpr double kRootOf2ByPi = 0.79788456080286535588;
  if (deviation == 0) return mean;
  const double z = mean / deviation;
  return deviation * kRootOf2ByPi * math::exp(-0.5 * z * z) + mean * (1 - 2 * math::normal_cdf(-z));
}

// The least whole nanosecond that |X| does not exceed with probability q: by bisection.
Duration folded_quantile(double mean, double deviation, double q) {
  std::int64_t low = -1;  // Too low.
  std::int64_t high = rounded(mean + 9 * deviation).count();
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const double x = static_cast<double>(middle) + 0.5;  // What is below rounds to middle or less.
    const bool enough =
        math::normal_cdf((x - mean) / deviation) - math::normal_cdf((-x - mean) / deviation) >= q;
    (enough ? high : low) = middle;
  }
  return Duration{high};
}

template <class T>
std::string out_of_bounds(const char* what, const T& value, const char* bounds) {
  return std::string(what) + " is " + bound_text(value) + "; it must be " + bounds;
}

using Kind = Distribution::Kind;

// In the order of Kind. The first is written without its name.
constexpr std::array<std::string_view, 7> kNames = {"",          "uniform", "exponential", "normal",
                                                    "lognormal", "pareto",  "mix"};

// The forms as errors show them, in the order of Kind.
constexpr std::array<std::string_view, 7> kForms = {
    "a duration such as 5ms",   "uniform(LOW, HIGH)",
    "exponential(MEAN)",        "normal(MEAN, DEVIATION)",
    "lognormal(MEDIAN, SIGMA)", "pareto(SCALE, ALPHA) or pareto(SCALE, ALPHA, CAP)",
    "mix(FAST, SLOW, SHARE)"};

constexpr std::size_t kMostText = 200;

// Digits, and a point with digits: no sign, exponent, infinity or hexadecimal.
Expected<double> parse_number(std::string_view text) {
  const bool plain = text.find_first_not_of("0123456789.") == std::string_view::npos;
  const auto value = text::find_number<double>(text, std::chars_format::fixed);
  if (plain && value) return *value;
  return unexpected(text::in_quotes(text) + " is not a number; write one such as 1.5");
}

// "1%" or "0.25%".
Expected<Percent> parse_share(std::string_view text) {
  const auto wrong = [text] {
    return unexpected(text::in_quotes(text) +
                      " is not a share; write one such as 1% or 0.25%, with at most two decimals");
  };
  std::string_view digits = text;
  if (!digits.ends_with('%')) return wrong();
  digits.remove_suffix(1);
  const std::size_t dot = digits.find('.');
  const std::string_view whole = digits.substr(0, dot);
  std::string decimals(dot == std::string_view::npos ? "00" : digits.substr(dot + 1));
  if (decimals.size() == 1) decimals += '0';
  if (whole.empty() || whole.size() > 3 || decimals.size() != 2) return wrong();
  std::int32_t hundredths = 0;
  for (const char c : std::string(whole) + decimals) {
    if (c < '0' || c > '9') return wrong();
    hundredths = hundredths * 10 + (c - '0');
  }
  return Percent::from_hundredths(hundredths);
}

std::string share_text(Percent share) {
  std::string text = std::to_string(share.hundredths() / 100);
  if (const int rest = share.hundredths() % 100; rest != 0) {
    text += '.' + std::to_string(100 + rest).substr(1);
    if (text.ends_with('0')) text.pop_back();
  }
  return text + '%';
}

std::string accepted() {
  std::string text = " (accepted: ";
  for (std::size_t i = 0; i < kForms.size(); ++i) text.append(i == 0 ? "" : ", ").append(kForms[i]);
  return text + ')';
}

// The distribution of those values, of which there are as many as it takes.
Expected<Distribution> make(Kind kind, const std::vector<std::string_view>& values) {
  const Expected<Duration> first = parse_duration(values[0]);
  if (!first) return unexpected(first.error());
  if (kind == Kind::exponential) return Distribution::exponential(*first);
  if (kind == Kind::lognormal || kind == Kind::pareto) {
    const Expected<double> shape = parse_number(values[1]);
    if (!shape) return unexpected(shape.error());
    if (kind == Kind::lognormal) return Distribution::lognormal(*first, *shape);
    if (values.size() == 2) return Distribution::pareto(*first, *shape);
    const Expected<Duration> cap = parse_duration(values[2]);
    if (!cap) return unexpected(cap.error());
    return Distribution::pareto(*first, *shape, *cap);
  }
  const Expected<Duration> second = parse_duration(values[1]);
  if (!second) return unexpected(second.error());
  if (kind == Kind::uniform) return Distribution::uniform(*first, *second);
  if (kind == Kind::normal) return Distribution::normal(*first, *second);
  const Expected<Percent> share = parse_share(values[2]);
  if (!share) return unexpected(share.error());
  return Distribution::mix(*first, *second, *share);
}

bool takes(Kind kind, std::size_t values) {
  switch (kind) {
    case Kind::constant:
    case Kind::exponential: return values == 1;
    case Kind::uniform:
    case Kind::normal:
    case Kind::lognormal: return values == 2;
    case Kind::pareto: return values == 2 || values == 3;
    case Kind::mix: return values == 3;
  }
  return false;
}

}  // namespace

Distribution Distribution::constant(Duration value) noexcept {
  return {Kind::constant, value, Duration{0}, 0, Percent()};
}
Distribution Distribution::uniform(Duration low, Duration high) noexcept {
  return {Kind::uniform, low, high, 0, Percent()};
}
Distribution Distribution::exponential(Duration mean) noexcept {
  return {Kind::exponential, mean, Duration{0}, 0, Percent()};
}
Distribution Distribution::normal(Duration mean, Duration deviation) noexcept {
  return {Kind::normal, mean, deviation, 0, Percent()};
}
Distribution Distribution::lognormal(Duration median, double sigma) noexcept {
  return {Kind::lognormal, median, Duration{0}, sigma, Percent()};
}
Distribution Distribution::pareto(Duration scale, double alpha, Duration cap) noexcept {
  return {Kind::pareto, scale, cap, alpha, Percent()};
}
Distribution Distribution::mix(Duration fast, Duration slow, Percent slow_share) noexcept {
  return {Kind::mix, fast, slow, 0, slow_share};
}

Duration Distribution::sample(double draw) const noexcept {
  switch (kind_) {
    case Kind::constant: return first_;
    case Kind::uniform: return rounded(ns(first_) + draw * ns(second_ - first_), second_);
    case Kind::exponential: return rounded(-ns(first_) * math::ln(1 - draw));
    case Kind::normal: {
      const double x = ns(first_) + ns(second_) * normal_at(draw);
      return rounded(x < 0 ? -x : x);
    }
    case Kind::lognormal: return rounded(ns(first_) * math::exp(shape_ * normal_at(draw)));
    case Kind::pareto: return rounded(ns(first_) * math::pow(1 - draw, -1 / shape_), second_);
    case Kind::mix: return draw < 1 - share_.ratio() ? first_ : second_;
  }
  check_failed("a kind of distribution", __FILE__, __LINE__);
}

Duration Distribution::mean() const noexcept {
  switch (kind_) {
    case Kind::constant:
    case Kind::exponential: return first_;
    case Kind::uniform: return rounded((ns(first_) + ns(second_)) / 2);
    case Kind::normal: return rounded(folded_mean(ns(first_), ns(second_)));
    case Kind::lognormal: return rounded(ns(first_) * math::exp(0.5 * shape_ * shape_));
    case Kind::pareto: return rounded(pareto_mean(ns(first_), shape_, ns(second_)));
    case Kind::mix: return rounded(ns(first_) + ns(second_ - first_) * share_.ratio());
  }
  check_failed("a kind of distribution", __FILE__, __LINE__);
}

Duration Distribution::quantile(double q) const noexcept {
  DAMPER_CHECK(q >= 0 && q <= 1);
  if (kind_ == Kind::normal && second_ > Duration{0}) {
    return folded_quantile(ns(first_), ns(second_), q);
  }
  return sample(std::min(q, kLargestDraw));
}

std::optional<std::string> find_error(const Distribution& distribution) {
  const Duration first = distribution.first_;
  const Duration second = distribution.second_;
  for (const Duration duration : {first, second}) {
    if (duration < Duration{0} || duration > kLongest) {
      return out_of_bounds("a duration", duration, "from 0s to 720h (30 days)");
    }
  }
  const double shape = distribution.shape_;
  switch (distribution.kind_) {
    case Kind::constant:
    case Kind::normal: return std::nullopt;
    case Kind::uniform:
      if (first <= second) return std::nullopt;
      return out_of_bounds("LOW", first, "at most HIGH");
    case Kind::exponential:
      if (first > Duration{0}) return std::nullopt;
      return out_of_bounds("MEAN", first, "more than 0s");
    case Kind::lognormal:
      if (first == Duration{0}) return out_of_bounds("MEDIAN", first, "more than 0s");
      if (shape >= kLeastSigma && shape <= kMostSigma) return std::nullopt;
      return out_of_bounds("SIGMA", shape, "from 0.001 to 10");
    case Kind::pareto:
      if (first == Duration{0}) return out_of_bounds("SCALE", first, "more than 0s");
      if (!(shape >= kLeastAlpha) || shape > kMostAlpha) {
        return out_of_bounds("ALPHA", shape, "from 0.1 to 100");
      }
      if (first <= second) return std::nullopt;
      return out_of_bounds("SCALE", first, "at most CAP");
    case Kind::mix:
      if (distribution.share_ < Percent(0) || distribution.share_ > Percent(100)) {
        return out_of_bounds("SHARE", distribution.share_, "from 0% to 100%");
      }
      if (first <= second) return std::nullopt;
      return out_of_bounds("FAST", first, "at most SLOW");
  }
  return "no such kind of distribution";
}

Expected<Distribution> parse_distribution(std::string_view text) {
  if (text.size() > kMostText) {
    return unexpected("a distribution of over 200 characters" + accepted());
  }
  const std::string_view whole = text::trimmed(text);
  const std::size_t open = whole.find('(');
  if (open == std::string_view::npos) {
    const bool is_duration = !whole.empty() && whole[0] >= '0' && whole[0] <= '9';
    if (!is_duration) {
      return unexpected(text::in_quotes(whole) + " is no distribution" +
                        text::suggestion(whole, std::span(kNames).subspan(1)) + accepted());
    }
    const Expected<Duration> value = parse_duration(whole);
    if (!value) return unexpected(value.error());
    return Distribution::constant(*value);
  }
  const std::string_view name = text::trimmed(whole.substr(0, open));
  std::size_t index = 1;
  while (index < kNames.size() && kNames[index] != name) ++index;
  if (index == kNames.size()) {
    return unexpected(text::in_quotes(name) + " is no distribution" +
                      text::suggestion(name, std::span(kNames).subspan(1)) + accepted());
  }
  const Kind kind = static_cast<Kind>(index);
  const std::string form = "; write " + std::string(kForms[index]);
  if (!whole.ends_with(')')) {
    return unexpected(text::in_quotes(whole) + " does not end with a bracket" + form);
  }
  const std::vector<std::string_view> values =
      text::split(whole.substr(open + 1, whole.size() - open - 2));
  if (!takes(kind, values.size())) {
    return unexpected(text::in_quotes(whole) + " has the wrong number of values" + form);
  }
  Expected<Distribution> made = make(kind, values);
  if (!made) return unexpected(std::string(name) + ": " + made.error() + form);
  if (const auto error = find_error(*made)) {
    return unexpected(std::string(kForms[index]) + ": " + *error);
  }
  return made;
}

std::string to_text(const Distribution& distribution) {
  std::string first = format_duration(distribution.first_);
  const std::string second = format_duration(distribution.second_);
  const std::string name(kNames[static_cast<std::size_t>(distribution.kind_)]);
  switch (distribution.kind_) {
    case Kind::constant: return first;
    case Kind::exponential: return name + '(' + first + ')';
    case Kind::uniform:
    case Kind::normal: return name + '(' + first + ", " + second + ')';
    case Kind::lognormal:
      return name + '(' + first + ", " + text::decimal_text(distribution.shape_) + ')';
    case Kind::pareto:
      return name + '(' + first + ", " + text::decimal_text(distribution.shape_) +
             (distribution.second_ == kLongest ? "" : ", " + second) + ')';
    case Kind::mix:
      return name + '(' + first + ", " + second + ", " + share_text(distribution.share_) + ')';
  }
  return "?";
}

}  // namespace damper::lab
