// The schema's values: from YAML to raw values within their bounds, and back.
#include "damper/policy/file/schema.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "damper/base/duration_text.h"
#include "damper/base/text/words.h"

namespace damper::policy {
namespace {

constexpr std::array<std::string_view, 2> kBooleans = {"false", "true"};
constexpr std::array<std::string_view, 3> kDenominators = {"HUNDRED", "TEN_THOUSAND", "MILLION"};
constexpr std::array<std::int64_t, 3> kDenominatorValues = {100, 10'000, 1'000'000};

std::optional<std::int64_t> find_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<std::int64_t> find_name(std::span<const std::string_view> names,
                                      std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<std::int64_t>(i);
  }
  return std::nullopt;
}

// "12.5" or "12.5%" in hundredths. Exact: what a third decimal would say is refused, not rounded.
std::optional<std::int64_t> find_percent(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  std::string_view decimals = dot == std::string_view::npos ? "0" : text.substr(dot + 1);
  if (decimals.empty() || decimals.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  while (decimals.size() > 2 && decimals.ends_with('0')) decimals.remove_suffix(1);
  if (decimals.size() > 2 || whole.empty() || whole.size() > 9 || whole[0] == '-') {
    return std::nullopt;
  }
  const std::optional<std::int64_t> units = find_integer(whole);
  const std::optional<std::int64_t> parts = find_integer(decimals);
  if (!units || !parts) return std::nullopt;
  return *units * 100 + (decimals.size() == 1 ? *parts * 10 : *parts);
}

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<Unit, 3> kUnits = {
    {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}};  // The largest first.
constexpr std::int64_t kMostBytesSaid = std::int64_t{1} << 40;

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
  if (!count || *count < 0 || *count > kMostBytesSaid / unit) return std::nullopt;
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

// "12.5" in thousandths; a fourth decimal is refused, not rounded.
std::optional<std::int64_t> find_rate(std::string_view text) {
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  std::string decimals(dot == std::string_view::npos ? "0" : text.substr(dot + 1));
  if (decimals.empty() || decimals.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  while (decimals.size() > 3 && decimals.back() == '0') decimals.pop_back();
  if (decimals.size() > 3 || whole.empty() || whole.size() > 12 || whole[0] == '-') {
    return std::nullopt;
  }
  decimals.resize(3, '0');
  const std::optional<std::int64_t> units = find_integer(whole);
  const std::optional<std::int64_t> parts = find_integer(decimals);
  if (!units || !parts) return std::nullopt;
  return *units * 1000 + *parts;
}

std::string format_rate(std::int64_t thousandths) {
  std::string text = std::to_string(thousandths / 1000);
  if (thousandths % 1000 == 0) return text;
  text += '.' + std::to_string(1000 + thousandths % 1000).substr(1);
  while (text.back() == '0') text.pop_back();
  return text;
}

// The value of the only key of a map, such as {value: 20.0}; null when it is not such a map.
const config::Tree* only(const config::Tree& tree, std::string_view key) {
  return tree.is_map() && tree.pairs() == 1 && tree.key(0).text == key ? &tree.value(0) : nullptr;
}

std::optional<std::int64_t> find_percent(const config::Tree& tree) {
  if (tree.is_scalar()) return find_percent(tree.text);
  const config::Tree* value = only(tree, "value");
  return value != nullptr && value->is_scalar() ? find_percent(value->text) : std::nullopt;
}

// {numerator: 5, denominator: HUNDRED} in hundredths of a percent; a plain percentage is one too.
std::optional<std::int64_t> find_chance(const config::Tree& tree) {
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

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

std::string shown(const config::Tree& value) {
  switch (value.kind) {
    case config::Tree::Kind::null:
      return "nothing";
    case config::Tree::Kind::scalar:
      return text::in_quotes(value.text);
    case config::Tree::Kind::sequence:
      return "a list";
    case config::Tree::Kind::map:
      return "this map";
  }
  return {};
}

Unexpected<std::string> wrong(const Key& key, const config::Tree& value) {
  return unexpected(std::string(leaf(key.path)) + " must be " + accepted(key) + ", not " +
                    shown(value) +
                    (value.is_scalar() ? text::suggestion(value.text, key.names) : std::string()));
}

Expected<std::int64_t> read_tokens(const Key& key, const config::Tree& value) {
  std::vector<std::string_view> words;
  if (value.is_scalar()) {
    words = split(value.text);
  } else if (value.kind == config::Tree::Kind::sequence) {
    for (const config::Tree& item : value.items) {
      if (!item.is_scalar()) return wrong(key, value);
      words.push_back(item.text);
    }
  } else {
    return wrong(key, value);
  }
  std::int64_t tokens = 0;
  for (const std::string_view word : words) {
    const std::optional<std::int64_t> index = find_name(key.names, word);
    if (!index) {
      return unexpected(std::string(leaf(key.path)) + " has no word " + text::in_quotes(word) +
                        text::suggestion(word, key.names) +
                        " (accepted: " + text::joined(key.names) + ")");
    }
    tokens |= std::int64_t{1} << *index;
  }
  return tokens;
}

std::optional<std::int64_t> find_raw(const Key& key, const config::Tree& value) {
  if (key.kind == Kind::percent) return find_percent(value);
  if (key.kind == Kind::chance) return find_chance(value);
  if (!value.is_scalar()) return std::nullopt;
  switch (key.kind) {
    case Kind::integer:
      return find_integer(value.text);
    case Kind::bytes:
      return find_bytes(value.text);
    case Kind::rate:
      return find_rate(value.text);
    case Kind::boolean:
      return find_name(kBooleans, value.text);
    case Kind::choice:
      return find_name(key.names, value.text);
    case Kind::duration:
      if (const Expected<Duration> duration = parse_duration(value.text)) return duration->count();
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::string format_percent(std::int64_t hundredths) {
  std::string text = std::to_string(hundredths / 100);
  if (hundredths % 100 == 0) return text;
  text += '.';
  text += static_cast<char>('0' + hundredths / 10 % 10);
  if (hundredths % 10 != 0) text += static_cast<char>('0' + hundredths % 10);
  return text;
}

std::string write_tokens(const Key& key, std::int64_t tokens) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < key.names.size(); ++i) {
    if ((tokens >> i & 1) != 0) words.push_back(key.names[i]);
  }
  return '"' + text::joined(words) + '"';
}

std::string write_statuses(const RetryOn::Statuses& statuses) {
  std::string text = "[";
  for (std::size_t status = 0; status < statuses.size(); ++status) {
    if (!statuses[status]) continue;
    if (text.size() > 1) text += ", ";
    text += std::to_string(status);
  }
  return text + ']';
}

// Quoted, since a name such as `null` or `1.0` is a string here.
std::string write_routes(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) {
    if (text.size() > 1) text += ", ";
    text += '"' + name + '"';
  }
  return text + ']';
}

std::string format(const Key& key, std::int64_t raw) {
  switch (key.kind) {
    case Kind::duration:
      return format_duration(Duration{raw});
    case Kind::percent:
      return format_percent(raw);
    case Kind::integer:
    case Kind::statuses:
    case Kind::routes:
      return std::to_string(raw);
    case Kind::bytes:
      return format_bytes(raw);
    case Kind::rate:
      return format_rate(raw);
    case Kind::boolean:
      return std::string(kBooleans[static_cast<std::size_t>(raw)]);
    case Kind::choice:
      return std::string(key.names[static_cast<std::size_t>(raw)]);
    case Kind::chance:
      return "{ numerator: " + std::to_string(raw) + ", denominator: TEN_THOUSAND }";
    case Kind::tokens:
      return write_tokens(key, raw);
  }
  return {};
}

}  // namespace

Expected<std::int64_t> read(const Key& key, const config::Tree& value) {
  if (key.kind == Kind::tokens) return read_tokens(key, value);
  if (key.off && value.is_scalar() && value.text == key.off_word) return *key.off;
  const std::optional<std::int64_t> raw = find_raw(key, value);
  if (!raw || *raw < key.low || *raw > key.high) return wrong(key, value);
  return *raw;
}

Expected<RetryOn::Statuses> read_statuses(const Key& key, const config::Tree& value) {
  if (value.kind != config::Tree::Kind::sequence) return wrong(key, value);
  RetryOn::Statuses statuses;
  for (const config::Tree& item : value.items) {
    const std::optional<std::int64_t> status = find_integer(item.text);
    if (!status || *status < key.low || *status > key.high) return wrong(key, item);
    statuses.set(static_cast<std::size_t>(*status));
  }
  return statuses;
}

Expected<std::vector<std::string>> read_routes(const Key& key, const config::Tree& value) {
  if (value.kind != config::Tree::Kind::sequence || value.items.size() > kMostCalls) {
    return wrong(key, value);
  }
  std::vector<std::string> names;
  for (const config::Tree& item : value.items) {
    if (!is_route_name(item.text)) return wrong(key, item);
    names.push_back(item.text);
  }
  return names;
}

bool is_route_name(std::string_view text) {
  constexpr std::string_view kOthers = "._-/:";
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  kOthers.find(c) != std::string_view::npos;
         });
}

std::string write(const Key& key, const Settings& settings) {
  if (key.kind == Kind::statuses) return write_statuses(settings.retry_on.statuses());
  if (key.kind == Kind::routes) return write_routes(settings.facts->calls);
  return write_raw(key, key.get(settings));
}

std::string write_raw(const Key& key, std::int64_t raw) {
  return key.off == raw ? std::string(key.off_word) : format(key, raw);
}

std::string accepted(const Key& key) {
  const std::string low = format(key, key.low);
  const std::string high = format(key, key.high);
  const std::string range = "from " + low + " to " + high;
  const std::string or_off = key.off ? ", or " + std::string(key.off_word) : "";
  switch (key.kind) {
    case Kind::duration:
      return "a duration " + range + or_off + ", such as 250ms, 2s or 1.5m";
    case Kind::percent:
      return "a percentage " + range + " with at most two decimals";
    case Kind::integer:
      return (key.low == key.high ? low : "a whole number " + range) + or_off;
    case Kind::bytes:
      return "a number of bytes " + range + or_off + ", such as 4096, 64KiB or 1MiB";
    case Kind::rate:
      return "a number " + range + or_off + ", with at most three decimals";
    case Kind::boolean:
      return key.low == key.high ? low : "true or false";
    case Kind::choice:
      return "one of " + text::joined(key.names);
    case Kind::chance:
      return "{numerator: N, denominator: HUNDRED, TEN_THOUSAND or MILLION} from 0 to 100 % in "
             "steps of 0.01 %";
    case Kind::tokens:
      return "a list of " + text::joined(key.names);
    case Kind::statuses:
      return "a list of HTTP statuses " + range;
    case Kind::routes:
      return "a list of at most " + std::to_string(kMostCalls) + " names of routes";
  }
  return {};
}

}  // namespace damper::policy
