#include "damper/http/codec/connection.h"

#include <algorithm>

namespace damper::http {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string outside(std::string_view what, std::string_view bounds) {
  return std::string(what) + " is outside of its bounds: " + std::string(bounds);
}

bool is_timeout(Duration timeout) noexcept { return timeout > Duration{0} && timeout <= kLongest; }

}  // namespace

Protocol sniff(std::string_view first_bytes) noexcept {
  const std::size_t known = std::min(first_bytes.size(), kPreface.size());
  if (first_bytes.substr(0, known) != kPreface.substr(0, known)) return Protocol::h1;
  return known == kPreface.size() ? Protocol::h2 : Protocol::unknown;
}

std::optional<std::string> find_error(const ConnectionLimits& limits) {
  if (limits.max_head_bytes < 1024 || limits.max_head_bytes > std::size_t{1024} * 1024) {
    return outside("max_head_bytes", "1 KiB to 1 MiB");
  }
  if (limits.max_fields < 1 || limits.max_fields > 1000) {
    return outside("max_fields", "1 to 1000");
  }
  if (limits.window_bytes < std::size_t{16} * 1024 ||
      limits.window_bytes > std::size_t{16} * 1024 * 1024) {
    return outside("window_bytes", "16 KiB to 16 MiB");
  }
  if (limits.max_output_bytes < std::size_t{16} * 1024 ||
      limits.max_output_bytes > std::size_t{64} * 1024 * 1024) {
    return outside("max_output_bytes", "16 KiB to 64 MiB");
  }
  if (limits.max_streams < 1 || limits.max_streams > 10'000) {
    return outside("max_streams", "1 to 10000");
  }
  if (!is_timeout(limits.head_timeout) || !is_timeout(limits.body_timeout) ||
      !is_timeout(limits.write_timeout) || !is_timeout(limits.idle_timeout)) {
    return outside("a timeout of a connection", "over 0 to 30 days");
  }
  if (limits.message_timeout < Duration{0} || limits.message_timeout > kLongest) {
    return outside("message_timeout", "0 (none) to 30 days");
  }
  if (limits.max_age < Duration{0} || limits.max_age > kLongest) {
    return outside("max_age", "0 (none) to 30 days");
  }
  if (limits.max_idle_frames_per_second < 10) {
    return outside("max_idle_frames_per_second", "10 or more");
  }
  return std::nullopt;
}

}  // namespace damper::http
