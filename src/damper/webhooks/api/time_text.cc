#include "damper/webhooks/api/time_text.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "damper/base/text/words.h"

namespace damper::webhooks {
namespace {

void append(std::string& out, std::int64_t number, std::size_t digits) {
  const std::string text = std::to_string(number);
  if (text.size() < digits) out.append(digits - text.size(), '0');
  out += text;
}

// The number of exactly these digits, of at most `most`.
[[nodiscard]] std::optional<unsigned> cut(std::string_view& text, std::size_t digits,
                                          unsigned most) {
  if (text.size() < digits) return std::nullopt;
  const auto part = text.substr(0, digits);
  if (part.find_first_not_of("0123456789") != part.npos) return std::nullopt;
  text.remove_prefix(digits);
  const auto number = text::find_number<unsigned>(part);
  return number && *number <= most ? number : std::nullopt;
}
[[nodiscard]] bool cut(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

[[nodiscard]] std::optional<UnixTime> find_time(std::string_view text) {
  const auto year = cut(text, 4, 9999);
  if (!year || !cut(text, '-')) return std::nullopt;
  const auto month = cut(text, 2, 12);
  if (!month || !cut(text, '-')) return std::nullopt;
  const auto day = cut(text, 2, 31);
  if (!day || !cut(text, 'T')) return std::nullopt;
  const auto hour = cut(text, 2, 23);
  if (!hour || !cut(text, ':')) return std::nullopt;
  const auto minute = cut(text, 2, 59);
  if (!minute || !cut(text, ':')) return std::nullopt;
  const auto second = cut(text, 2, 59);
  if (!second) return std::nullopt;
  unsigned milliseconds = 0;
  if (cut(text, '.')) {
    const std::size_t digits = text.find('Z');
    if (digits == 0 || digits > 3) return std::nullopt;
    const auto fraction = cut(text, digits, 999);
    if (!fraction) return std::nullopt;
    milliseconds = *fraction * (digits == 1 ? 100 : digits == 2 ? 10 : 1);
  }
  if (text != "Z") return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok() || *year < 1970) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second) + std::chrono::milliseconds(milliseconds);
}

}  // namespace

std::string time_text(UnixTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::int64_t rest = (time - day).count();
  std::string text;
  append(text, static_cast<int>(date.year()), 4);
  text += '-';
  append(text, static_cast<unsigned>(date.month()), 2);
  text += '-';
  append(text, static_cast<unsigned>(date.day()), 2);
  text += 'T';
  append(text, rest / 3'600'000, 2);
  text += ':';
  append(text, rest / 60'000 % 60, 2);
  text += ':';
  append(text, rest / 1000 % 60, 2);
  text += '.';
  append(text, rest % 1000, 3);
  text += 'Z';
  return text;
}

Expected<UnixTime> parse_time(std::string_view text) {
  if (const auto time = find_time(text)) return *time;
  return unexpected(text::in_quotes(text) + " is not a time such as 2026-11-16T20:15:00Z");
}

}  // namespace damper::webhooks
