#include "damper/base/duration_text.h"

#include <array>
#include <cstdint>

#include "damper/base/check.h"

namespace damper {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};

constexpr std::array<Unit, 6> kUnits = {{{"h", 3'600'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"s", 1'000'000'000},
                                         {"ms", 1'000'000},
                                         {"us", 1'000},
                                         {"ns", 1}}};
constexpr std::uint64_t kLongestCount = static_cast<std::uint64_t>(kLongest.count());
constexpr std::size_t kMostEchoed = 40;
constexpr const char* kUnitNames = "the units are ns, us, ms, s, m and h";
constexpr const char* kExample = "write one such as 250ms, 2s or 1.5m";

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr std::uint64_t digit(char c) { return static_cast<std::uint64_t>(c - '0'); }

// The input as an error repeats it: in quotes, escaped, and cut off with "..." when it is long.
std::string quoted(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    std::string shown(1, c);
    if (c == '"' || c == '\\') {
      shown = {'\\', c};
    } else if (c < ' ' || c > '~') {
      const auto byte = static_cast<unsigned char>(c);
      shown = {'\\', 'x', kHex[byte >> 4U], kHex[byte & 15U]};
    }
    if (out.size() + shown.size() > kMostEchoed + 1) return out + "\"...";
    out += shown;
  }
  return out + '"';
}

Unexpected<std::string> wrong(std::string_view text, const std::string& why) {
  return unexpected("duration " + quoted(text) + ' ' + why);
}

// Takes the leading digits off the text.
std::string_view take_digits(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && is_digit(text[size])) ++size;
  const std::string_view digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

}  // namespace

Expected<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return unexpected(std::string("duration is empty; ") + kExample);
  if (text == "0") return Duration{0};
  std::string_view rest = text;
  const bool negative = rest.front() == '-';
  if (negative) rest.remove_prefix(1);
  const std::string_view whole_digits = take_digits(rest);
  if (whole_digits.empty()) {
    return wrong(text, std::string("does not begin with a digit; ") + kExample);
  }
  if (negative) return wrong(text, std::string("is negative; ") + kExample);
  std::string_view fraction_digits;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    fraction_digits = take_digits(rest);
    if (fraction_digits.empty()) {
      return wrong(text, std::string("has no digit after its point; ") + kExample);
    }
  }
  if (rest.empty()) return wrong(text, std::string("has no unit; ") + kUnitNames);
  const Unit* unit = find_unit(rest);
  if (unit == nullptr) {
    return wrong(text, "has the unknown unit " + quoted(rest) + "; " + kUnitNames);
  }

  // The fraction from its last digit to its first, a division by ten at each: the sum is whole at
  // the end if and only if it is whole at every step.
  std::uint64_t total = 0;
  for (auto c = fraction_digits.rbegin(); c != fraction_digits.rend(); ++c) {
    total += digit(*c) * unit->nanoseconds;
    if (total % 10 != 0) {
      return wrong(text, "is not a whole number of nanoseconds; leave out the last decimals");
    }
    total /= 10;
  }
  const std::uint64_t most = (kLongestCount - total) / unit->nanoseconds;
  std::uint64_t whole = 0;
  for (const char c : whole_digits) {
    whole = whole * 10 + digit(c);
    if (whole > most) return wrong(text, "is over the longest, which is 720h (30 days)");
  }
  total += whole * unit->nanoseconds;
  return Duration{static_cast<std::int64_t>(total)};
}

std::string format_duration(Duration duration) {
  if (duration.count() == 0) return "0s";
  const bool negative = duration.count() < 0;
  const auto bits = static_cast<std::uint64_t>(duration.count());
  const std::uint64_t count = negative ? 0 - bits : bits;
  for (const Unit& unit : kUnits) {
    if (count < unit.nanoseconds) continue;
    const std::uint64_t remainder = count % unit.nanoseconds;
    // remainder < 3.6e12, so that the product is far from overflow.
    if (remainder * 1000 % unit.nanoseconds != 0) continue;
    const std::uint64_t thousandths = remainder * 1000 / unit.nanoseconds;
    std::string out = (negative ? "-" : "") + std::to_string(count / unit.nanoseconds);
    if (thousandths != 0) {
      out += '.' + std::to_string(1000 + thousandths).substr(1);
      while (out.back() == '0') out.pop_back();
    }
    return out.append(unit.name);
  }
  check_failed("every count is whole in ns", __FILE__, __LINE__);
}

}  // namespace damper
