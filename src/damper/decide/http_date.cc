#include "damper/decide/http_date.h"

#include <array>

namespace damper::decide {
namespace {

using std::chrono::day;
using std::chrono::floor;
using std::chrono::month;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year;
using std::chrono::year_month_day;

constexpr std::array<std::string_view, 7> kDays = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
constexpr std::array<std::string_view, 7> kLongDays = {
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// Takes the parts of a date off the front of a text; once one is missing, nothing more is found.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : rest_(text) {}

  [[nodiscard]] bool done() const noexcept { return ok_ && rest_.empty(); }

  void literal(std::string_view text) noexcept {
    ok_ = ok_ && rest_.substr(0, text.size()) == text;
    if (ok_) rest_.remove_prefix(text.size());
  }

  // Exactly `width` digits.
  int number(std::size_t width) noexcept {
    ok_ = ok_ && rest_.size() >= width;
    int value = 0;
    for (std::size_t i = 0; ok_ && i < width; ++i) {
      ok_ = rest_[i] >= '0' && rest_[i] <= '9';
      value = value * 10 + (rest_[i] - '0');
    }
    if (ok_) rest_.remove_prefix(width);
    return ok_ ? value : 0;
  }

  // Which of the names comes next, from 1. No name begins with another one of its list.
  template <std::size_t N>
  unsigned one_of(const std::array<std::string_view, N>& names) noexcept {
    for (std::size_t i = 0; ok_ && i < N; ++i) {
      if (rest_.substr(0, names[i].size()) != names[i]) continue;
      rest_.remove_prefix(names[i].size());
      return static_cast<unsigned>(i + 1);
    }
    ok_ = false;
    return 0;
  }

  // The day of asctime: two digits, or a space and one.
  int padded_day() noexcept {
    if (rest_.substr(0, 1) != " ") return number(2);
    literal(" ");
    return number(1);
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct Parts {
  int year = 0;
  unsigned month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

void scan_time(Scanner& scan, Parts& parts) noexcept {
  parts.hour = scan.number(2);
  scan.literal(":");
  parts.minute = scan.number(2);
  scan.literal(":");
  parts.second = scan.number(2);
}

// Sun, 06 Nov 1994 08:49:37 GMT, and the same with "Sunday" and "06-Nov-94" (RFC 850).
template <std::size_t N>
bool scan_gmt(std::string_view text, const std::array<std::string_view, N>& days,
              std::string_view separator, std::size_t year_digits, Parts& parts) noexcept {
  Scanner scan(text);
  scan.one_of(days);
  scan.literal(", ");
  parts.day = scan.number(2);
  scan.literal(separator);
  parts.month = scan.one_of(kMonths);
  scan.literal(separator);
  parts.year = scan.number(year_digits);
  scan.literal(" ");
  scan_time(scan, parts);
  scan.literal(" GMT");
  return scan.done();
}

bool scan_asctime(std::string_view text, Parts& parts) noexcept {
  Scanner scan(text);
  scan.one_of(kDays);
  scan.literal(" ");
  parts.month = scan.one_of(kMonths);
  scan.literal(" ");
  parts.day = scan.padded_day();
  scan.literal(" ");
  scan_time(scan, parts);
  scan.literal(" ");
  parts.year = scan.number(4);
  return scan.done();
}

std::optional<sys_seconds> find_time(const Parts& parts) noexcept {
  const year_month_day date(year(parts.year), month(parts.month),
                            day(static_cast<unsigned>(parts.day)));
  if (!date.ok() || parts.hour > 23 || parts.minute > 59 || parts.second > 60) return std::nullopt;
  return sys_days(date) + std::chrono::hours(parts.hour) + std::chrono::minutes(parts.minute) +
         std::chrono::seconds(parts.second);
}

std::optional<sys_seconds> find_in_century(Parts parts, UnixTime now) noexcept {
  const sys_days today = floor<std::chrono::days>(now);
  const year_month_day date(today);
  const sys_seconds latest =
      sys_days(date + std::chrono::years(50)) + floor<std::chrono::seconds>(now - today);
  const int century = static_cast<int>(date.year()) / 100 * 100;
  const int two_digits = parts.year;
  for (const int shift : {100, 0, -100}) {
    parts.year = century + shift + two_digits;
    const std::optional<sys_seconds> time = find_time(parts);
    if (time && *time <= latest) return time;
  }
  return std::nullopt;
}

}  // namespace

std::optional<sys_seconds> find_http_date(std::string_view text, UnixTime now) noexcept {
  Parts parts;
  if (scan_gmt(text, kDays, " ", 4, parts) || scan_asctime(text, parts)) return find_time(parts);
  if (scan_gmt(text, kLongDays, "-", 2, parts)) return find_in_century(parts, now);
  return std::nullopt;
}

}  // namespace damper::decide
