#include "damper/http/codec/connection.h"

#include <algorithm>

namespace damper::http {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

}  // namespace

Protocol sniff(std::string_view first_bytes) noexcept {
  const std::size_t known = std::min(first_bytes.size(), kPreface.size());
  if (first_bytes.substr(0, known) != kPreface.substr(0, known)) return Protocol::h1;
  return known == kPreface.size() ? Protocol::h2 : Protocol::unknown;
}

std::optional<std::string> find_error(const ConnectionLimits& limits) {
  using L = ConnectionLimits;
  return BoundsCheck()
      .field("max_head_bytes", limits.max_head_bytes, L::kMaxHeadBytes)
      .field("max_fields", limits.max_fields, L::kMaxFields)
      .field("window_bytes", limits.window_bytes, L::kWindowBytes)
      .field("max_output_bytes", limits.max_output_bytes, L::kMaxOutputBytes)
      .field("max_streams", limits.max_streams, L::kMaxStreams)
      .field("head_timeout", limits.head_timeout, L::kTimeout)
      .field("body_timeout", limits.body_timeout, L::kTimeout)
      .field("write_timeout", limits.write_timeout, L::kTimeout)
      .field("idle_timeout", limits.idle_timeout, L::kTimeout)
      .field("message_timeout", limits.message_timeout, L::kMessageTimeout)
      .field("max_age", limits.max_age, L::kMaxAge)
      .field("max_idle_frames_per_second", limits.max_idle_frames_per_second, L::kMaxIdleFrames)
      .field("max_resets_per_second", limits.max_resets_per_second, ResetLimit::kPerSecond)
      .error();
}

}  // namespace damper::http
