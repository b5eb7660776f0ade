#include "damper/observe/event_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "damper/base/duration_text.h"
#include "damper/base/text/utf8.h"

namespace damper::observe {
namespace {

// Bounds of the escaped text: they keep a line under kLongestEventText.
constexpr std::size_t kLongestKey = 256;
constexpr std::size_t kLongestDetail = 512;

// Builds one line in either format.
class Line {
 public:
  Line(std::string& out, LogFormat format) : out_(out), json_(format == LogFormat::json) {
    if (json_) out_ += '{';
  }

  void text(std::string_view name, std::string_view value, std::size_t most) {
    begin(name);
    if (!json_ && is_bare(value) && value.size() <= most) {
      out_ += value;
      return;
    }
    out_ += '"';
    text::append_escaped(out_, value, most);
    out_ += '"';
  }
  void word(std::string_view name, std::string_view value) { text(name, value, kLongestKey); }
  void number(std::string_view name, std::int64_t value) {
    begin(name);
    std::array<char, 24> digits{};
    char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out_.append(digits.data(), end);
  }
  void end() {
    if (json_) out_ += '}';
  }

 private:
  // Whether logfmt needs no quotes: printable ASCII without separators and quotes.
  static bool is_bare(std::string_view value) {
    return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
      return c > ' ' && c < '\x7f' && c != '"' && c != '=' && c != '\\';
    });
  }
  void begin(std::string_view name) {
    if (!first_) out_ += json_ ? ',' : ' ';
    first_ = false;
    if (json_) out_ += '"';
    out_ += name;
    out_ += json_ ? "\":" : "=";
  }

  std::string& out_;
  const bool json_;
  bool first_ = true;
};

// 2026-11-15T02:13:07.123Z
std::string_view format(std::chrono::system_clock::time_point time, std::array<char, 32>& buffer) {
  using std::chrono::floor;
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<std::chrono::milliseconds>(time) - day);
  char* end = buffer.data();
  const auto digits = [&end](std::int64_t value, int count) {
    for (int i = count - 1; i >= 0; --i, value /= 10) end[i] = static_cast<char>('0' + value % 10);
    end += count;
  };
  digits(int{date.year()}, 4);
  *end++ = '-';
  digits(unsigned{date.month()}, 2);
  *end++ = '-';
  digits(unsigned{date.day()}, 2);
  *end++ = 'T';
  digits(clock.hours().count(), 2);
  *end++ = ':';
  digits(clock.minutes().count(), 2);
  *end++ = ':';
  digits(clock.seconds().count(), 2);
  *end++ = '.';
  digits(clock.subseconds().count(), 3);
  *end++ = 'Z';
  return {buffer.data(), end};
}

}  // namespace

// In the format of a policy file, rounded.
std::string format_length(Duration length) {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  constexpr Duration kEndless = std::chrono::days(36'500);  // The end of a switch may be kNever.
  if (length >= kEndless) return "forever";
  if (length >= std::chrono::seconds(1)) {
    length = std::chrono::round<milliseconds>(length);
  } else if (length >= milliseconds(1)) {
    length = std::chrono::round<microseconds>(length);
  }
  return format_duration(length);
}

void append_event(std::string& out, LogFormat log_format, const engine::Event& event,
                  WallTime time) {
  std::array<char, 32> buffer{};
  Line line(out, log_format);
  line.word("time", format(time, buffer));
  line.word("event", engine::name(event.kind));
  line.text("key", event.key, kLongestKey);
  if (event.count != 0) line.number("count", event.count);
  if (event.length != Duration{0}) line.word("length", format_length(event.length));
  if (!event.detail.empty()) line.text("detail", event.detail, kLongestDetail);
  line.end();
}

void append_suppressed(std::string& out, LogFormat log_format, std::uint64_t count, WallTime time) {
  std::array<char, 32> buffer{};
  Line line(out, log_format);
  line.word("time", format(time, buffer));
  line.word("event", "log_suppressed");
  line.number("count", static_cast<std::int64_t>(count));
  line.end();
}

}  // namespace damper::observe
