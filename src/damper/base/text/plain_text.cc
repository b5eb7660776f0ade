#include "damper/base/text/plain_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "damper/base/check.h"
#include "damper/base/text/utf8.h"

namespace damper::text {
namespace {

// Removes the text up to and including `special`, and returns it without `special`.
std::string_view take_until(std::string_view& text, char special) {
  const std::size_t end = std::min(text.find(special), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

void without_zeros(std::string& number) {
  if (number.find('.') == std::string::npos) return;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  while (true) {
    const bool quoted = text.find('"') != std::string_view::npos;
    append_escaped(out, take_until(text, '"'), kUncut);
    if (!quoted) break;
    out += '"';
  }
  if (out.size() <= most) return out;
  std::size_t end = 0;
  while (true) {
    const std::size_t next = end + utf8_length(std::string_view(out).substr(end));
    if (next + 3 > most) break;
    end = next;
  }
  out.resize(end);
  out += "...";
  return out;
}

std::size_t text_width(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // not a continuation byte
  }));
}

std::string padded_left(std::string_view text, std::size_t width) {
  const std::size_t wide = text_width(text);
  return std::string(wide < width ? width - wide : 0, ' ').append(text);
}

std::string padded_right(std::string_view text, std::size_t width) {
  const std::size_t wide = text_width(text);
  return std::string(text).append(wide < width ? width - wide : 0, ' ');
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  constexpr std::string_view kSpaces = " \t\r\n";
  std::vector<std::string> lines;
  std::string line;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
    if (text.empty()) break;
    const std::size_t end = std::min(text.find_first_of(kSpaces), text.size());
    const std::string word = printable(text.substr(0, end));
    text.remove_prefix(end);
    if (!line.empty() && text_width(line) + 1 + text_width(word) > width) {
      lines.push_back(line);
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > sign + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string for_people(double number) {
  if (std::isnan(number)) return "-";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  const double size = std::abs(number);
  if (size >= 1e15) return for_programs(number, "");
  if (size >= 99.95)
    return with_commas(static_cast<std::int64_t>(number + (number > 0 ? .5 : -.5)));
  int decimals = size >= 9.995 ? 1 : 2;
  for (double limit = 0.9995; size > 0 && size < limit && decimals < 9; limit /= 10) ++decimals;
  std::string text = fixed_text(number, decimals);
  without_zeros(text);
  if (text == "-0") text.erase(0, 1);
  return text;
}

std::string compact(double number) {
  if (number < 9999.5) {
    std::string text = for_people(number);
    std::erase(text, ',');
    return text.size() > 4 ? text.substr(0, 4) : text;
  }
  for (const char unit : {'k', 'M', 'G', 'T', 'P'}) {
    number /= 1000;
    if (number < 999.5) return fixed_text(number, number < 9.95 ? 1 : 0) + unit;
  }
  return "huge";
}

std::string for_programs(double number, std::string_view none) {
  if (!std::isfinite(number)) return std::string(none);
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

std::string decimal_text(double number) {
  std::array<char, 400> buffer{};  // The longest double without an exponent has 309 digits.
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed);
  return error == std::errc() ? std::string(buffer.data(), end) : "?";
}

std::string html_text(std::string_view text) {
  std::string out;
  while (true) {
    const bool last = text.find('\n') == std::string_view::npos;
    for (const char c : printable(take_until(text, '\n'), kUncut)) {
      switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\'': out += "&#39;"; break;
        default: out += c;
      }
    }
    if (last) return out;
    out += '\n';
  }
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out += '"';
}

std::string fixed_text(double x, int decimals) {
  DAMPER_CHECK(0 <= decimals && decimals <= 9);
  std::array<char, 330> buffer{};  // The largest double has 309 digits before its point.
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x,
                                          std::chars_format::fixed, decimals);
  DAMPER_CHECK(error == std::errc());
  std::string text(buffer.data(), end);
  // A number that rounds to zero has no sign.
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

}  // namespace damper::text
