#include "damper/observe/trace/span_context.h"

#include <algorithm>
#include <array>

#include "damper/base/text/hex.h"

namespace damper::observe {
namespace {

constexpr std::size_t kTraceAt = 3;
constexpr std::size_t kSpanAt = 36;
constexpr std::size_t kFlagsAt = 53;

// Lower-case hexadecimal digits; false: there is another character.
bool read_hex(std::string_view digits, std::uint64_t& into) noexcept {
  into = 0;
  for (const char c : digits) {
    const bool decimal = c >= '0' && c <= '9';
    if (!decimal && (c < 'a' || c > 'f')) return false;
    into = into << 4U | static_cast<std::uint64_t>(decimal ? c - '0' : c - 'a' + 10);
  }
  return true;
}

bool is_key_char(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '*' ||
         c == '/' || c == '@';
}

bool is_valid_key(std::string_view key) noexcept {
  if (key.empty() || key.size() > 256 || !is_key_char(key.front())) return false;
  if (std::string_view("_-*/@").find(key.front()) != std::string_view::npos) return false;
  const std::size_t at = key.find('@');
  if (at != std::string_view::npos) {  // TENANT@SYSTEM
    const std::string_view system = key.substr(at + 1);
    const bool letter = !system.empty() && system.front() >= 'a' && system.front() <= 'z';
    if (at > 241 || !letter || system.size() > 14) return false;
    if (system.find('@') != std::string_view::npos) return false;
  }
  return std::all_of(key.begin(), key.end(), is_key_char);
}

bool is_valid_value(std::string_view value) noexcept {
  if (value.empty() || value.size() > 256 || value.back() == ' ') return false;
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

std::string_view without_blanks(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<SpanContext> parse_traceparent(std::string_view text) noexcept {
  if (text.size() < kTraceparentSize) return std::nullopt;
  if (text[2] != '-' || text[kSpanAt - 1] != '-' || text[kFlagsAt - 1] != '-') return std::nullopt;
  std::uint64_t version = 0;
  std::uint64_t flags = 0;
  SpanContext context;
  if (!read_hex(text.substr(0, 2), version) || version == 0xff) return std::nullopt;
  if (text.size() > kTraceparentSize && (version == 0 || text[kTraceparentSize] != '-')) {
    return std::nullopt;
  }
  if (!read_hex(text.substr(kTraceAt, 16), context.trace.high) ||
      !read_hex(text.substr(kTraceAt + 16, 16), context.trace.low) ||
      !read_hex(text.substr(kSpanAt, 16), context.span) ||
      !read_hex(text.substr(kFlagsAt, 2), flags) || !context) {
    return std::nullopt;
  }
  context.flags = static_cast<std::uint8_t>(
      flags & static_cast<std::uint64_t>(SpanContext::kSampled | SpanContext::kRandom));
  return context;
}

void write_traceparent(const SpanContext& context, TraceparentText& into) noexcept {
  char* at = into.data();
  *at++ = '0';
  *at++ = '0';
  *at++ = '-';
  at = text::put_hex(context.trace.high, at);
  at = text::put_hex(context.trace.low, at);
  *at++ = '-';
  at = text::put_hex(context.span, at);
  *at++ = '-';
  std::array<char, 8> flags;
  (void)text::put_hex(std::uint32_t{context.flags}, flags.data());
  std::copy_n(flags.end() - 2, 2, at);
}

void write_trace_id(const TraceId& id, TraceIdText& into) noexcept {
  (void)text::put_hex(id.low, text::put_hex(id.high, into.data()));
}

bool is_valid_tracestate(std::string_view text) noexcept {
  if (text.size() > kMostTracestate) return false;
  std::array<std::string_view, kMostTracestateMembers> keys{};
  std::size_t members = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view member = without_blanks(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (member.empty()) continue;
    const std::size_t equals = member.find('=');
    if (equals == std::string_view::npos || members == keys.size()) return false;
    const std::string_view key = member.substr(0, equals);
    if (!is_valid_key(key) || !is_valid_value(member.substr(equals + 1))) return false;
    const auto* const known = keys.begin() + members;
    if (std::find(keys.cbegin(), known, key) != known) return false;
    keys[members++] = key;
  }
  return members > 0;
}

}  // namespace damper::observe
