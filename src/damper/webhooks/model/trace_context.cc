#include "damper/webhooks/model/trace_context.h"

#include <algorithm>
#include <cstddef>

namespace damper::webhooks {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::size_t kTraceTextSize = 55;

[[nodiscard]] bool is_hex(std::string_view text) noexcept {
  return text.find_first_not_of(kHexDigits) == std::string_view::npos;
}
[[nodiscard]] bool is_trace_or_span(std::string_view text) noexcept {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::optional<TraceContext> TraceContext::find(std::string_view text) {
  if (text.size() < kTraceTextSize || text[2] != '-' || text[35] != '-' || text[52] != '-') {
    return std::nullopt;
  }
  const std::string_view version = text.substr(0, 2);
  if (!is_hex(version) || version == "ff") return std::nullopt;
  if (text.size() > kTraceTextSize && (version == "00" || text[kTraceTextSize] != '-')) {
    return std::nullopt;
  }
  const std::string_view trace = text.substr(3, 32);
  const std::string_view span = text.substr(36, 16);
  const std::string_view flags = text.substr(53, 2);
  if (!is_trace_or_span(trace) || !is_trace_or_span(span) || !is_hex(flags)) return std::nullopt;
  return TraceContext{std::string(trace), std::string(span), std::string(flags)};
}

TraceContext TraceContext::child(std::uint64_t span) const {
  span = std::max<std::uint64_t>(span, 1);
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, span /= 16) {
    *digit = kHexDigits[span % 16];
  }
  return {trace_id, std::move(digits), flags};
}

std::string TraceContext::text() const { return "00-" + trace_id + '-' + span_id + '-' + flags; }

}  // namespace damper::webhooks
