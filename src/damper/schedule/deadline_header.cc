#include "damper/schedule/deadline_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace damper::schedule {
namespace {

struct Unit {
  char letter;
  std::int64_t nanoseconds;
};

// Finest first.
constexpr std::array<Unit, 6> kUnits = {{{'n', 1},
                                         {'u', 1'000},
                                         {'m', 1'000'000},
                                         {'S', 1'000'000'000},
                                         {'M', 60'000'000'000},
                                         {'H', 3'600'000'000'000}}};
constexpr std::size_t kMostDigits = 8;
constexpr std::int64_t kLargestValue = 99'999'999;
constexpr std::chrono::milliseconds kMillisecond{1};

// The number that the whole text is: digits only, below 2^64.
std::optional<std::uint64_t> find_number(std::string_view digits) noexcept {
  std::uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

Duration from_milliseconds(std::uint64_t count) noexcept {
  constexpr auto kMost = static_cast<std::uint64_t>(kLongest / kMillisecond);
  return static_cast<std::int64_t>(std::min(count, kMost)) * kMillisecond;
}

}  // namespace

std::optional<Duration> find_grpc_timeout(std::string_view value) noexcept {
  if (value.size() < 2 || value.size() > kMostDigits + 1) return std::nullopt;
  const char letter = value.back();
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                 [letter](const Unit& each) { return each.letter == letter; });
  const auto number = find_number(value.substr(0, value.size() - 1));
  if (unit == kUnits.end() || !number) return std::nullopt;
  const Duration remaining = times(Duration{unit->nanoseconds}, static_cast<std::int64_t>(*number));
  return std::min(remaining, kLongest);
}

std::string format_grpc_timeout(Duration remaining) {
  if (remaining.count() <= 0) return "0n";
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [remaining](const Unit& each) {
    return remaining.count() / each.nanoseconds <= kLargestValue;
  });
  // The last unit holds every Duration: kForever is 2,562,047 hours.
  return std::to_string(remaining.count() / unit->nanoseconds) + unit->letter;
}

std::optional<Duration> find_request_deadline(std::string_view value, UnixTime now) noexcept {
  const auto number = find_number(value);
  if (!number) return std::nullopt;
  if (*number < kLeastUnixMilliseconds) return from_milliseconds(*number);
  const std::int64_t now_count = now.time_since_epoch().count();
  if (now_count < 0) return kLongest;  // A clock before 1970 knows no deadline of ours.
  const auto passed = static_cast<std::uint64_t>(now_count);
  return *number <= passed ? Duration{0} : from_milliseconds(*number - passed);
}

std::string format_request_deadline(Duration remaining) {
  return std::to_string(std::clamp(remaining, Duration{0}, kLongest) / kMillisecond);
}

std::optional<Duration> find_envoy_timeout(std::string_view value) noexcept {
  const auto number = find_number(value);
  if (!number || *number == 0) return std::nullopt;
  return from_milliseconds(*number);
}

}  // namespace damper::schedule
