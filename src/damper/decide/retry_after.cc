#include "damper/decide/retry_after.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace damper::decide {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

constexpr bool is_space(char c) noexcept { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// The number that the whole text is, digits only; held at kMost when it is larger.
std::optional<std::int64_t> find_number(std::string_view digits) noexcept {
  std::uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error == std::errc::invalid_argument || stop != end) return std::nullopt;
  if (error == std::errc::result_out_of_range || number > kMost) return kMost;
  return static_cast<std::int64_t>(number);
}

// From now until then: 0 when it is past, kForever when it does not fit.
Duration until(std::int64_t unix_seconds, UnixTime now) noexcept {
  std::int64_t milliseconds = 0;
  if (__builtin_mul_overflow(unix_seconds, 1000, &milliseconds)) return kForever;
  std::int64_t left = 0;
  if (__builtin_sub_overflow(milliseconds, now.time_since_epoch().count(), &left)) {
    return milliseconds > 0 ? kForever : Duration{0};
  }
  return times(std::chrono::milliseconds(1), std::max<std::int64_t>(left, 0));
}

void postpone(std::optional<Duration> wait, Report& report) noexcept {
  if (wait) report.retry_after = std::max(report.retry_after, *wait);  // kUnsaid is the least.
}

}  // namespace

std::optional<Duration> find_retry_after(std::string_view value, UnixTime now) noexcept {
  value = trimmed(value);
  if (const auto seconds = find_number(value)) return times(std::chrono::seconds(1), *seconds);
  if (const auto date = find_http_date(value, now)) {
    return until(date->time_since_epoch().count(), now);
  }
  return std::nullopt;
}

std::optional<Duration> find_rate_limit_reset(std::string_view value, UnixTime now) noexcept {
  const auto seconds = find_number(trimmed(value));
  if (!seconds) return std::nullopt;
  if (*seconds > kLargestDelta) return until(*seconds, now);
  return times(std::chrono::seconds(1), *seconds);
}

void read_retry_after(std::string_view value, UnixTime now, Report& report) noexcept {
  postpone(find_retry_after(value, now), report);
}

void read_grpc_pushback(std::string_view value, Report& report) noexcept {
  const auto milliseconds = find_number(trimmed(value));
  if (!milliseconds) {
    report.do_not_retry = true;
    return;
  }
  postpone(times(std::chrono::milliseconds(1), *milliseconds), report);
}

void read_rate_limit_reset(std::string_view value, UnixTime now, Report& report) noexcept {
  if (report.outcome == Outcome::overload) postpone(find_rate_limit_reset(value, now), report);
}

}  // namespace damper::decide
