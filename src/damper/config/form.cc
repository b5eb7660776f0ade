#include "damper/config/form.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "damper/base/duration_text.h"
#include "damper/base/text/plain_text.h"
#include "damper/base/text/words.h"

namespace damper::config {
namespace {

constexpr std::array<std::string_view, 2> kBooleans = {"false", "true"};
constexpr std::array<std::string_view, 3> kDenominators = {"HUNDRED", "TEN_THOUSAND", "MILLION"};
constexpr std::array<std::int64_t, 3> kDenominatorValues = {100, 10'000, 1'000'000};

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<Unit, 3> kUnits = {
    {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}};  // The largest first.
constexpr std::int64_t kMostBytesWritten = std::int64_t{1} << 40;

std::optional<std::int64_t> find_integer(std::string_view text) {
  return text::find_number<std::int64_t>(text);
}

// Digits, and a point with digits: no exponent and no hexadecimal. What is not finite is within no
// bounds.
std::optional<double> find_number(std::string_view text) {
  return text::find_number<double>(text, std::chars_format::fixed);
}

std::optional<std::int64_t> find_name(std::span<const std::string_view> names,
                                      std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return found - names.begin();
}

// "12.5" in units of 10^-decimals. Exact: a further decimal is refused, not rounded.
std::optional<std::int64_t> find_decimal(std::string_view text, std::size_t decimals) {
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  std::string part(dot == std::string_view::npos ? "0" : text.substr(dot + 1));
  if (part.empty() || part.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  while (part.size() > decimals && part.back() == '0') part.pop_back();
  if (part.size() > decimals || whole.empty() || whole.size() > 12 || whole[0] == '-') {
    return std::nullopt;
  }
  part.resize(decimals, '0');
  if (!find_integer(whole)) return std::nullopt;
  return find_integer(std::string(whole) + part);
}

std::string format_decimal(std::int64_t value, std::size_t decimals) {
  const std::int64_t unit = decimals == 2 ? 100 : 1000;
  std::string text = std::to_string(value / unit);
  if (value % unit == 0) return text;
  text += '.' + std::to_string(unit + value % unit).substr(1);
  while (text.back() == '0') text.pop_back();
  return text;
}

// "12.5", "12.5%" or {value: 12.5} in hundredths.
std::optional<std::int64_t> find_percent(const Tree& tree) {
  if (tree.is_map()) {
    const bool has_value = tree.pairs() == 1 && tree.key(0).text == "value";
    return has_value && tree.value(0).is_scalar() ? find_percent(tree.value(0)) : std::nullopt;
  }
  std::string_view text = tree.text;
  if (text.ends_with('%')) text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return tree.is_scalar() ? find_decimal(text, 2) : std::nullopt;
}

// {numerator: 5, denominator: HUNDRED} in hundredths of a percent; a plain percentage is one too.
std::optional<std::int64_t> find_chance(const Tree& tree) {
  if (!tree.is_map()) return find_percent(tree);
  std::optional<std::int64_t> numerator;
  std::optional<std::int64_t> denominator = 0;  // Envoy's default: HUNDRED.
  for (std::size_t i = 0; i < tree.pairs(); ++i) {
    const std::string_view key = tree.key(i).text;
    if (key == "numerator") {
      numerator = find_integer(tree.value(i).text);
    } else if (key == "denominator") {
      denominator = find_name(kDenominators, tree.value(i).text);
    } else {
      return std::nullopt;
    }
  }
  if (!numerator || !denominator || *numerator < 0 || *numerator > 1'000'000) return std::nullopt;
  const std::int64_t parts = *numerator * Percent::kDenominator;
  const std::int64_t whole = kDenominatorValues[static_cast<std::size_t>(*denominator)];
  if (parts % whole != 0) return std::nullopt;
  return parts / whole;
}

// "4096", "64KiB".
std::optional<std::int64_t> find_bytes(std::string_view text) {
  std::int64_t unit = 1;
  for (const Unit& one : kUnits) {
    if (!text.ends_with(one.name)) continue;
    unit = one.bytes;
    text.remove_suffix(one.name.size());
    if (text.ends_with(' ')) text.remove_suffix(1);
    break;
  }
  const std::optional<std::int64_t> count = find_integer(text);
  if (!count || *count < 0 || *count > kMostBytesWritten / unit) return std::nullopt;
  return *count * unit;
}

std::string format_bytes(std::int64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes >= unit.bytes && bytes % unit.bytes == 0) {
      return std::to_string(bytes / unit.bytes) + std::string(unit.name);
    }
  }
  return std::to_string(bytes);
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

// {from: 100, to: 300, step: 50}, all three, as the numbers of the range.
std::optional<std::vector<double>> find_range(const Tree& tree) {
  constexpr std::array<std::string_view, 3> kWords = {"from", "to", "step"};
  std::array<std::optional<double>, 3> given;
  for (std::size_t i = 0; i < tree.pairs(); ++i) {
    const auto word = find_name(kWords, tree.key(i).text);
    if (!word || !tree.value(i).is_scalar()) return std::nullopt;
    given[static_cast<std::size_t>(*word)] = find_number(tree.value(i).text);
  }
  const auto [from, to, step] = given;
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
  if (tree.is_map() && form.kind == Kind::numbers) return find_range(tree);
  if (tree.kind != Tree::Kind::sequence || tree.items.size() > kMostNumbers) return std::nullopt;
  std::vector<double> numbers;
  for (const Tree& item : tree.items) {
    const std::optional<double> number = item.is_scalar() ? find_number(item.text) : std::nullopt;
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::string shown(const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::null: return "nothing";
    case Tree::Kind::scalar: return text::in_quotes(tree.text);
    case Tree::Kind::sequence: return tree.items.empty() ? "an empty list" : "a list";
    case Tree::Kind::map: return "a map";
  }
  return {};
}

Unexpected<Error> wrong(std::string_view key, const std::string& accepted, const Tree& tree,
                        const std::string& why = {}) {
  return unexpected(Error{{},
                          tree.place,
                          text::on_one_line(key) + " must be " + accepted + ", not " + shown(tree) +
                              (why.empty() ? "" : ": " + why)});
}

bool is_within(const Form& form, double value) { return value >= form.low && value <= form.high; }

// Whether the value is within the bounds of a form that has no text.
bool is_accepted(const Form& form, const Value& value) {
  if (const auto* raw = std::get_if<std::int64_t>(&value)) {
    return form.off == *raw || is_within(form, static_cast<double>(*raw));
  }
  if (const auto* number = std::get_if<double>(&value)) return is_within(form, *number);
  const auto& numbers = std::get<std::vector<double>>(value);
  return numbers.size() <= kMostNumbers &&
         std::all_of(numbers.begin(), numbers.end(), [&](double number) {
           return is_within(form, number) &&
                  (form.kind == Kind::numbers || number == std::floor(number));
         });
}

// The item of a list because of which it is refused, or else the list.
const Tree& culprit(const Form& form, const Tree& tree) {
  const bool is_list = form.kind == Kind::numbers || form.kind == Kind::wholes;
  if (!is_list || tree.kind != Tree::Kind::sequence || tree.items.size() > kMostNumbers) {
    return tree;
  }
  const auto found = std::find_if(tree.items.begin(), tree.items.end(), [&](const Tree& item) {
    const std::optional<double> number = item.is_scalar() ? find_number(item.text) : std::nullopt;
    return !number || !is_accepted(form, Value(std::vector<double>{*number}));
  });
  return found == tree.items.end() ? tree : *found;
}

Expected<std::string> parse_text(const Form& form, std::string_view text) {
  if (form.parse != nullptr) return form.parse(text);
  if (text.size() > kMostText) return unexpected(std::string());
  return std::string(text);
}

Expected<std::string, Error> read_text(std::string_view key, const Form& form, const Tree& tree) {
  const std::string one(form.kind == Kind::text ? accepted(form) : form.accepted);
  if (!tree.is_scalar()) return wrong(key, one, tree);
  Expected<std::string> text = parse_text(form, tree.text);
  if (!text) return wrong(key, one, tree, text.error());
  return *std::move(text);
}

Expected<Value, Error> read_texts(std::string_view key, const Form& form, const Tree& tree) {
  const bool is_list = tree.kind == Tree::Kind::sequence;
  const std::size_t count = is_list ? tree.items.size() : 1;
  if ((!is_list && !tree.is_scalar()) || count < form.fewest || count > form.most) {
    Unexpected<Error> error = wrong(key, accepted(form), tree);
    if (count > form.most) error.error.sentence += " of " + std::to_string(count);
    return error;
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    auto text = read_text(key, form, is_list ? tree.items[i] : tree);
    if (!text) return unexpected(text.error());
    texts.push_back(*std::move(text));
  }
  return Value(std::move(texts));
}

Expected<Value, Error> read_tokens(std::string_view key, const Form& form, const Tree& tree) {
  std::vector<std::string_view> words;
  if (tree.is_scalar()) {
    words = text::split(tree.text);
    std::erase(words, "");
  } else if (tree.kind == Tree::Kind::sequence) {
    for (const Tree& item : tree.items) {
      if (!item.is_scalar()) return wrong(key, accepted(form), tree);
      words.push_back(item.text);
    }
  } else {
    return wrong(key, accepted(form), tree);
  }
  std::int64_t tokens = 0;
  for (const std::string_view word : words) {
    const std::optional<std::int64_t> index = find_name(form.names, word);
    if (!index) {
      return unexpected(Error{{},
                              tree.place,
                              std::string(key) + " has no word " + text::in_quotes(word) +
                                  text::suggestion(word, form.names) +
                                  " (accepted: " + text::joined(form.names) + ")"});
    }
    tokens |= std::int64_t{1} << *index;
  }
  if (words.size() < form.fewest) return wrong(key, accepted(form), tree);
  return Value(tokens);
}

std::optional<Value> find_value(const Form& form, const Tree& tree) {
  const auto from = [](auto found) -> std::optional<Value> {
    if (!found) return std::nullopt;
    return Value(*std::move(found));
  };
  if (form.kind == Kind::percent) return from(find_percent(tree));
  if (form.kind == Kind::chance) return from(find_chance(tree));
  if (form.kind == Kind::numbers || form.kind == Kind::wholes) {
    return from(find_numbers(form, tree));
  }
  if (!tree.is_scalar()) return std::nullopt;
  switch (form.kind) {
    case Kind::integer: return from(find_integer(tree.text));
    case Kind::bytes: return from(find_bytes(tree.text));
    case Kind::rate: return from(find_decimal(tree.text, 3));
    case Kind::boolean: return from(find_name(kBooleans, tree.text));
    case Kind::choice: return from(find_name(form.names, tree.text));
    case Kind::number: return from(find_number(tree.text));
    case Kind::share: return from(find_share(tree.text));
    case Kind::duration:
      if (const Expected<Duration> duration = parse_duration(tree.text)) {
        return Value(std::int64_t{duration->count()});
      }
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::string write_raw(const Form& form, std::int64_t raw) {
  const auto named = [&](std::span<const std::string_view> names) {
    const bool known = raw >= 0 && raw < std::ssize(names);
    return known ? std::string(names[static_cast<std::size_t>(raw)]) : std::to_string(raw);
  };
  switch (form.kind) {
    case Kind::duration: return format_duration(Duration{raw});
    case Kind::percent: return format_decimal(raw, 2);
    case Kind::bytes: return format_bytes(raw);
    case Kind::rate: return format_decimal(raw, 3);
    case Kind::boolean: return named(kBooleans);
    case Kind::choice: return named(form.names);
    case Kind::chance:
      return "{ numerator: " + std::to_string(raw) + ", denominator: TEN_THOUSAND }";
    case Kind::tokens: {
      std::vector<std::string_view> words;
      for (std::size_t i = 0; i < form.names.size(); ++i) {
        if ((raw >> i & 1) != 0) words.push_back(form.names[i]);
      }
      return '"' + text::joined(words) + '"';
    }
    default: return std::to_string(raw);
  }
}

template <class Items, class Write>
std::string write_list(const Items& items, Write write) {
  std::string text = "[";
  for (const auto& item : items) text += (text.size() > 1 ? ", " : "") + write(item);
  return text + ']';
}

std::string bound_text(const Form& form, double bound) {
  const bool is_number = form.kind == Kind::number || form.kind == Kind::share ||
                         form.kind == Kind::numbers || form.kind == Kind::wholes;
  return is_number ? text::decimal_text(bound) : write_raw(form, static_cast<std::int64_t>(bound));
}

}  // namespace

Expected<Value, Error> read_value(std::string_view key, const Form& form, const Tree& tree) {
  if (form.kind == Kind::custom) return form.read(tree);
  if (form.kind == Kind::tokens) return read_tokens(key, form, tree);
  if (form.kind == Kind::texts) return read_texts(key, form, tree);
  if (form.kind == Kind::text) {
    auto text = read_text(key, form, tree);
    if (!text) return unexpected(text.error());
    return Value(*std::move(text));
  }
  if (form.off && tree.is_scalar() && tree.text == form.off_word) return Value(*form.off);
  std::optional<Value> value = find_value(form, tree);
  const bool is_off = value && form.off && *value == Value(*form.off);
  if (!value || !is_accepted(form, *value) ||
      (is_off && !is_within(form, static_cast<double>(*form.off)))) {
    Unexpected<Error> error = wrong(key, accepted(form), culprit(form, tree));
    if (tree.is_scalar()) error.error.sentence += text::suggestion(tree.text, form.names);
    return error;
  }
  return *std::move(value);
}

std::optional<std::string> find_error(std::string_view key, const Form& form, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
  if (form.kind == Kind::texts || form.kind == Kind::custom) return std::nullopt;
  const std::string must = std::string(key) + " must be " + accepted(form) + ", not ";
  if (const auto* text = std::get_if<std::string>(&value)) {
    const Expected<std::string> parsed = parse_text(form, *text);
    if (parsed) return std::nullopt;
    return must + text::in_quotes(*text) + (parsed.error().empty() ? "" : ": " + parsed.error());
  }
  if (is_accepted(form, value)) return std::nullopt;
  return must + write_value(form, value);
}

std::string accepted(const Form& form) {
  const std::string low = bound_text(form, form.low);
  const std::string range = "from " + low + " to " + bound_text(form, form.high);
  const std::string or_off = form.off ? ", or " + std::string(form.off_word) : "";
  switch (form.kind) {
    case Kind::duration: return "a duration " + range + or_off + ", such as 250ms, 2s or 1.5m";
    case Kind::percent: return "a percentage " + range + " with at most two decimals";
    case Kind::integer: return (form.low == form.high ? low : "a whole number " + range) + or_off;
    case Kind::bytes:
      return "a number of bytes " + range + or_off + ", such as 4096, 64KiB or 1MiB";
    case Kind::rate: return "a number " + range + or_off + ", with at most three decimals";
    case Kind::boolean: return form.low == form.high ? low : "true or false";
    case Kind::choice: return "one of " + text::joined(form.names);
    case Kind::chance:
      return "{numerator: N, denominator: HUNDRED, TEN_THOUSAND or MILLION} from 0 to 100 % in "
             "steps of 0.01 %";
    case Kind::tokens:
      return (form.fewest > 0 ? "a list of one or more of " : "a list of ") +
             text::joined(form.names);
    case Kind::number: return "a number " + range;
    case Kind::share:
      return (form.high > 1 ? "a number " : "a share ") + range + ", such as 0.1 or 10%";
    case Kind::text:
      return form.accepted.empty()
                 ? "a text of at most " + std::to_string(kMostText) + " characters"
                 : std::string(form.accepted);
    case Kind::texts:
      return "a list of " + (form.fewest == 0 ? "at most " : std::to_string(form.fewest) + " to ") +
             std::to_string(form.most) + ", each " + std::string(form.accepted);
    case Kind::numbers:
      return "a list of at most " + std::to_string(kMostNumbers) + " numbers " + range +
             ", such as [1, 2.5] or {from: 1, to: 3, step: 0.5}";
    case Kind::wholes:
      if (!form.accepted.empty()) return "a list of " + std::string(form.accepted) + ' ' + range;
      return "a list of at most " + std::to_string(kMostNumbers) + " whole numbers " + range +
             ", such as [0, 2]";
    case Kind::custom: return std::string(form.accepted);
  }
  return {};
}

std::string write_value(const Form& form, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return {};
  if (form.write != nullptr) return form.write(value);
  if (const auto* raw = std::get_if<std::int64_t>(&value)) {
    return form.off == *raw ? std::string(form.off_word) : write_raw(form, *raw);
  }
  if (const auto* number = std::get_if<double>(&value)) return text::decimal_text(*number);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return text->empty() ? std::string() : quoted(*text);
  }
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    return texts->empty() && form.fewest > 0 ? std::string() : write_list(*texts, quoted);
  }
  return write_list(std::get<std::vector<double>>(value), text::decimal_text);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace damper::config
