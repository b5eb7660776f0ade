#include "damper/proxy/config/health_check_options.h"

#include <algorithm>
#include <utility>

namespace damper::proxy {
namespace {

// A status of three digits, from 200 to 599; 0: it is none.
int status_of(std::string_view text) noexcept {
  if (text.size() != 3 || text[0] < '2' || text[0] > '5') return 0;
  int status = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    status = status * 10 + (c - '0');
  }
  return status;
}

// Both ends; 0: it is no range.
std::pair<int, int> range_of(std::string_view text) noexcept {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return {status_of(text), status_of(text)};
  return {status_of(text.substr(0, dash)), status_of(text.substr(dash + 1))};
}

}  // namespace

std::optional<std::string> find_error(const HealthCheckOptions& options) {
  return BoundsCheck()
      .field("timeout", options.timeout, options.kTimeout)
      .field("interval", options.interval, options.kInterval)
      .field("interval_jitter", options.interval_jitter, options.kJitter)
      .field("unhealthy_interval", options.unhealthy_interval, options.kInterval)
      .field("unhealthy_threshold", options.unhealthy_threshold, options.kThreshold)
      .field("healthy_threshold", options.healthy_threshold, options.kThreshold)
      .error();
}

Expected<std::string> read_status_range(std::string_view text) {
  const auto [low, high] = range_of(text);
  if (low == 0 || high == 0) return unexpected(std::string());
  if (high < low) return unexpected(std::string("the second status is below the first"));
  return std::string(text);
}

bool is_expected(const std::vector<std::string>& ranges, int status) noexcept {
  return std::any_of(ranges.begin(), ranges.end(), [status](const std::string& text) {
    const auto [low, high] = range_of(text);
    return low <= status && status <= high;
  });
}

Expected<std::string> read_service(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '/';
  });
  if (text.empty() || text.size() > kLongest || !plain) return unexpected(std::string());
  return std::string(text);
}

}  // namespace damper::proxy
