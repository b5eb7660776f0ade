#include "damper/lab/scenario/scenario_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "damper/base/duration_text.h"
#include "damper/base/text/words.h"
#include "damper/policy/file/schema.h"

namespace damper::lab {
namespace {

using config::Tree;

constexpr std::size_t kLongestName = 100;

// A key of the policy's schema that has the same form; nothing for a kind that it does not know.
std::optional<policy::Key> policy_key(std::string_view key, const Form& form) {
  constexpr std::array<policy::Kind, 4> kKinds = {policy::Kind::duration, policy::Kind::integer,
                                                  policy::Kind::boolean, policy::Kind::choice};
  const auto kind = static_cast<std::size_t>(form.kind);
  if (kind >= kKinds.size()) return std::nullopt;
  return policy::Key{.path = key,
                     .kind = kKinds[kind],
                     .low = static_cast<std::int64_t>(form.low),
                     .high = static_cast<std::int64_t>(form.high),
                     .doc = {},
                     .names = form.names,
                     .off = form.off};
}

// Digits, and a point with digits: no exponent and no hexadecimal. No bound is kept by what is not
// finite.
std::optional<double> find_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// "10%" is 0.1 to the last bit: the point is moved before anything is rounded.
std::optional<double> find_share(std::string_view text) {
  if (!text.ends_with('%')) return find_number(text);
  text.remove_suffix(1);
  if (!find_number(text)) return std::nullopt;
  const std::string moved = std::string(text) + "e-2";
  double value = 0;
  std::from_chars(moved.data(), moved.data() + moved.size(), value);
  return value;
}

std::string shown(double value) {
  std::array<char, 400> buffer{};  // The longest double without exponent has 309 digits.
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return error == std::errc() ? std::string(buffer.data(), end) : std::string("?");
}

std::string shown(const Form& form, std::int64_t raw) {
  if (form.off == raw) return "off";
  if (form.kind == ValueKind::duration) return format_duration(Duration{raw});
  if (form.kind == ValueKind::boolean) return raw != 0 ? "true" : "false";
  const bool named = raw >= 0 && raw < std::ssize(form.names);
  return named ? std::string(form.names[static_cast<std::size_t>(raw)]) : std::to_string(raw);
}

std::string shown(const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::null:
      return "nothing";
    case Tree::Kind::scalar:
      return text::in_quotes(tree.text);
    case Tree::Kind::sequence:
      return "a list";
    case Tree::Kind::map:
      return "a map";
  }
  return {};
}

bool is_within(const Form& form, double value) { return value >= form.low && value <= form.high; }
bool is_whole(double value) { return value == std::floor(value); }

// {from: 100, to: 300, step: 50}, all three, as the numbers that it stands for; nothing when it is
// not such a map or stands for too many.
std::optional<std::vector<double>> find_range(const Tree& tree) {
  constexpr std::array<std::string_view, 3> kWords = {"from", "to", "step"};
  std::array<std::optional<double>, 3> said;
  for (std::size_t i = 0; i < tree.pairs(); ++i) {
    const auto* word = std::find(kWords.begin(), kWords.end(), tree.key(i).text);
    if (word == kWords.end() || !tree.value(i).is_scalar()) return std::nullopt;
    said[static_cast<std::size_t>(word - kWords.begin())] = find_number(tree.value(i).text);
  }
  const auto [from, to, step] = said;
  if (!from || !to || !step || !(*step > 0) || *to < *from) return std::nullopt;
  const double steps = std::floor((*to - *from) / *step + 1e-9);  // 0.1 is not a tenth.
  if (!(steps < static_cast<double>(kMostNumbers))) return std::nullopt;
  std::vector<double> numbers;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(steps); ++i) {
    numbers.push_back(*from + static_cast<double>(i) * *step);
  }
  return numbers;
}

std::optional<std::vector<double>> find_numbers(const Form& form, const Tree& tree) {
  if (tree.is_map() && form.kind == ValueKind::numbers) return find_range(tree);
  if (tree.kind != Tree::Kind::sequence || tree.items.size() > kMostNumbers) return std::nullopt;
  std::vector<double> numbers;
  for (const Tree& item : tree.items) {
    const std::optional<double> number = item.is_scalar() ? find_number(item.text) : std::nullopt;
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// Whether the value is within the form's bounds, for the kinds that the policy does not know.
bool keeps_bounds(const Form& form, const Value& value) {
  switch (form.kind) {
    case ValueKind::number:
    case ValueKind::share:
      return is_within(form, std::get<double>(value));
    case ValueKind::name:
      return is_name(std::get<std::string>(value));
    case ValueKind::text:
      return std::get<std::string>(value).size() <= kMostText;
    case ValueKind::numbers:
    case ValueKind::wholes: {
      const auto& numbers = std::get<std::vector<double>>(value);
      return numbers.size() <= kMostNumbers &&
             std::all_of(numbers.begin(), numbers.end(), [&](double number) {
               return is_within(form, number) &&
                      (form.kind == ValueKind::numbers || is_whole(number));
             });
    }
    default:
      return true;
  }
}

std::optional<Value> find_value(const Form& form, const Tree& tree) {
  const auto from = [](auto found) -> std::optional<Value> {
    if (!found) return std::nullopt;
    return Value(*std::move(found));
  };
  if (form.kind == ValueKind::numbers || form.kind == ValueKind::wholes) {
    return from(find_numbers(form, tree));
  }
  if (!tree.is_scalar()) return std::nullopt;
  if (form.kind == ValueKind::number) return from(find_number(tree.text));
  if (form.kind == ValueKind::share) return from(find_share(tree.text));
  return Value(tree.text);
}

std::string wrong(std::string_view key, const Form& form, const std::string& value) {
  return std::string(key) + " must be " + accepted(form) + ", not " + value;
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

Expected<Value> read_value(std::string_view key, const Form& form, const Tree& tree) {
  if (const auto known = policy_key(key, form)) {
    const Expected<std::int64_t> raw = policy::read(*known, tree);
    if (!raw) return unexpected(raw.error());
    return Value(*raw);
  }
  if (form.kind == ValueKind::distribution && tree.is_scalar()) {
    Expected<Distribution> distribution = parse_distribution(tree.text);
    if (!distribution) return unexpected(std::string(key) + ": " + distribution.error());
    return Value(*distribution);
  }
  std::optional<Value> value = find_value(form, tree);
  if (!value || !keeps_bounds(form, *value)) return unexpected(wrong(key, form, shown(tree)));
  return *std::move(value);
}

std::optional<std::string> find_error(std::string_view key, const Form& form, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
  bool fine = true;
  if (policy_key(key, form)) {
    const auto raw = std::get<std::int64_t>(value);
    fine = form.off == raw || is_within(form, static_cast<double>(raw));
  } else if (form.kind == ValueKind::distribution) {
    const auto sentence = find_error(std::get<Distribution>(value));
    return sentence ? std::optional(std::string(key) + ": " + *sentence) : std::nullopt;
  } else {
    fine = keeps_bounds(form, value);
  }
  if (fine) return std::nullopt;
  return wrong(key, form, write_value(form, value));
}

std::string accepted(const Form& form) {
  if (const auto known = policy_key("", form)) return policy::accepted(*known);
  const std::string range = "from " + shown(form.low) + " to " + shown(form.high);
  switch (form.kind) {
    case ValueKind::number:
      return "a number " + range;
    case ValueKind::share:
      return (form.high > 1 ? "a number " : "a share ") + range + ", such as 0.1 or 10%";
    case ValueKind::distribution:
      return "a distribution, such as 5ms, exponential(5ms) or normal(50ms, 10ms)";
    case ValueKind::name:
      return "1 to " + std::to_string(kLongestName) + " letters, digits or . _ -";
    case ValueKind::text:
      return "a text of at most " + std::to_string(kMostText) + " characters";
    case ValueKind::numbers:
      return "a list of at most " + std::to_string(kMostNumbers) + " numbers " + range +
             ", such as [1, 2.5] or {from: 1, to: 3, step: 0.5}";
    case ValueKind::wholes:
      return "a list of at most " + std::to_string(kMostNumbers) + " whole numbers " + range +
             ", such as [0, 2]";
    default:
      return {};
  }
}

std::string write_value(const Form& form, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return "none";
  if (const auto* raw = std::get_if<std::int64_t>(&value)) return shown(form, *raw);
  if (const auto* number = std::get_if<double>(&value)) return shown(*number);
  if (const auto* distribution = std::get_if<Distribution>(&value)) return to_text(*distribution);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return text->empty() ? "none" : text::in_quotes(*text);
  }
  std::string list = "[";
  for (const double number : std::get<std::vector<double>>(value)) {
    if (list.size() > 1) list += ", ";
    list += shown(number);
  }
  return list + ']';
}

}  // namespace damper::lab
