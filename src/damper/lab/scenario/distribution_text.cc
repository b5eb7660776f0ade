// Distributions as text: the names, their values, and what is wrong with them.
#include "damper/lab/scenario/distribution.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <span>

#include "damper/base/duration_text.h"
#include "damper/base/text/words.h"

namespace damper::lab {
namespace {

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

constexpr std::size_t kMostValues = 3;
constexpr std::size_t kMostText = 200;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The values between the brackets; one more than kMostValues stands for any more.
struct Values {
  std::array<std::string_view, kMostValues + 1> texts;
  std::size_t size = 0;
};

Values split(std::string_view text) {
  Values values;
  while (values.size < values.texts.size()) {
    const std::size_t comma = text.find(',');
    values.texts[values.size++] = trimmed(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return values;
}

// Digits, and a point with digits: no sign, exponent, infinity or hexadecimal.
Expected<double> parse_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const bool plain = text.find_first_not_of("0123456789.") == std::string_view::npos;
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (!plain || error != std::errc() || stop != end) {
    return unexpected(text::in_quotes(text) + " is not a number; write one such as 1.5");
  }
  return value;
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

std::string number_text(double value) {
  std::array<char, 64> buffer{};  // Enough for what find_error accepts: 17 digits, 0.00 before.
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return error == std::errc() ? std::string(buffer.data(), end) : "?";
}

std::string accepted() {
  std::string text = " (accepted: ";
  for (std::size_t i = 0; i < kForms.size(); ++i) text.append(i == 0 ? "" : ", ").append(kForms[i]);
  return text + ')';
}

// The distribution of those values, of which there are as many as it takes.
Expected<Distribution> make(Kind kind, const Values& values) {
  const Expected<Duration> first = parse_duration(values.texts[0]);
  if (!first) return unexpected(first.error());
  if (kind == Kind::exponential) return Distribution::exponential(*first);
  if (kind == Kind::lognormal || kind == Kind::pareto) {
    const Expected<double> shape = parse_number(values.texts[1]);
    if (!shape) return unexpected(shape.error());
    if (kind == Kind::lognormal) return Distribution::lognormal(*first, *shape);
    if (values.size == 2) return Distribution::pareto(*first, *shape);
    const Expected<Duration> cap = parse_duration(values.texts[2]);
    if (!cap) return unexpected(cap.error());
    return Distribution::pareto(*first, *shape, *cap);
  }
  const Expected<Duration> second = parse_duration(values.texts[1]);
  if (!second) return unexpected(second.error());
  if (kind == Kind::uniform) return Distribution::uniform(*first, *second);
  if (kind == Kind::normal) return Distribution::normal(*first, *second);
  const Expected<Percent> share = parse_share(values.texts[2]);
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

Expected<Distribution> parse_distribution(std::string_view text) {
  if (text.size() > kMostText) {
    return unexpected("a distribution of over 200 characters" + accepted());
  }
  const std::string_view whole = trimmed(text);
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
  const std::string_view name = trimmed(whole.substr(0, open));
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
  const Values values = split(whole.substr(open + 1, whole.size() - open - 2));
  if (!takes(kind, values.size)) {
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
    case Kind::lognormal: return name + '(' + first + ", " + number_text(distribution.shape_) + ')';
    case Kind::pareto:
      return name + '(' + first + ", " + number_text(distribution.shape_) +
             (distribution.second_ == kLongest ? "" : ", " + second) + ')';
    case Kind::mix:
      return name + '(' + first + ", " + second + ", " + share_text(distribution.share_) + ')';
  }
  return "?";
}

}  // namespace damper::lab
