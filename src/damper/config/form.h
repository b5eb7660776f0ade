#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"
#include "damper/config/yaml_tree.h"

namespace damper::config {

// A Form is what the value of a key must be: its kind, bounds and accepted words.
//
// Why: the loader, the printer, an error, the reference and the JSON Schema all follow from it, so
// that 250ms means the same in every file and a bound is written once.
// Model: read_value() converts YAML to a Value, the plainest type that can hold it, and
// write_value() converts it back. std::monostate is a value that is not set and has no default.

enum class Kind : std::uint8_t {
  duration,  // 250ms; held as nanoseconds
  percent,   // 10, 10.5, "10%", {value: 10.0}; held as hundredths of a percent
  integer,
  bytes,    // 4096, 64KiB, 1MiB, 2GiB
  rate,     // 0.5, 100: at most three decimals; held as thousandths
  boolean,  // true or false; held as 0 or 1
  choice,   // one of `names`; held as its index
  chance,   // {numerator: 5, denominator: HUNDRED}; held as hundredths of a percent
  tokens,   // "a,b" or [a, b], each one of `names`; held as a bit for each
  number,   // 2.5; held as double
  share,    // 0.1 or 10%; held as double
  text,     // held as `parse` returns it
  texts,    // a list of texts, or a single one
  numbers,  // [1, 2.5] or {from: 1, to: 3, step: 1}; held as doubles
  wholes,   // [0, 2]; held as doubles
  custom,   // read and written by functions of the form
};

using Value = std::variant<std::monostate, std::int64_t, double, std::string,
                           std::vector<std::string>, std::vector<double>>;

inline constexpr std::size_t kMostNumbers = 1000;  // in a list
inline constexpr std::size_t kMostText = 1000;     // characters
inline constexpr Duration kTick{1};                // the least duration over zero

struct Form {
  Kind kind = Kind::integer;
  double low = 0;  // both ends are accepted, in the unit in which the value is held
  double high = 0;
  std::span<const std::string_view> names{};
  std::string_view accepted{};  // text, texts, custom: what one must be; wholes: what they are
  // The text in its canonical form, or why it is refused (empty when `accepted` says it all).
  Expected<std::string> (*parse)(std::string_view) = nullptr;
  std::size_t fewest = 0;  // texts or tokens in a list
  std::size_t most = 0;
  Expected<Value, Error> (*read)(const Tree&) = nullptr;  // custom; an error without a file
  std::string (*write)(const Value&) = nullptr;           // not null: instead of its kind
  std::optional<std::int64_t> off{};                      // the value of `off_word`, if accepted
  std::string_view off_word = "off";
  std::int64_t offset = 0;  // what the field has more than the value: 1 for attempts as retries

  [[nodiscard]] constexpr Form with_off(std::int64_t value, std::string_view word = "off") const {
    Form form = *this;
    form.off = value;
    form.off_word = word;
    return form;
  }
  [[nodiscard]] constexpr Form with_offset(std::int64_t more) const {
    Form form = *this;
    form.offset = more;
    return form;
  }
};

namespace form {

[[nodiscard]] constexpr Form of(Kind kind, double low, double high,
                                std::span<const std::string_view> names = {}) {
  return {.kind = kind, .low = low, .high = high, .names = names};
}
[[nodiscard]] constexpr Form duration(Duration low, Duration high = kLongest) {
  return of(Kind::duration, static_cast<double>(low.count()), static_cast<double>(high.count()));
}
[[nodiscard]] constexpr Form duration(const Range<Duration>& range) {
  return duration(range.low, range.high);
}
// In hundredths of a percent.
[[nodiscard]] constexpr Form percent(double low, double high) {
  return of(Kind::percent, low, high);
}
[[nodiscard]] constexpr Form percent(const Range<Percent>& range) {
  return percent(range.low.hundredths(), range.high.hundredths());
}
[[nodiscard]] constexpr Form integer(double low, double high) {
  return of(Kind::integer, low, high);
}
template <std::integral T>
[[nodiscard]] constexpr Form integer(const Range<T>& range) {
  return integer(static_cast<double>(range.low), static_cast<double>(range.high));
}
[[nodiscard]] constexpr Form bytes(double low, double high) { return of(Kind::bytes, low, high); }
template <std::integral T>
[[nodiscard]] constexpr Form bytes(const Range<T>& range) {
  return bytes(static_cast<double>(range.low), static_cast<double>(range.high));
}
// In thousandths.
[[nodiscard]] constexpr Form rate(double low, double high) { return of(Kind::rate, low, high); }
[[nodiscard]] constexpr Form rate(const Range<double>& range) {
  return rate(range.low * 1000, range.high * 1000);
}
[[nodiscard]] constexpr Form number(double low, double high) { return of(Kind::number, low, high); }
[[nodiscard]] constexpr Form choice(std::span<const std::string_view> names) {
  return of(Kind::choice, 0, static_cast<double>(std::ssize(names) - 1), names);
}
// `fewest`: 1 if the list must not be empty.
[[nodiscard]] constexpr Form tokens(std::span<const std::string_view> names,
                                    std::size_t fewest = 0) {
  Form form =
      of(Kind::tokens, 0, static_cast<double>((std::int64_t{1} << names.size()) - 1), names);
  form.fewest = fewest;
  return form;
}
[[nodiscard]] constexpr Form parsed(Expected<std::string> (*parse)(std::string_view),
                                    std::string_view accepted) {
  return {.kind = Kind::text, .accepted = accepted, .parse = parse};
}
[[nodiscard]] constexpr Form parsed_list(Expected<std::string> (*parse)(std::string_view),
                                         std::string_view accepted, std::size_t fewest,
                                         std::size_t most) {
  return {
      .kind = Kind::texts, .accepted = accepted, .parse = parse, .fewest = fewest, .most = most};
}

inline constexpr Form kBoolean = of(Kind::boolean, 0, 1);
inline constexpr Form kChance = of(Kind::chance, 0, Percent::kDenominator);
inline constexpr Form kShare = of(Kind::share, 0, 1);

}  // namespace form

// The value that the tree holds, within the form's bounds; else one sentence that names `key`, the
// accepted values and the value. The error has no file, and the location of an item of a list.
[[nodiscard]] Expected<Value, Error> read_value(std::string_view key, const Form& form,
                                                const Tree& tree);

// One sentence when the value is out of its bounds. REQUIRES: it is of the form's kind.
[[nodiscard]] std::optional<std::string> find_error(std::string_view key, const Form& form,
                                                    const Value& value);

// "a duration from 1ns to 24h, such as 250ms, 2s or 1.5m": the second half of "KEY must be ...".
[[nodiscard]] std::string accepted(const Form& form);

// The value as YAML on one line; empty for one that is not set.
[[nodiscard]] std::string write_value(const Form& form, const Value& value);

// A JSON Schema of the values that read_value() accepts, on one line, without its outer braces.
[[nodiscard]] std::string json_schema_of(const Form& form);

// A text as YAML, in double quotes.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace damper::config
