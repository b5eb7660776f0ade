#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace damper::observe {

inline constexpr std::string_view kTraceparentHeader = "traceparent";
inline constexpr std::string_view kTracestateHeader = "tracestate";

// The 16 bytes of a trace's id; all zero is none.
struct TraceId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  [[nodiscard]] explicit operator bool() const noexcept { return (high | low) != 0; }
  friend bool operator==(const TraceId&, const TraceId&) = default;
};

// A SpanContext is the part of a span that other processes know: the value of `traceparent`
// (W3C Trace Context, https://www.w3.org/TR/trace-context/).
struct SpanContext {
  static constexpr std::uint8_t kSampled = 1;
  static constexpr std::uint8_t kRandom = 2;  // of level 2: the low 7 bytes of the id are random

  TraceId trace{};
  std::uint64_t span = 0;
  std::uint8_t flags = 0;

  [[nodiscard]] explicit operator bool() const noexcept { return trace && span != 0; }
  [[nodiscard]] bool is_sampled() const noexcept { return (flags & kSampled) != 0; }
  friend bool operator==(const SpanContext&, const SpanContext&) = default;
};

// "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"; nothing if it is malformed.
//
// Model: lower-case hexadecimal digits alone. Version ff is invalid. A version over 00 is read as
// 00, and may have more parts after a '-'; version 00 may not. An id of zeros is invalid. Flags
// that are not known are dropped.
[[nodiscard]] std::optional<SpanContext> parse_traceparent(std::string_view text) noexcept;

inline constexpr std::size_t kTraceparentSize = 55;
using TraceparentText = std::array<char, kTraceparentSize>;
// With version 00. REQUIRES: the context is valid.
void write_traceparent(const SpanContext& context, TraceparentText& into) noexcept;

// The hexadecimal digits of an id, as in logs.
using TraceIdText = std::array<char, 32>;
void write_trace_id(const TraceId& id, TraceIdText& into) noexcept;

// Whether `tracestate` (one field, or several joined by commas) may be passed on.
//
// Model: at most kMostTracestate bytes and kMostTracestateMembers members, KEY=VALUE, whose keys
// differ. A member may be empty. An invalid one is dropped as a whole; `traceparent` is used
// nevertheless, as the specification says.
inline constexpr std::size_t kMostTracestate = 512;
inline constexpr std::size_t kMostTracestateMembers = 32;
[[nodiscard]] bool is_valid_tracestate(std::string_view text) noexcept;

}  // namespace damper::observe
